import Foundation
import KeyfobPrimitives
import KeyfobTesting
import TestSupport
import Testing

@testable import Keyfob

@Suite(.serialized) struct OpenAheadTests {
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

    /// The names of the threads of this process that open a token.
    private static let openers = #"cat /proc/$PPID/task/*/comm | grep -c -e keyfob-token -e keyfob-crypto"#

    @Test func `nothing is opened any more when the keychain is gone`() throws {
        let test = try TestKeychain()
        _ = try test.keychain.unlockForSession()
        for _ in 0..<10 {
            _ = try test.reopen(Self.options)
            #expect(try run("/bin/sh", ["-c", Self.openers]).stdout == "0\n")
        }
        try test.keychain.unlockedState.remove(test.keychain.stateName)
    }

    @Test func `nothing is opened any more when a vault could not be`() throws {
        let test = try TestKeychain()
        var configuration = test.configuration
        configuration.vault += ".missing"
        for _ in 0..<10 {
            #expect(code { _ = try Keychains(test.throwaway.directories).open(configuration, options: Self.options) }
                == .vaultUnavailable)
            #expect(try run("/bin/sh", ["-c", Self.openers]).stdout == "0\n")
        }
    }

    @Test func `a PIN's source is read when the token has been opened, for it may change the environment`() throws {
        let test = try TestKeychain()
        try test.keychain.add(GenericPassword(service: "a"), secret: SecretBytes(utf8: "secret"))
        let log = test.throwaway.directories.data.appendingPathComponent("openers").path
        for _ in 0..<10 {
            try test.keychain.unlockedState.remove(test.keychain.stateName)
            var options = Self.options
            options.pinSource = .command("\(Self.openers) >> '\(log)'; echo \(try test.pin)")
            let keychain = try test.reopen(options)
            let item = try keychain.only(.genericPassword(service: "a"))
            #expect(try keychain.secret(of: item) == SecretBytes(utf8: "secret"))
        }
        try test.keychain.unlockedState.remove(test.keychain.stateName)
        #expect(try String(contentsOfFile: log, encoding: .utf8) == String(repeating: "0\n", count: 10))
    }
}
