import Foundation
import KeyfobPrimitives
import KeyfobTesting
import KeyfobOpenSSL
import TestSupport
import Testing

@testable import Keyfob

extension EveryToken {
    /// One test through each part, with real components.
    @Suite struct SmokeTests {
        @Test func `a password is added, found, read, changed and removed`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let added = try keychain.add(
                GenericPassword(service: "db/prod", account: "app"), secret: SecretBytes("correct horse"))
            #expect(added.item.hasSecret && added.reference != nil && added.creationDate != nil)
            let found = try keychain.find(.genericPassword(service: "db/prod"))
            #expect(found.map(\.account) == ["app"])
            #expect(try keychain.secret(of: found[0]) == SecretBytes("correct horse"))
            try keychain.update(.genericPassword(service: "db/prod"), [.comment: "changed"], secret: SecretBytes("second"))
            // Opened again, as another process would: with its own connection and keys.
            let other = try test.reopen()
            let again = try other.only(.genericPassword(service: "db/prod", account: "app"))
            #expect(again.comment == "changed")
            #expect(try other.secret(of: again) == SecretBytes("second"))
            try other.delete(again)
            #expect(try keychain.find(.genericPasswords).isEmpty)
            #expect(code { _ = try keychain.item(#require(again.reference)) } == .itemNotFound)
        }

        @Test(.needs(.importsECKeys, .otherPrograms)) func `certificates, keys and identities are added, found, used and removed`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let source = try TestCertificate()
            let certificate = try Certificate(der: source.der)
            let added = try keychain.add(CertificateItem(certificate))
            #expect(added.der == certificate.der)
            #expect(try keychain.find(.certificates).map(\.label) == ["example.org"])
            #expect(code { try keychain.add(CertificateItem(certificate)) } == .duplicateItem)
            #expect(try keychain.find(.identities).isEmpty)

            let key = try PrivateKey.load(source.keyPEM) { nil }
            let imported = try keychain.identities.importKeyPair(key: key, certificate: certificate)
            #expect(!imported.isUnchanged)
            let identity = try keychain.only(.identity())
            let tokenKey = try keychain.keys.tokenKey(for: identity)
            let message = Array("message".utf8)
            let signature = try tokenKey.sign(message, using: .ecdsa(.sha256))
            #expect(try certificate.publicKey.verify(signature, of: message, using: .ecdsa(.sha256)))
            #expect(try keychain.identities.importKeyPair(key: key, certificate: certificate).isUnchanged)
            try keychain.delete(.identity())
            #expect(
                try keychain.find(.identities).isEmpty && keychain.find(.keys).isEmpty
                    && keychain.find(.certificates).isEmpty)
            #expect(try test.tool(["-O"]).stdout.contains("keyfob-wrap-1"))
        }

        @Test(arguments: [KeySpecification.p256, .p384, .p521, .ed25519, .rsa(bits: 2048), .aes(bits: 256)])
        func `a key is generated, and another keychain finds and uses it`(specification: KeySpecification) throws {
            try needs(specification)
            let test = try TestKeychain()
            let keychain = test.keychain
            let key = try keychain.keys.generate(specification, label: "signing", applicationTag: Data("tag".utf8))
            let other = try test.reopen()
            let isPair = specification != .aes(bits: 256)
            let found = try other.only(.key(label: "signing").keyClass(isPair ? .private : .symmetric))
            #expect(found.reference == key.reference && found.applicationTag == Data("tag".utf8))
            #expect(found.isSensitive && !found.isExtractable)
            if isPair {
                let tokenKey = try other.keys.tokenKey(for: found)
                #expect(found.publicKeyHash == tokenKey.publicKey.identifier)
                let scheme: SignatureScheme = switch specification {
                case .ed25519: .ed25519
                case .rsa(bits: 2048): .rsaPKCS1(.sha256)
                default: .ecdsa(.sha256)
                }
                let message = Array("message".utf8)
                let signature = try tokenKey.sign(message, using: scheme)
                #expect(try tokenKey.publicKey.verify(signature, of: message, using: scheme))
                #expect(try !tokenKey.publicKey.verify(signature, of: message + [0], using: scheme))
            }
            try other.delete(found)
            #expect(try keychain.find(.keys).isEmpty)
        }
    }
}
