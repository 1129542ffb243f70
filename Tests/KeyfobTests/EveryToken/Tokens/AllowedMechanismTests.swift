import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11
import TestSupport
import Testing

@testable import Keyfob

extension EveryToken {
    /// Keys that allow fewer mechanisms than their token (`CKA_ALLOWED_MECHANISMS`), which SoftHSM enforces.
    @Suite struct AllowedMechanismTests {
        private static let schemes: [SignatureScheme] = [.rsaPKCS1(.sha256), .rsaPSS(.sha256)]

        /// Adds a key to the token that may be used with only one mechanism.
        private func add(_ key: PrivateKey, _ label: String, for mechanism: MechanismType, to keychain: Keychain) throws {
            guard case .rsa(let n, let e, let d, let p, let q, let dp, let dq, let qinv) = try key.components() else {
                throw KeychainError(.failed, "no RSA key.")
            }
            try keychain.token.withSession(.create) { session in
                _ = try session.create([
                    .objectClass(.privateKey), .keyType(.rsa), .token(true), .isPrivate(true), .sensitive(true),
                    .extractable(false), .sign(true), .decrypt(false), .label(label),
                    .id([UInt8](key.publicKey.identifier)), .modulus([UInt8](n)), .publicExponent([UInt8](e)),
                    .secret(.privateExponent, d), .secret(.prime1, p), .secret(.prime2, q), .secret(.exponent1, dp),
                    .secret(.exponent2, dq), .secret(.coefficient, qinv), .allowedMechanisms([mechanism]),
                ])
            }
        }

        private func key(_ label: String, in keychain: Keychain) throws -> KeyItem {
            try keychain.only(.key(label: label).keyClass(.private))
        }

        private func proven(_ label: String, in keychain: Keychain) throws -> [SignatureScheme] {
            try keychain.keys.tokenKey(for: key(label, in: keychain)).proven(Self.schemes)
        }

        @Test(.needs(.enforcesAllowedMechanisms, .importsRSAKeys)) func `a mechanism refused by one key stays available to others, even to a key that replaces it`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let first = try PrivateKey.generate(.rsa(bits: 2048))
            try add(first, "pss", for: .rsaPSS, to: keychain)
            try add(PrivateKey.generate(.rsa(bits: 2048)), "pkcs1", for: .rsaPKCS, to: keychain)
            // Repeated, because a refusal is remembered and must stay the same.
            for _ in 0..<2 {
                #expect(try proven("pss", in: keychain) == [.rsaPSS(.sha256)])
                #expect(try proven("pkcs1", in: keychain) == [.rsaPKCS1(.sha256)])
            }
            try keychain.delete(key("pss", in: keychain))
            try add(first, "pss", for: .rsaPKCS, to: keychain)
            #expect(try proven("pss", in: keychain) == [.rsaPKCS1(.sha256)])
        }
    }
}
