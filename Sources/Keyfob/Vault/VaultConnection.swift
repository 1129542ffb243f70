import Foundation
import GRDB
import KeyfobPrimitives
import Synchronization

/// The connections of a vault, anew in every process that uses them.
///
/// A connection must not be used on both sides of a `fork`. SQLite also remembers, for a whole process and by file,
/// which locks it holds; a child inherits that memory and not the locks, and a connection that it opens beside the
/// inherited ones would believe itself protected. So a child closes what it inherited before it opens its own: that
/// takes no lock from the parent, for locks of this kind belong to a process.
@safe final class VaultConnection: Sendable {
    private let connect: @Sendable () throws -> any DatabaseWriter
    private let keepsQueue: Bool
    /// The process that `database` belongs to; 0 while a child replaces it.
    private let process: Atomic<Int32>
    // Written only by the one thread that has put 0 into `process`, and read only after `process` was seen to be
    // this process.
    private nonisolated(unsafe) var database: any DatabaseWriter
    /// Calls in progress. In a child, those that the parent's threads were in when it was forked.
    private let calls = Atomic(0)

    private struct Entry {
        weak var connection: VaultConnection?
    }

    private static let all = Lock<[Entry]>([])

    /// Opens a vault with `connect`, which is called again in a child that uses it.
    ///
    /// - Throws: What `connect` throws; `KeychainError` with code `refused` in a child that was forked while a vault
    ///   was in use.
    ///
    /// - Parameter keepsQueue: Whether GRDB's queue stays for the life of the process, as after `closeKeepingQueue`.
    init(keepsQueue: Bool = false, _ connect: @escaping @Sendable () throws -> any DatabaseWriter) throws {
        try Self.closeInherited()
        self.keepsQueue = keepsQueue
        self.connect = connect
        unsafe database = try connect()
        process = Atomic(getpid())
        let entry = Entry(connection: self)
        Self.all.withLock { all in
            all.removeAll { $0.connection == nil }
            all.append(entry)
        }
    }

    deinit {
        guard keepsQueue, process.load(ordering: .acquiring) == getpid() else { return }
        unsafe Self.closeKeepingQueue(database)
    }

    /// Closes a database, and leaves what is left of it, some kilobytes with GRDB's queue, for the life of the process.
    ///
    /// A queue that ends goes by way of a thread of libdispatch's, which is started for that: a command has nothing of
    /// it, and where the user may have no more threads, libdispatch waits for one for ever.
    static func closeKeepingQueue(_ database: any DatabaseWriter) {
        // What cannot be closed is closed by the end of the process.
        try? database.close()
        _ = unsafe Unmanaged.passRetained(database as AnyObject)
    }

    /// Runs `body` on this process' connections.
    ///
    /// - Throws: What `body` throws; as `init` in a child.
    func use<Result>(_ body: (any DatabaseWriter) throws -> Result) throws -> Result {
        let database = try current()
        calls.add(1, ordering: .relaxed)
        defer { calls.subtract(1, ordering: .relaxed) }
        return try body(database)
    }

    private func current() throws -> any DatabaseWriter {
        let identifier = getpid()
        while true {
            let seen = process.load(ordering: .acquiring)
            if seen == identifier { return unsafe database }
            // All of them before any is opened anew: two keychains may share a file.
            if seen != 0 { try Self.closeInherited() }
            guard process.compareExchange(expected: -1, desired: 0, ordering: .acquiringAndReleasing).exchanged else {
                usleep(100)
                continue
            }
            do {
                unsafe database = try connect()
                process.store(identifier, ordering: .releasing)
            } catch {
                process.store(-1, ordering: .releasing)
                throw error
            }
        }
    }

    /// Closes the connections that belong to the parent of this process.
    private static func closeInherited() throws {
        for connection in all.withLock({ $0.compactMap(\.connection) }) { try connection.closeIfInherited() }
    }

    private func closeIfInherited() throws {
        let seen = process.load(ordering: .acquiring)
        guard seen > 0, seen != getpid() else { return }
        guard process.compareExchange(expected: seen, desired: 0, ordering: .acquiringAndReleasing).exchanged else {
            return
        }
        guard calls.load(ordering: .relaxed) == 0 else {
            // A thread that there is no more holds SQLite's mutexes.
            process.store(seen, ordering: .releasing)
            throw KeychainError(
                .refused, "this process was forked while its parent was using the vault, and cannot use it.",
                hint: "Fork before other threads use the keychain, or start another program instead.")
        }
        // What cannot be closed is not used either.
        try? unsafe database.close()
        process.store(-1, ordering: .releasing)
    }
}
