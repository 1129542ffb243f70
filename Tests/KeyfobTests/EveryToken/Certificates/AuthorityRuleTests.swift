import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
import TestSupport
import Testing

@testable import Keyfob

extension EveryToken {
    /// The rules that an authority in the keychain keeps, and the certificates that it refuses to issue.
    @Suite struct AuthorityRuleTests {
        /// An authority in a keychain, made by openssl with its own choice of key identifier and a name constraint.
        private struct Imported {
            let directory: TemporaryDirectory
            let authority: Identity

            init(in keychain: Keychain, days: Int = 3000) throws {
                directory = try TemporaryDirectory()
                try directory.write(
                    """
                    [req]
                    distinguished_name=name
                    x509_extensions=extensions
                    [name]
                    [extensions]
                    basicConstraints=critical,CA:TRUE
                    keyUsage=critical,keyCertSign
                    subjectKeyIdentifier=01:02:03:04:05:06:07:08
                    nameConstraints=critical,permitted;DNS:example.org

                    """.utf8, to: "root.conf")
                try openssl([
                    "req", "-x509", "-config", directory.file("root.conf"), "-subj", "/CN=Root", "-days", "\(days)",
                    "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", directory.file("root.key"),
                    "-out", directory.file("root.pem"),
                ])
                authority = try keychain.identities.importKeyPair(
                    key: PrivateKey.load(Data(contentsOf: directory.url("root.key"))) { nil },
                    certificate: Certificate(pem: Data(contentsOf: directory.url("root.pem"))), label: "root"
                ).identity
            }

            /// Issues a leaf with openssl that names its authority by the key identifier.
            func issue(_ name: String) throws {
                try directory.write(
                    "authorityKeyIdentifier=keyid:always\nsubjectAltName=DNS:\(name)\nbasicConstraints=critical,CA:FALSE\n".utf8,
                    to: "leaf.conf")
                try openssl([
                    "req", "-new", "-subj", "/CN=\(name)", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-keyout", directory.file("leaf.key"), "-out", directory.file("leaf.csr"),
                ])
                try openssl([
                    "x509", "-req", "-in", directory.file("leaf.csr"), "-CA", directory.file("root.pem"), "-CAkey",
                    directory.file("root.key"), "-CAcreateserial", "-days", "20", "-extfile", directory.file("leaf.conf"),
                    "-out", directory.file("leaf.pem"),
                ])
            }

            /// Returns openssl's result of verifying a file's certificate below `authority`.
            func verify(_ file: String, by authority: Certificate) throws -> RunResult {
                try directory.write(authority.pem.utf8, to: "ca.pem")
                return try run(
                    "openssl", ["verify", "-x509_strict", "-CAfile", directory.file("ca.pem"), directory.file(file)])
            }
        }

        @Test(.needs(.importsECKeys)) func `a renewed authority matches the certificates it has issued, and keeps its name constraints`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let imported = try Imported(in: keychain)
            try imported.issue("www.example.org")
            let old = try imported.authority.certificate()
            let renewed = try keychain.identities.renew(imported.authority, issuer: SelfIssuer()).identity
            let new = try renewed.certificate()
            #expect(new != old && new.subjectKeyIdentifier == Data(1...8))
            let result = try imported.verify("leaf.pem", by: new)
            #expect(result.stdout.hasSuffix(": OK\n"), "\(result.stderr)")
            let text = try openssl(["x509", "-in", imported.directory.file("ca.pem"), "-noout", "-text"]).stdout
            #expect(text.contains("Name Constraints: critical") && text.contains("DNS:example.org"))

            // An authority with another key has another identifier.
            let other = try keychain.identities.renew(renewed, key: .new(nil), issuer: SelfIssuer()).identity.certificate()
            #expect(other.subjectKeyIdentifier == other.publicKey.identifier)
            #expect(try !imported.verify("leaf.pem", by: other).stdout.hasSuffix(": OK\n"))
        }

