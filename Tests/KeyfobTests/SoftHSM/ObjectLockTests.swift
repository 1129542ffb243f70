import Foundation
import KeyfobPrimitives
import KeyfobTesting
import KeyfobOpenSSL
import PKCS11
import TestSupport
import Testing

@testable import Keyfob

/// Readers and makers of objects exclude each other.
///
/// Reading an object that SoftHSM is still making would overwrite it.
@Suite struct ObjectLockTests {
    /// Runs `body` while another thread holds the lock of the token's objects.
    private func whileHeld<Result>(
        _ access: SoftHSMDirectory.ObjectAccess, _ test: TestKeychain, _ body: () throws -> Result
    ) throws -> Result {
        let softHSM = try #require(test.keychain.token.softHSM)
        let serial = try #require(test.keychain.token.uri.serial)
        let (begun, over, ended) = (
            DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let holder = Thread {
            do {
                try softHSM.holdingObjects(serial: serial, label: "test", access, deadline: .after(.seconds(60))) {
                    begun.signal()
                    over.wait()
                }
            } catch {
                Issue.record(error)
                begun.signal()
            }
            ended.signal()
        }
        holder.start()
        begun.wait()
        let result = Swift.Result { try body() }
        over.signal()
        // The lock is free again.
        ended.wait()
        return try result.get()
    }

    private func impatient() -> Keychain.Options {
        var options = Keychain.Options()
        options.timeout = .milliseconds(300)
        return options
    }

    /// Returns the code of the error thrown by a keychain with a short timeout.
    ///
    /// Other tests that make tokens may delay its login, so a timeout is retried.
    private func refusal(_ body: () throws -> Void) -> KeychainError.Code? {
        for _ in 0..<600 {
            let answer = code(body)
            guard answer == .timedOut else { return answer }
            usleep(100_000)
        }
        return .timedOut
    }

    @Test func `no object is made, changed or removed during a read, and other reads continue`() throws {
        let test = try TestKeychain()
        let (keychain, patient) = (try test.reopen(impatient()), try test.reopen(.patient))
        let key = try patient.keys.generate(.p256, label: "old")
        try whileHeld(.reading, test) {
            #expect(refusal { _ = try keychain.keys.generate(.p256, label: "new") } == .vaultBusy)
            #expect(refusal { try keychain.delete(key) } == .vaultBusy)
            #expect(refusal { _ = try keychain.update(.keys, [.label: "other"]) } == .vaultBusy)
            #expect(try patient.objects.contents().objects.count { $0.label == "old" } == 2)
            // Passwords are not objects on the token.
            try patient.add(GenericPassword(service: "a"), secret: SecretBytes(utf8: "x"))
        }
        _ = try patient.keys.generate(.p256, label: "new")
        #expect(try Set(patient.find(.keys.keyClass(.private)).map(\.label)) == ["old", "new"])
    }

    @Test func `no object is read while objects are made, and reading works afterwards`() throws {
        let test = try TestKeychain()
        let (keychain, patient) = (try test.reopen(impatient()), try test.reopen(.patient))
        let key = try patient.keys.tokenKey(for: patient.keys.generate(.p256, label: "old"))
        try whileHeld(.writing, test) {
            #expect(refusal { _ = try keychain.objects.contents() } == .vaultBusy)
            #expect(refusal { _ = try keychain.keys.generate(.p256, label: "new") } == .vaultBusy)
            // Signing with a known key reads no objects.
            let signature = try key.sign([1, 2, 3], using: .ecdsa(.sha256))
            #expect(!signature.isEmpty)
        }
        #expect(try patient.objects.contents().objects.count { $0.label == "old" } == 2)
    }

    @Test func `a waiting writer goes before readers that arrive later`() throws {
        let test = try TestKeychain()
        let softHSM = try #require(test.keychain.token.softHSM)
        let serial = try #require(test.keychain.token.uri.serial)
        let hasWritten = Lock(false)
        let ended = DispatchSemaphore(value: 0)
        func read(for time: Duration) throws {
            try softHSM.holdingObjects(serial: serial, label: "test", .reading, deadline: .after(time)) {}
        }
        try whileHeld(.reading, test) {
            let writer = Thread {
                do {
                    try softHSM.holdingObjects(
                        serial: serial, label: "test", .writing, deadline: .after(.seconds(60))
                    ) {
                        hasWritten.withLock { $0 = true }
                    }
                } catch { Issue.record(error) }
                ended.signal()
            }
            writer.start()
            // Reading succeeds until the writer waits.
            let deadline = Deadline.after(.seconds(60))
            while code({ try read(for: .milliseconds(20)) }) == nil, !deadline.hasPassed {}
            #expect(!deadline.hasPassed && !hasWritten.withLock { $0 })
        }
        ended.wait()
        #expect(hasWritten.withLock { $0 })
        try read(for: .seconds(60))
    }

    @Test func `a writer waits until its deadline, and the error names the token`() throws {
        let test = try TestKeychain()
        var options = Keychain.Options()
        options.timeout = .seconds(60)
        let keychain = try test.reopen(options)
        _ = try keychain.keys.generate(.p256, label: "key")
        let patient = try keychain.writer(keychain.vaultKeys())
        // A writer whose time has passed while it waited for the vault.
        let writer = TokenWriter(
            store: patient.store, token: patient.token, lock: patient.lock, index: patient.index,
            keys: patient.keys, deadline: .after(.zero), logger: patient.logger)
        try whileHeld(.reading, test) {
            let clock = ContinuousClock()
            let begin = clock.now
            do {
                try writer.discardPending()
                Issue.record("an object was written during a read")
            } catch let error as KeychainError {
                #expect(error.message == "token \"\(keychain.name)\" is in use by another process.")
                #expect(error.code == .vaultBusy && error.remedies.map(\.operation) == [.change(.timeout)])
            }
            #expect(begin.duration(to: clock.now) < .seconds(60))
        }
        try writer.discardPending()
    }

    /// Returns the directory of the objects on a keychain's token.
    private func directory(of test: TestKeychain) throws -> URL {
        let token = test.keychain.token
        return try #require(token.softHSM?.directory(serial: token.uri.serial, label: token.label))
    }

    @Test func `an object that another program has overwritten causes an error`() throws {
        let test = try TestKeychain()
        let token = test.keychain.token
        _ = try test.keychain.keys.generate(.p256, label: "key")
        let made = try token.readObjects().objects.filter { $0.label?.text == "key" }
        #expect(made.count == 2)
        try token.requireFinished(made)
        let files = try FileManager.default.contentsOfDirectory(
            at: directory(of: test), includingPropertiesForKeys: nil)
        // SoftHSM's default attributes of a private key, before its maker sets them.
        func number(_ value: UInt64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - 8 * $0)) } }
        let defaults = [99, 0, 2, 3, 3, 3, 0].flatMap { number($0) }
        for file in files where file.pathExtension == "object" && file.lastPathComponent != "token.object" {
            // The class follows the counter: type 0, kind 2 (a number), and 3 for a private key.
            let start = [UInt8](try Data(contentsOf: file)).dropFirst(8).prefix(24)
            guard Array(start) == [0, 2, 3].flatMap({ number($0) }) else { continue }
            let handle = try FileHandle(forWritingTo: file)
            try handle.truncate(atOffset: 0)
            try handle.write(contentsOf: defaults)
            try handle.close()
        }
        #expect(code { try token.requireFinished(made) } == .tokenContractViolation)
    }
}
