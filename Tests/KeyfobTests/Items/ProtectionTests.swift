import KeyfobOpenSSL
import TestSupport
import Testing

@testable import Keyfob

/// Items that no removal removes.
@Suite struct ProtectionTests {
    @Test func `the key of a protected identity cannot be removed, also as a key`() throws {
        let test = try TestKeychain()
        let keychain = test.keychain
        let identity = try keychain.identities.create("web", .server("web"), issuer: SelfIssuer()).identity
        try keychain.setProtection(of: identity.item, true)
        let key = try #require(try keychain.find(.keys).first { $0.keyClass == .private })
        #expect { try keychain.delete(key) } throws: { ($0 as? KeychainError)?.code == .refused }
        #expect { try keychain.delete(identity) } throws: { ($0 as? KeychainError)?.code == .refused }
        #expect(try keychain.find(.identities).count == 1)
        try keychain.setProtection(of: identity.item, false)
        try keychain.delete(key)
        #expect(try keychain.find(.identities).isEmpty)
    }
}
