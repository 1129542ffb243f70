import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11
import TestSupport
import Testing

@testable import Keyfob

extension EveryToken {
    @Suite struct AsyncFormTests {
        private struct Session: Codable, Equatable {
            var user: String
        }

        @Test func `the asynchronous calls for values work like the blocking ones`() async throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            try await keychain.save(Session(user: "a"), for: "session")
            #expect(try await keychain.retrieve(Session.self, for: "session") == Session(user: "a"))
            try await keychain.update(Session(user: "b"), for: "session")
            #expect(try await keychain.retrieve(Session.self, for: "session") == Session(user: "b"))
            let reference = try #require(try await keychain.find(.genericPasswords).first?.reference)
            #expect(try await keychain.item(reference).itemClass == .genericPassword)
            try await keychain.deleteValue(for: "session")
            await #expect(throws: KeychainError.self) { _ = try await keychain.retrieve(Session.self, for: "session") }
            withExtendedLifetime(test) {}
        }

        @Test(.needs(.importsRSAKeys, .makesECKeys)) func `the asynchronous calls for keys and identities work like the blocking ones`() async throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let item = try await keychain.keys.importKey(PrivateKey.generate(.rsa(bits: 2048)), label: "rsa")
            let key = try await keychain.keys.tokenKey(for: item)
            let digest = [UInt8](Digest.sha256([1, 2, 3]))
            let signature = try await key.signDigest(digest, using: .rsaPKCS1(.sha256))
            #expect(try key.publicKey.verify(signature, of: [1, 2, 3], using: .rsaPKCS1(.sha256)))
            let secret = try key.publicKey.encrypt(SecretBytes([4, 5]), using: .rsaOAEP(.sha256))
            #expect(try await key.decrypt(secret, using: .rsaOAEP(.sha256)).copyBytes() == [4, 5])

            let web = try await keychain.identities.create("web", .server("web.example"), issuer: SelfIssuer()).identity
            let certificate = try web.certificate()
            #expect(try await keychain.certificates.chain(of: certificate, with: [certificate]).certificates == [certificate])
            #expect(try await !keychain.identities.check(web).contains { $0.state == .bad })
            try await keychain.identities.prefer(web, for: "https://web.example")
            #expect(try await keychain.identities.preferred(for: "https://web.example")?.der == web.der)
            let request = try await keychain.keys.certificationRequest(
                for: web, subject: DistinguishedName(commonName: "web"),
                extensions: .endEntity([.dns("web.example")], [], key: .ec(.p256)))
            #expect(request.publicKey == certificate.publicKey)
            let error = await #expect(throws: KeychainError.self) {
                _ = try await keychain.identities.export(web, passphrase: SecretBytes(utf8: "x"))
            }
            #expect(error?.code == .keyNotExtractable)
            withExtendedLifetime(test) {}
        }

        @Test(.needs(.makesECKeys, .storesCertificates)) func `the asynchronous calls add several items at once and read lists of any length`() async throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let passwords = (0..<3).map { GenericPassword(service: "many", account: "\($0)") }
            let secret = SecretBytes(utf8: "x")
            #expect(try await keychain.add(passwords.map { ($0, secret) }).count == 3)
            let untyped = GenericPassword(service: "many", account: "3").item
            #expect(try await keychain.add(untyped, secret: secret).itemClass == .genericPassword)
            let accounts = Lock<[String?]>([])
            try await keychain.forEach(.genericPassword(service: "many")) { (item: GenericPassword) in
                accounts.withLock { accounts in
                    accounts.append(item.account)
                    return accounts.count < 3
                }
            }
            #expect(accounts.withLock { $0 } == ["0", "1", "2"])

            let criteria = Criteria(.genericPassword, [.account: .string("3")])
            #expect(try await keychain.findItems(criteria).count == 1)
            #expect(try await keychain.update(criteria, [.comment: "changed"]) == 1)
            #expect(try await keychain.delete(criteria) == 1)
            #expect(try await keychain.passwordCount() == 3)
            #expect(try await keychain.integrity.findings() == [])
            #expect(try await keychain.tokenInfo().label == keychain.token.label)

            let certificates = try ["a", "b"].map { try CertificateItem(Certificate(der: TestCertificate($0).der)) }
            #expect(try await keychain.certificates.add(contentsOf: certificates).count == 2)
            #expect(try await Set(keychain.certificates.publicCertificates().map(\.label)) == ["a", "b"])
            #expect(try await keychain.certificates.publicCertificates(label: "b").map(\.label) == ["b"])
            try await keychain.lock()
            #expect(try await keychain.findItems(criteria).isEmpty)
            let key = try await keychain.keys.tokenKey(for: keychain.keys.generate(.p256, label: "key"))
            #expect(try await key.proven([.ecdsa(.sha256), .rsaPSS(.sha256)]) == [.ecdsa(.sha256)])
            let error = await #expect(throws: KeychainError.self) {
                _ = try await keychain.keys.generate(.p256, label: "key", isLabelUnique: true)
            }
            #expect(error?.code == .duplicateItem)
            #expect(try await keychain.checkOpening())
            #expect(try await keychain.integrity.removeDamagedItems() == [])
            #expect(try await keychain.integrity.acceptVault() >= 3)
            withExtendedLifetime(test) {}
        }
    }
}
