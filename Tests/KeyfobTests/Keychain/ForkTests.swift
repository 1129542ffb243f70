import Foundation
import KeyfobPrimitives
import KeyfobTesting
import TestSupport
import Testing

@testable import Keyfob

/// Processes that fork while they have a keychain open.
@Suite struct ForkTests {
    @Test func `a child that was forked after a keychain was opened is refused, and its parent goes on`() throws {
        let test = try TestKeychain()
        let end = try Child(test, ["fork"]).waitForEnd()
        #expect(end.status == 0)
        #expect(Set(end.lines) == ["ready", "vault: refused", "token: refused", "parent done"], "\(end)")
        #expect(try test.keychain.vaultFindings().isEmpty)
    }

    @Test func `a throwaway keychain that goes in a child that was forked stays its parent's`() async {
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
        // Opened anew, so that token and vault are looked for.
        let key = try Keychain.open(name, in: directories).generateKey(.p256, label: "key")
        #expect(key.label == "key")
        withExtendedLifetime(last) {}
    }
}
