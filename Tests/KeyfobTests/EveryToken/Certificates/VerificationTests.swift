import Foundation
import KeyfobOpenSSL
import TestSupport
import Testing

@testable import Keyfob

extension EveryToken {
    @Suite struct VerificationTests {
        struct Row: CustomTestStringConvertible, Sendable {
            let testDescription: String
            var code: KeychainError.Code?
            var host: String?
            var usage = CertificateUsage.any
            var days = 0.0
            var trustsRoot = true
            var hasIntermediate = true
            /// The depth of the certificate in question: 0 is the leaf.
            var depth = 0
        }

        static let rows = [
            Row(testDescription: "as it should be"),
            Row(testDescription: "for its host and usage", host: "web.example", usage: .server),
            Row(testDescription: "expired", code: .certificateExpired, days: 15),
            Row(testDescription: "an intermediate expired", code: .certificateExpired, days: 25, depth: 1),
            Row(testDescription: "not yet valid", code: .certificateNotYetValid, days: -1, depth: 2),
            Row(testDescription: "another host", code: .certificateHostMismatch, host: "api.example"),
            Row(testDescription: "an address", code: .certificateHostMismatch, host: "192.0.2.1"),
            Row(testDescription: "another usage", code: .certificateUsageMismatch, usage: .client),
            Row(testDescription: "no code signing", code: .certificateUsageMismatch, usage: .codeSigning),
            Row(testDescription: "without its intermediate", code: .chainIncomplete, hasIntermediate: false),
            Row(testDescription: "without trust", code: .certificateUntrusted, trustsRoot: false, depth: 2),
            // Adding or trusting the authority would not solve these problems.
            Row(testDescription: "another host, without its intermediate", code: .certificateHostMismatch,
                host: "api.example", hasIntermediate: false),
            Row(testDescription: "another usage, without trust", code: .certificateUsageMismatch, usage: .client,
                trustsRoot: false, depth: 2),
        ]

        @Test(.needs(.makesECKeys), arguments: rows) func `each reason for failure has its code and names the certificate`(_ row: Row) throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let authority = try TestAuthority()
            // The leaf outlives the intermediate only in the row that tests this.
            let days = row.depth == 1 ? 28 : 10
            let made = try keychain.keys.generate(.p256, label: "web")
            let leaf = try authority.issue(
                keychain.keys.certificationRequest(
                    for: made, subject: DistinguishedName(commonName: "web"),
                    extensions: .endEntity([.dns("web.example")], [.serverAuth], key: .ec(.p256))), days: days)
            if row.trustsRoot { try keychain.trust.add(authority.certificate("root"), label: "root") }
            var given: [Certificate] = []
            if row.hasIntermediate { given.append(try authority.certificate("r10")) }
            if !row.trustsRoot { given.append(try authority.certificate("root")) }
            let result = try keychain.certificates.verify(
                leaf, intermediates: given, on: Date() + row.days * 86_400, host: row.host, usage: row.usage)
            let error = result.error(name: "web")
            #expect(error?.code == row.code, "\(error as Any)")
            #expect(result.isTrusted == (row.code == nil))
            if row.code == nil {
                #expect(result.origin == .keychain && result.chain.count == 3)
            } else {
                #expect(result.result.failure?.depth == row.depth)
                #expect(result.result.failure?.certificate?.subject.commonName == ["web", "R10", "Root"][row.depth])
            }
        }

        @Test(.needs(.makesECKeys)) func `a trust anchor applies only to its usages, and only if the keychain's anchors are included`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let leaf = try keychain.identities.create("web", .server("web"), issuer: SelfIssuer()).identity.certificate()
            #expect(try keychain.certificates.verify(leaf).error(name: "web")?.code == .certificateUntrusted)
            #expect(try keychain.certificates.verify(leaf, trusting: .only([leaf])).origin == .given)
            try keychain.trust.add(leaf, for: [.client])
            #expect(try !keychain.certificates.verify(leaf, usage: .server).isTrusted)
            try keychain.trust.add(leaf, for: [.server])
            #expect(try keychain.certificates.verify(leaf, usage: .server).isTrusted)
            #expect(try !keychain.certificates.verify(leaf, usage: .server, trusting: TrustPolicy(includesKeychain: false)).isTrusted)
            #expect(code { _ = try keychain.certificates.verify(leaf, usage: CertificateUsage(rawValue: "baking")) } == .invalidArgument)
        }

        @Test func `the authorities of the system are trusted`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let root = try #require(try SystemRoots.load().first { $0.isSelfSigned && $0.isValid(on: Date()) })
            let result = try keychain.certificates.verify(root)
            #expect(result.isTrusted && result.origin == .system)
            #expect(try !keychain.certificates.verify(root, trusting: TrustPolicy(includesSystem: false)).isTrusted)
        }
    }
}
