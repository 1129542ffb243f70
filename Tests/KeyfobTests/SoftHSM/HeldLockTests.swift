import Foundation
import KeyfobPrimitives
import KeyfobTesting
import KeyfobOpenSSL
import PKCS11
import TestSupport
import Testing

@testable import Keyfob

/// A process that holds a lock of SoftHSM and does not release it, like a stopped one.
@Suite struct HeldLockTests {
    // Runs in a process of its own, because SoftHSM cannot be used during this time.
    @Test func `a call times out while another thread waits for a lock in the module, and works afterwards`() async {
        await #expect(processExitsWith: .success) { try Self.giveUpAndGoOn() }
    }

    private static func giveUpAndGoOn() throws {
        let test = try TestKeychain()
        let key = try test.keychain.keys.generate(.p256, label: "key")
        let softHSM = SoftHSMDirectory(directories: test.directories)
        let label = test.keychain.name
        let token = try #require(softHSM.tokens().first { $0.label == label })
        let child = try Child(test, ["hold", token.directory.appendingPathComponent("token.object").path])
        #expect(child.line() == "ready" && child.line() == "locked")
        let module = try TestToken.loadModule()
        let failure = Lock<String?>(nil)
        let initializing = POSIXThread.start("initialize") {
            do { try module.reinitialize() } catch { failure.withLock { $0 = "\(error)" } }
        }
        try awaitWait()
        let signer = try test.keychain.keys.tokenKey(for: key)
        let error = #expect(throws: KeychainError.self) { try signer.sign([1], using: .ecdsa(.sha256)) }
        #expect(error?.code == .timedOut && error?.hint?.contains("kill -CONT") == true, "\(error as Any)")
        try child.endInput()
        try #require(initializing).join()
        #expect(failure.withLock { $0 } == nil)
        #expect(try !signer.sign([1], using: .ecdsa(.sha256)).isEmpty)
        #expect(child.waitForEnd().status == 0)
    }

    /// Waits until this process is blocked on a file lock.
    private static func awaitWait() throws {
        let isWaiting = try (0..<6000).contains { _ in
            usleep(10_000)
            return try String(contentsOfFile: "/proc/locks", encoding: .utf8).split(separator: "\n").contains {
                let fields = $0.split(separator: " ")
                return fields.contains("->") && fields.contains("\(getpid())")
            }
        }
        try #require(isWaiting)
    }
}
