import Foundation
import KeyfobOpenSSL
import TestSupport
import Testing

@testable import Keyfob

extension EveryToken {
    @Suite struct TrustAnchorTests {
        @Test(.needs(.importsECKeys, .storesCertificates)) func `a certificate is trusted for the given usages until the trust is removed`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let root = try Certificate(der: TestCertificate("Root").der)
            let other = try Certificate(der: TestCertificate("Other").der)
            try keychain.add(CertificateItem(other, label: "other"))
            #expect(try keychain.trust.anchors().isEmpty)

            try keychain.trust.add(root, for: [.server], label: "corp")
            try keychain.trust.add(other)
            let anchors = try test.reopen().trust.anchors()
            #expect(anchors.map(\.item.label) == ["other", "corp"])
            #expect(anchors.map(\.usages) == [[.any], [.server]])
            #expect(try keychain.trust.anchors(for: .client).map(\.certificate) == [other])
            #expect(try keychain.trust.anchors(for: .server).count == 2)

            try keychain.trust.add(root, for: [.client, .server])
            #expect(try keychain.trust.anchors(for: .client).count == 2)
            #expect(try keychain.find(.certificates).count == 2)

            #expect(try keychain.trust.remove(root))
            #expect(try !keychain.trust.remove(root))
            #expect(try keychain.trust.anchors().map(\.certificate) == [other])
            #expect(try keychain.find(.certificates).count == 2)
        }

        @Test(.needs(.makesECKeys)) func `trust set on the item of any access group applies to the certificate, and is removed for all groups`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let authority = try TestAuthority()
            let root = try authority.certificate("r10")
            for group in ["one", "two"] {
                _ = try keychain.identities.create(
                    group, .server(group), issuer: CommandIssuer(authority.command()))
                _ = try keychain.update(
                    Criteria(.certificate, [.label: "R10", .accessGroup: ""]), [.accessGroup: .string(group)])
            }
            let items = try keychain.findItems(Criteria(.certificate, [.label: "R10"]))
            try #require(items.count == 2)
            for item in items {
                try keychain.update(Criteria(#require(item.reference)), [.trustedUsages: "server"])
                #expect(try keychain.trust.anchors().map(\.certificate) == [root])
                // The call applies to the certificate, whichever item had the trust before.
                try keychain.trust.add(root, for: [.client])
                #expect(try keychain.trust.anchors(for: .server).isEmpty && keychain.trust.anchors().count == 1)
                #expect(try keychain.trust.remove(root))
                #expect(try keychain.trust.anchors().isEmpty && !keychain.trust.remove(root))
            }
        }

        @Test(.needs(.seesOtherPrograms, .storesCertificates)) func `a certificate that another program put on the token is not trusted until a user trusts it`() throws {
            let test = try TestKeychain()
            let certificate = try TestCertificate("Foreign")
            try test.tool([
                "--write-object", certificate.directory.file("cert.der"), "--type", "cert", "--id", "01", "--label", "CA",
            ])
            #expect(try test.keychain.trust.anchors().isEmpty)
            #expect(try test.keychain.find(.certificates).count == 1)
            try test.keychain.trust.add(Certificate(der: certificate.der))
            #expect(try test.keychain.trust.anchors().map(\.item.label) == ["CA"])
            try test.tool(["--delete-object", "--type", "cert", "--id", "01"])
            #expect(try test.keychain.trust.anchors().isEmpty)
        }
    }
}
