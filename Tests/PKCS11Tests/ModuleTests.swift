import Foundation
import KeyfobPrimitives
import PKCS11
import TestSupport
import Testing

@Suite("Modules") struct ModuleTests {
    @Test("The error says that a file is missing")
    func missingFile() throws {
        let error = try refusal { try Module.load(path: "/nowhere/libnothing.so") }
        #expect(error?.function == .moduleLoad)
        #expect(error?.returnValue == .generalError)
        #expect(error?.detail == "/nowhere/libnothing.so: file not found")
    }

    @Test("Only a regular file can be a module, and a FIFO is refused without a wait", arguments: [true, false])
    func noRegularFile(isLinked: Bool) throws {
        let directory = try TemporaryDirectory()
        let fifo = directory.file("fifo.so")
        try #require(unsafe mkfifo(fifo, 0o600) == 0)
        var path = fifo
        if isLinked {
            path = directory.file("link.so")
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: fifo)
        }
        Module.map(path: path)
        let error = try refusal { try Module.load(path: path) }
        #expect(error?.function == .moduleLoad)
        #expect(error?.detail == "\(path): not a regular file")
    }

    @Test("A file that is not a library, and a library that is not a module, give errors that name the file")
    func notAModule() throws {
        let directory = try TemporaryDirectory()
        let text = try directory.write(Array("no library".utf8), to: "text.so")
        let other = try #require(
            ["/usr/lib/x86_64-linux-gnu/libz.so.1", "/usr/lib/x86_64-linux-gnu/libp11-kit.so.0",
                "/lib/x86_64-linux-gnu/libm.so.6"]
                .first { FileManager.default.fileExists(atPath: $0) })
        for path in [text, other] {
            let error = try refusal { try Module.load(path: path) }
            #expect(error?.function == .moduleLoad)
            #expect(error?.detail?.hasPrefix(path) == true)
            #expect((error?.detail?.count ?? 0) > path.count + 2)
        }
    }

    @Test("A module that is not registered is nil, not an error")
    func unregistered() throws {
        #expect(try Module.registered(named: "keyfob-has-no-such-module") == nil)
    }

    @Test("A slot is found by the bytes of its description, in one spelling only")
    func slotDescription() throws {
        let token = try TestToken.make(label: "slotted")
        let directory = try TemporaryDirectory()
        let faulty = try FaultyModule(in: directory, saying: "slot=Caf\u{E9}")
        let module = try token.behind(faulty).module
        var uri = token.uri
        uri.slotDescription = "Caf\u{E9}"
        #expect(try module.slot(matching: uri) != nil)
        for other in ["Cafe\u{301}", "Cafe", ""] {
            uri.slotDescription = other
            #expect(try module.slot(matching: uri) == nil, "\(other)")
        }
        uri.slotDescription = nil
        uri.slotManufacturer = "another maker"
        #expect(try module.slot(matching: uri) == nil)
    }

    @Test("If a URI names a slot that holds another token, unreadable tokens elsewhere are not searched")
    func slotDescriptionBesideUnreadable() throws {
        let unreadable = try TestToken.make(label: "unreadable")
        let token = try TestToken.make(label: "readable")
        let directory = try TemporaryDirectory()
        let faulty = try FaultyModule(in: directory)
        let module = try unreadable.behind(faulty).module
        try faulty.say("slot=Here unreadable=\(unreadable.label)")
        var uri = token.uri
        uri.slotDescription = "There"
        #expect(try module.slot(matching: uri) == nil)
        // Another token may have the same label.
        uri.serial = nil
        #expect(try refusal { try module.slot(matching: uri) }?.returnValue == .generalError)
    }

    @Test("A library is one module, even if it is loaded by different paths")
    func onePerLibrary() throws {
        let module = try TestToken.loadModule()
        let directory = try TemporaryDirectory()
        try FileManager.default.createSymbolicLink(
            atPath: directory.file("link.so"), withDestinationPath: TestToken.modulePath)
        #expect(try Module.load(path: TestToken.modulePath) === module)
        #expect(try Module.load(path: directory.file("link.so")) === module)
        #expect(module.name == nil)
        #expect(!module.isForked)
    }

    /// A module that no other test uses, and that does not share OpenSSL with SoftHSM.
    static let trustModule = "/usr/lib/x86_64-linux-gnu/pkcs11/p11-kit-trust.so"

    @Test(
        "A module is initialised again under threads that use it: old sessions are refused, new ones work",
        .enabled(if: FileManager.default.fileExists(atPath: trustModule)), .timeLimit(.minutes(30)))
    func reinitialize() async throws {
        let module = try Module.load(path: Self.trustModule)
        let first = module.generation
        let slot = try #require(try module.slots().first)
        let old = try slot.openSession(readWrite: false)
        let executor = BlockingExecutor(width: 4)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask { try await executor.run { try useUntilNextGeneration(slot, first) } }
            }
            try await executor.run {
                usleep(50_000)
                try module.reinitialize()
            }
            try await group.waitForAll()
        }
        #expect(module.generation > first)
        let error = try refusal { try old.info() }
        #expect(error?.returnValue == .sessionHandleInvalid)
        let isBroken = old.isBroken
        #expect(isBroken)

        // Soon after the last call it does nothing. On a busy machine more time may have passed.
        try module.reinitialize()
        let later = module.generation
        #expect(later <= first + 2)
        try module.reinitialize(ifStillIn: first)
        #expect(module.generation == later)
        let new = try slot.openSession(readWrite: false)
        // The handle may belong to a new session by now.
        try old.close()
        let state = try new.info().state
        #expect(state == .readOnlyPublic)
    }

    /// Creates a pool on a copy of the trust module, which no other code initialises again.
    private static func lonelyPool(in directory: TemporaryDirectory) throws -> SessionPool {
        try FileManager.default.copyItem(atPath: trustModule, toPath: directory.file("copy.so"))
        let module = try Module.load(path: directory.file("copy.so"))
        let token = try #require(module.slots().first).tokenInfo()
        return SessionPool(module: module, token: token.uri) { nil }
    }

    @Test(
        "What runs on a session ends before the module is initialised again, and what comes then runs after that",
        .enabled(if: FileManager.default.fileExists(atPath: trustModule)), .timeLimit(.minutes(30)))
    func operationsEnd() throws {
        let wasInTime = try (0..<5).contains { _ in try reinitializesBesideOperation() }
        #expect(wasInTime)
    }

    /// Initialises a module again while an operation runs.
    ///
    /// - Returns: Whether the operation ended within a second. On a busy machine it may take longer, and the test then
    ///   shows nothing.
    private func reinitializesBesideOperation() throws -> Bool {
        let directory = try TemporaryDirectory()
        let pool = try Self.lonelyPool(in: directory)
        let module = pool.module
        let first = module.generation
        let failures = Lock<[String]>([])
        func start(_ body: @escaping @Sendable () throws -> Void) -> POSIXThread.Joinable? {
            POSIXThread.start("test") {
                do { try body() } catch { failures.withLock { $0.append("\(error)") } }
            }
        }
        var isInTime = false
        let threads = try pool.withSession(idempotent: false) { session in
            let begin = ContinuousClock.now
            let reinitializing = start { try module.reinitialize() }
            usleep(100_000)
            let late = start { try pool.withSession(idempotent: false) { _ = try $0.info() } }
            usleep(100_000)
            let isUsable = (try? session.info()) != nil
            let generation = module.generation
            isInTime = ContinuousClock.now - begin < .milliseconds(800)
            if isInTime { #expect(isUsable && generation == first) }
            return [reinitializing, late]
        }
        for thread in threads { try #require(thread).join() }
        guard isInTime else { return false }
        #expect(failures.withLock { $0 } == [])
        #expect(module.generation == first + 1)
        return true
    }

    @Test(
        "An operation that does not end is waited for no longer than a second",
        .enabled(if: FileManager.default.fileExists(atPath: trustModule)), .timeLimit(.minutes(30)))
    func operationsThatDoNotEnd() throws {
        let directory = try TemporaryDirectory()
        let pool = try Self.lonelyPool(in: directory)
        let error = try refusal {
            try pool.withSession(idempotent: false) { session in
                try pool.module.reinitialize()
                _ = try session.info()
            }
        }
        #expect(error?.returnValue == .sessionHandleInvalid)
        // The operation has left nothing that delays other calls.
        try pool.withSession { _ = try $0.info() }
    }
}

/// Calls the module until its generation changes, and then once more with a new session.
private func useUntilNextGeneration(_ slot: Slot, _ first: Int) throws {
    let session = try slot.openSession(readWrite: false)
    // A session opened after the change would not detect it.
    while slot.module.generation == first, !session.isBroken {
        do throws(PKCS11Error) {
            _ = try session.info()
        } catch {
            guard error.returnValue == .sessionHandleInvalid else { throw error }
        }
    }
    _ = try slot.openSession(readWrite: false).info()
}
