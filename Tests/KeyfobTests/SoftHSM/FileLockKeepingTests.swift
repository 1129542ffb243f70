import CLinux
import Foundation
import KeyfobPrimitives
import KeyfobTesting
import Testing

@testable import Keyfob

/// Locks of fcntl(2), which a process loses when it closes any descriptor of the file.
@Suite struct FileLockKeepingTests {
    private let other: SoftHSMProcess
    private let softHSM: SoftHSMDirectory
    private let token: SoftHSMToken
    private let test: TestKeychain

    init() throws {
        test = try TestKeychain()
        // Not the directory of this process's SoftHSM. When SoftHSM looks for tokens, which other tests cause at any
        // time, it opens and closes the files that are locked here.
        other = try SoftHSMProcess()
        softHSM = other.directory
        token = try other.makeToken("locked")
        // Loads SoftHSM, so that another thread may be inside it.
        _ = try test.keychain.find(.keys)
    }

    /// Locks a file as SoftHSM does, with a descriptor that stays open while `body` runs.
    private func locking(_ path: String, _ body: () throws -> Void) throws {
        let descriptor = unsafe keyfob_open(path, O_RDWR | O_CLOEXEC, 0)
        defer { close(descriptor) }
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        #expect(unsafe fcntl(descriptor, F_SETLK, &lock) == 0)
        try #require(try hasPOSIXLock(on: path))
        try body()
    }

    @Test func `listing tokens keeps the file locks of another thread inside SoftHSM`() throws {
        let file = softHSM.tokenFile(token.directory.lastPathComponent).path
        try locking(file) {
            #expect(try softHSM.tokens().contains(token))
            #expect(try hasPOSIXLock(on: file))
            try softHSM.refreshCopies()
            try softHSM.heal()
            #expect(try hasPOSIXLock(on: file))
        }
    }

    @Test func `syncing a token keeps a file lock of another thread inside SoftHSM`() throws {
        let object = token.directory.appendingPathComponent(UUID().uuidString.lowercased() + ".object").path
        try Data([1]).write(to: URL(fileURLWithPath: object))
        try locking(object) {
            try softHSM.makeDurable(token)
            #expect(try hasPOSIXLock(on: object))
        }
    }

    @Test func `a file lock ends with its holder even if a forked child has the descriptor`() throws {
        let url = test.directories.tokens.appendingPathComponent("forked.lock")
        var copy: Int32 = -1
        defer { close(copy) }
        try FileLock.holding(url, deadline: .after(.seconds(60))) { () throws(KeychainError) in
            // dup(2) shares the open file as fork(2) does.
            for number in Int32(3)..<1024 where copy < 0 {
                let name = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)")
                if name == url.path { copy = dup(number) }
            }
        }
        #expect(copy >= 0)
        try FileLock.holding(url, deadline: .after(.milliseconds(30))) {}
    }
}
