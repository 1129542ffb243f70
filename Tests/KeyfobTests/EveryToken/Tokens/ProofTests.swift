import KeyfobOpenSSL
import Testing
import TestSupport

@testable import Keyfob

extension EveryToken {
    /// The signature schemes that keys are proven to support.
    @Suite struct ProofTests {
        private static let schemes: [SignatureScheme] = [
            .rsaPSS(.sha256), .rsaPSS(.sha384), .rsaPSS(.sha512), .rsaPKCS1(.sha256), .rsaPKCS1(.sha384),
            .rsaPKCS1(.sha512),
        ]

        /// A digest and a salt of 64 bytes need 1034 bits (RFC 8017 section 9.1.1).
        @Test(.needs(.importsRSAKeys, .storesCertificates), arguments: [1024, 1033, 1034, 2048])
        func `a scheme for which the key is too small is omitted, and the others are listed`(bits: Int) throws {
            let test = try TestKeychain()
            let item = try test.keychain.keys.importKey(PrivateKey.generate(.rsa(bits: bits)), label: "key")
            let key = try test.keychain.keys.tokenKey(for: item)
            try #require(key.publicKey.algorithm == .rsa(bits: bits))
            let isLarge = bits >= 1034
            let expected = Self.schemes.filter { isLarge || $0 != .rsaPSS(.sha512) }
            #expect(try key.proven(Self.schemes) == expected)
            let message = Array("message".utf8)
            let refusal: KeychainError.Code? = isLarge ? nil : .mechanismUnsupported
            #expect(code { _ = try key.sign(message, using: .rsaPSS(.sha512)) } == refusal)
        }

        @Test(.needs(.importsRSAKeys, .storesCertificates)) func `a key that is too small for all requested schemes proves none, without an error`() throws {
            let test = try TestKeychain()
            let item = try test.keychain.keys.importKey(PrivateKey.generate(.rsa(bits: 1024)), label: "key")
            #expect(try test.keychain.keys.tokenKey(for: item).proven([.rsaPSS(.sha512)]).isEmpty)
        }
    }
}
