import Foundation
import KeyfobPrimitives
import KeyfobTesting
import Testing

@testable import Keyfob

@Suite struct OpenAheadTests {
    private static var options: Keychain.Options {
        var options = Keychain.Options()
        options.isOneShot = true
        options.opensTokenAhead = true
        return options
    }

    @Test func `a keychain whose token is opened ahead reads secrets, locked or not`() throws {
        let test = try TestKeychain()
        try test.keychain.add(GenericPassword(service: "a"), secret: SecretBytes(utf8: "secret"))
        for isUnlocked in [false, true] {
            if isUnlocked {
                _ = try test.keychain.unlockForSession()
            } else {
                try test.keychain.unlockedState.remove(test.keychain.stateName)
            }
            let keychain = try test.reopen(Self.options)
            let item = try keychain.only(.genericPassword(service: "a"))
            #expect(try keychain.secret(of: item) == SecretBytes(utf8: "secret"))
        }
    }

    @Test func `a PIN that the token refuses is sent once, and the refusal reported`() throws {
        let test = try TestKeychain()
        try test.keychain.add(GenericPassword(service: "a"), secret: SecretBytes(utf8: "secret"))
        _ = try test.leaveStalePIN()
        let keychain = try test.reopen(Self.options)
        let item = try keychain.only(.genericPassword(service: "a"))
        #expect(code { _ = try keychain.secret(of: item) } == .pinIncorrect)
        // It is forgotten then, and the PIN's source asked.
        #expect(try keychain.secret(of: item) == SecretBytes(utf8: "secret"))
        try test.keychain.unlockedState.remove(test.keychain.stateName)
    }

    @Test func `a vault that is missing is reported though the token could be opened`() throws {
        let test = try TestKeychain()
        var configuration = test.configuration
        configuration.vault += ".missing"
        let error = #expect(throws: KeychainError.self) {
            try Keychains(test.throwaway.directories).open(configuration, options: Self.options)
        }
        #expect(error?.code == .vaultUnavailable)
    }
}
