import Foundation
import KeyfobPrimitives
import KeyfobTesting
import KeyfobOpenSSL
import TestSupport
import Testing

@testable import Keyfob

extension EveryToken {
    /// Versions that are in use or needed are not retired.
    @Suite struct RetirementTests {
        @Test(.needs(.makesECKeys)) func `a version that has been put into use since it was read is not retired`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let first = try keychain.identities.create("web", .server("web.example"), issuer: SelfIssuer()).identity
            let renewal = try keychain.identities.renew(first, key: .new(nil), issuer: SelfIssuer())
            let stale = try keychain.identities.versions(of: "web")
            try #require(stale.count == 2)
            try test.reopen().identities.use(stale[1])
            #expect(code { try keychain.identities.retire(stale[1]) } == .refused)
            // Consent to delete the version that was in use does not extend to it once it is an older version.
            #expect(code { try keychain.deleteUnrenamed(renewal.identity) } == .refused)
            #expect(try test.reopen().identities.versions(of: "web").map(\.der) == [first.der, renewal.identity.der])
            #expect(try keychain.find(.keys.keyClass(.private)).count == 2)

            try keychain.identities.retire(#require(keychain.identities.versions(of: "web").last))
            #expect(try keychain.identities.versions(of: "web").map(\.der) == [first.der])
            #expect(code { try keychain.identities.retire(stale[0]) } == .refused)
            try keychain.deleteUnrenamed(keychain.only(.identity(label: "web")))
            #expect(code { try keychain.deleteUnrenamed(first) } == .itemNotFound)
        }

        @Test(.needs(.makesECKeys), arguments: [RenewalKey.same, .new(nil)])
        func `a version of an authority stays while certificates need it`(_ key: RenewalKey) throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let root = try keychain.identities.create("root", .authority("Root"), issuer: SelfIssuer()).identity
            let leaf = try keychain.identities.create(
                "web", .server("web.example"), issuer: AuthorityIssuer(root, in: keychain)).identity
            try keychain.trust.add(root.certificate())
            let renewal = try keychain.identities.renew(root, key: key, issuer: SelfIssuer())
            func retire() throws { try keychain.identities.retire(#require(keychain.identities.versions(of: "root").dropFirst().first)) }
            #expect(code { try retire() } == .refused)
            try keychain.trust.add(renewal.identity.certificate())
            _ = try keychain.trust.remove(root.certificate())
            if key != .same {
                // The new version verifies certificates of the old one only if it has the same key.
                #expect(code { try retire() } == .refused)
                let authority = try keychain.only(.identity(label: "root"))
                _ = try keychain.identities.renew(leaf, key: .same, issuer: AuthorityIssuer(authority, in: keychain))
            }
            try retire()
            #expect(try keychain.identities.versions(of: "root").map(\.der) == [renewal.identity.der])
            let web = try keychain.only(.identity(label: "web"))
            #expect(try keychain.certificates.chain(of: web.certificate()).isComplete)
        }

        @Test(.needs(.makesECKeys)) func `the steps in the hint for retiring an authority's version can be carried out`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let root = try keychain.identities.create("root", .authority("Root"), issuer: SelfIssuer()).identity
            let leaf = try keychain.identities.create(
                "a leaf", .server("web.example"), issuer: AuthorityIssuer(root, in: keychain)).identity
            let certificate = try leaf.certificate()
            _ = try keychain.identities.renew(root, key: .new(nil), issuer: SelfIssuer())
            func retire() throws { try keychain.identities.retire(#require(keychain.identities.versions(of: "root").dropFirst().first)) }
            let renewable = #expect(throws: KeychainError.self) { try retire() }
            #expect(renewable?.remedies == [Remedy("Renew that first", .renewIdentity("a leaf"))])
            // A certificate without its key cannot be renewed here.
            try keychain.delete(leaf)
            let alone = try keychain.add(CertificateItem(certificate))
            let foreign = #expect(throws: KeychainError.self) { try retire() }
            let fingerprint = "sha256:" + certificate.sha256Fingerprint.hexadecimal.prefix(16)
            #expect(foreign?.remedies.map(\.operation) == [.removeCertificate(fingerprint)])
            try keychain.delete(alone)
            try retire()
        }
    }
}
