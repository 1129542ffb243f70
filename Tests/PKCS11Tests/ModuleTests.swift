import Foundation
import KeyfobPrimitives
import PKCS11
import TestSupport
import Testing

@Suite("Modules") struct ModuleTests {
    @Test("A missing file is said to be missing")
    func missingFile() throws {
        let error = try refusal { try Module.load(path: "/nowhere/libnothing.so") }
        #expect(error?.function == .moduleLoad)
        #expect(error?.returnValue == .generalError)
        #expect(error?.detail == "/nowhere/libnothing.so: file not found")
    }

    @Test("A file that is no library, and a library that is no module, are errors that name the file")
    func notAModule() throws {
        let directory = try TemporaryDirectory()
        let text = try directory.write(Array("no library".utf8), to: "text.so")
        let other = try #require(
            ["/usr/lib/x86_64-linux-gnu/libz.so.1", "/usr/lib/x86_64-linux-gnu/libp11-kit.so.0", "/lib/x86_64-linux-gnu/libm.so.6"]
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

    @Test("A library is one module, by whatever path it is loaded")
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

    @Test("After reinitialisation old sessions are refused and new ones work; at once again it does nothing")
    func reinitialize() throws {
        // A copy of the library has a state of its own, so that other tests keep theirs.
        let token = try TestToken.make(label: "again")
        let directory = try TemporaryDirectory()
        try FileManager.default.copyItem(atPath: TestToken.modulePath, toPath: directory.file("softhsm.so"))
        let module = try Module.load(path: directory.file("softhsm.so"))
        #expect(module !== token.module)
        let slot = try #require(try module.slot(matching: token.uri))
        let old = try slot.openSession()
        try old.login(pin: token.pin)
        #expect(module.generation == 0)
        try module.reinitialize()
        #expect(module.generation == 1)
        let error = try refusal { try old.random(count: 8) }
        #expect(error?.returnValue == .sessionHandleInvalid)
        let isBroken = old.isBroken
        #expect(isBroken)

        try module.reinitialize()
        try module.reinitialize(ifStillIn: 0)
        #expect(module.generation == 1)
        let slotAgain = try #require(try module.slot(matching: token.uri))
        let new = try slotAgain.openSession()
        let state = try new.info().state
        #expect(state == .readWritePublic)
        try new.login(pin: token.pin)
        // Its number may be that of the new session by now.
        try old.close()
        let stillOpen = try new.info().state
        #expect(stillOpen == .readWriteUser)
    }

    @Test("Threads that use a module while it is initialised again get errors, never crashes")
    func reinitializeUnderLoad() async throws {
        let token = try TestToken.make(label: "load")
        let directory = try TemporaryDirectory()
        try FileManager.default.copyItem(atPath: TestToken.modulePath, toPath: directory.file("softhsm.so"))
        let module = try Module.load(path: directory.file("softhsm.so"))
        let uri = token.uri
        let executor = BlockingExecutor(width: 4)
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    try await executor.run { try useUntilNextGeneration(module, uri) }
                }
            }
            try await executor.run {
                usleep(50_000)
                try module.reinitialize()
            }
            for try await rounds in group { #expect(rounds > 0) }
        }
        #expect(module.generation == 1)
    }
}

/// Calls the module until its generation changes, and once more with a new session; the number of calls.
private func useUntilNextGeneration(_ module: Module, _ uri: PKCS11URI) throws -> Int {
    guard let slot = try module.slot(matching: uri) else { return 0 }
    let session = try slot.openSession()
    var rounds = 0
    while !session.isBroken {
        do throws(PKCS11Error) {
            _ = try session.random(count: 64)
            rounds += 1
        } catch {
            guard error.returnValue == .sessionHandleInvalid else { throw error }
        }
    }
    guard let again = try module.slot(matching: uri) else { return 0 }
    _ = try again.openSession().random(count: 8)
    return rounds
}
