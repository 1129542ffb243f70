import Foundation
import KeyfobPrimitives
import KeyfobTesting
import TestSupport
import Testing

@testable import Keyfob

/// Processes that fork while they have a keychain open.
@Suite struct ForkTests {
    @Test func `a forked child cannot use a keychain that its parent opened, and the parent can`() throws {
        let test = try TestKeychain()
        let end = try Child(test, ["fork"]).waitForEnd()
        #expect(end.status == 0)
        #expect(Set(end.lines) == ["ready", "vault: refused", "token: refused", "parent done"], "\(end)")
        #expect(try test.keychain.integrity.findings().isEmpty)
    }

    @Test func `a throwaway keychain stays intact when a forked child releases it`() async {
        await #expect(processExitsWith: .success) { try ForkTests.letGoInChild() }
    }

    private static func letGoInChild() throws {
        var last: ThrowawayKeychain? = try ThrowawayKeychain()
        let (name, directories) = try (#require(last?.keychain.name), #require(last?.directories))
        let status = ForkedChild.run {
            last = nil
            _exit(0)
        }
        #expect(status == 0)
        // Opened again, so that the token and the vault are looked up.
        let key = try Keychain.open(name, in: directories).keys.generate(.p256, label: "key")
        #expect(key.label == "key")
        withExtendedLifetime(last) {}
    }
}
