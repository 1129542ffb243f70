import Foundation
import KeychainServices
import Keyfob
import KeyfobPrimitives
import PKCS11
import TestSupport
import Testing

/// Apple's functions on a token whose module does not return.
@Suite struct HangingModuleTests {
    @Test func `calls end at their deadline, and work again when the module returns`() throws {
        let directory = try TemporaryDirectory()
        let module = try FaultyModule(in: directory, saying: "foreign")
        let token = try TestToken.make(label: "hangs").behind(module)
        let pin = try directory.write(Array(TestToken.pinText.utf8), to: "pin")
        var options = Keychain.Options()
        options.timeout = .seconds(2)
        let keychain = try Keychains(Directories(root: directory.url("keyfob"))).create(
            token.label, on: .existing(token.uri, .path(module.path), pin: token.pin, pinSource: .file(pin)),
            options: options
        ).keychain
        let password: [CFString: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrService: "s"]
        let keys: [CFString: Any] = [kSecClass: kSecClassKey, kSecMatchLimit: kSecMatchLimitAll]
        SecKeychainUse(keychain) {
            var added = password
            added[kSecValueData] = Data("x".utf8)
            #expect(SecItemAdd(added as CFDictionary, nil) == errSecSuccess)
        }
        func read() -> OSStatus {
            SecKeychainUse(keychain) {
                var result: CFTypeRef?
                var wanted = password
                wanted[kSecReturnData] = true
                return unsafe SecItemCopyMatching(wanted as CFDictionary, &result)
            }
        }
        #expect(read() == errSecSuccess)
        try module.say("foreign hold=C_Decrypt")
        #expect(read() == errSecServiceNotAvailable)
        try module.say("foreign hold=C_FindObjectsInit")
        #expect(SecKeychainUse(keychain) { SecItemCopyMatching(keys as CFDictionary, nil) } == errSecServiceNotAvailable)
        try module.say("foreign")
        // The abandoned threads must leave the module before its library is removed.
        let deadline = Deadline.after(.seconds(60))
        while PendingCalls.all.contains(where: { $0.module == module.path }), !deadline.hasPassed { usleep(10_000) }
        #expect(read() == errSecSuccess)
    }
}