        @Test(.needs(.importsECKeys)) func `an authority refuses to issue certificates that its own certificate does not allow`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let imported = try Imported(in: keychain)
            let issuer = AuthorityIssuer(imported.authority, in: keychain)
            let error = #expect(throws: KeychainError.self) {
                _ = try keychain.identities.create("web", .server("www.example.net"), issuer: issuer)
            }
            #expect(error?.code == .invalidArgument && error?.message.contains("permitted") == true)
            #expect(try keychain.find(.identities).map(\.label) == ["root"])
            #expect(try keychain.find(.keys).allSatisfy { $0.label == "root" })
            let made = try keychain.identities.create("web", .server("www.example.org"), issuer: issuer).identity
            try imported.directory.write(try made.certificate().pem.utf8, to: "web.pem")
            #expect(try imported.verify("web.pem", by: imported.authority.certificate()).stdout.hasSuffix(": OK\n"))

            // An authority with a path length of 0 cannot issue another authority.
            var last = try IdentitySpecification.authority("Last")
            last.extensions = .authority(pathLength: 0)
            let end = try keychain.identities.create("last", last, issuer: SelfIssuer()).identity
            #expect(code {
                _ = try keychain.identities.create(
                    "below", .authority("Below"), issuer: AuthorityIssuer(end, in: keychain))
            } == .invalidArgument)
        }

        @Test(.needs(.makesECKeys)) func `an authority refuses to issue certificates that a superior authority does not allow`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            var specification = try IdentitySpecification.authority("Root")
            specification.extensions = .authority(pathLength: 1)
            // permitted;DNS:example.org
            let constraint = [0x30, 0x11, 0xA0, 0x0F, 0x30, 0x0D, 0x82, 0x0B] + Array("example.org".utf8)
            specification.extensions.others = [.init(type: .nameConstraints, isCritical: true, value: Data(constraint))]
            let root = try keychain.identities.create("root", specification, issuer: SelfIssuer()).identity
            let middle = try keychain.identities.create(
                "middle", .authority("Middle"), issuer: AuthorityIssuer(root, in: keychain)).identity
            let issuer = AuthorityIssuer(middle, in: keychain)
            for specification in [try IdentitySpecification.server("www.example.net"), try .authority("Below")] {
                #expect(code { _ = try keychain.identities.create("x", specification, issuer: issuer) } == .invalidArgument)
            }
            #expect(try keychain.find(.keys).count == 4)
            let web = try keychain.identities.create("web", .server("www.example.org"), issuer: issuer).identity
            let result = try CertificateChain.verify(
                leaf: web.certificate(), intermediates: [middle.certificate()], anchors: [root.certificate()])
            #expect(result.failure == nil)
            // A renewal takes the place of the version before, so the path length allows it.
            #expect(code {
                _ = try keychain.identities.renew(middle, issuer: AuthorityIssuer(root, in: keychain))
            } == nil)
        }

        private func days(_ identity: Identity) throws -> Double {
            let certificate = try identity.certificate()
            return certificate.notAfter.timeIntervalSince(certificate.notBefore) / 86_400
        }

        @Test(.needs(.importsECKeys)) func `an imported certificate keeps its lifetime through all renewals`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            var identity = try Imported(in: keychain, days: 400).authority
            for _ in 0..<3 {
                identity = try keychain.identities.renew(identity, issuer: SelfIssuer()).identity
                #expect(abs(try days(identity) - 400) < 1.5 / 86_400)
            }
        }

        @Test(.needs(.makesECKeys)) func `a lifetime that an authority shortened is reported and does not apply to the next certificate`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let root = try keychain.identities.create(
                "root", .authority("Root", lifetime: 3600), issuer: SelfIssuer()).identity
            let steps = Lock<[String]>([])
            let web = try keychain.identities.create("web", .server("web"), issuer: AuthorityIssuer(root, in: keychain)) { step in
                steps.withLock { $0.append(step) }
            }.identity
            #expect(try days(web) < 0.1)
            #expect(steps.withLock { $0 }.contains { $0.contains("shortened") && $0.contains("root") })
            let next = try keychain.identities.renew(root, lifetime: 1000 * 86_400, issuer: SelfIssuer()).identity
            let renewed = try keychain.identities.renew(web, issuer: AuthorityIssuer(next, in: keychain)) { step in
                steps.withLock { $0.append("second: " + step) }
            }.identity
            #expect(abs(try days(renewed) - 90) < 0.1)
            #expect(!steps.withLock { $0 }.contains { $0.hasPrefix("second") })
        }
    }
}
