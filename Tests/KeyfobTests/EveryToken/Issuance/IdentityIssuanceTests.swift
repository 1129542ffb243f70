import Foundation
import KeyfobPrimitives
import KeyfobTesting
import KeyfobOpenSSL
import TestSupport
import Testing

@testable import Keyfob

extension EveryToken {
    @Suite struct IdentityIssuanceTests {
        static let kinds: [KeySpecification] = [.p256, .p384, .p521, .ed25519, .rsa(bits: 2048)]

        private func verifies(_ certificate: Certificate, by authority: Certificate, host: String) throws -> String {
            let directory = try TemporaryDirectory()
            try directory.write(certificate.pem.utf8, to: "leaf.pem")
            try directory.write(authority.pem.utf8, to: "ca.pem")
            return try openssl([
                "verify", "-x509_strict", "-CAfile", directory.file("ca.pem"), "-purpose", "sslserver", "-verify_hostname",
                host, directory.file("leaf.pem"),
            ]).stdout
        }

        @Test(arguments: kinds)
        func `openssl verifies a request that the token has signed`(_ kind: KeySpecification) throws {
            try needs(kind)
            let test = try TestKeychain()
            let keychain = test.keychain
            let key = try keychain.keys.generate(kind, label: "api")
            let schemes: [SignatureScheme?] = if case .rsa = kind.kind {
                [nil, .rsaPSS(.sha256), .rsaPKCS1(.sha512), .rsaPSS(.sha512)]
            } else { [nil] }
            for scheme in schemes {
                let request = try keychain.keys.certificationRequest(
                    for: key, subject: DistinguishedName(parsing: "CN=api,O=Example"),
                    extensions: .endEntity([.dns("api.example.org")], [.serverAuth], key: .ed25519), scheme: scheme)
                let directory = try TemporaryDirectory()
                try directory.write(request.pem.utf8, to: "api.csr")
                let result = try openssl(["req", "-in", directory.file("api.csr"), "-verify", "-noout", "-text"])
                #expect(result.stderr.contains("verify OK") && result.stdout.contains("DNS:api.example.org"))
                #expect(request.publicKey == (try keychain.keys.publicKey(of: key)))
            }
            #expect(code {
                _ = try keychain.keys.certificationRequest(
                    for: key, subject: .empty, extensions: .endEntity([.dns("a b")], [], key: .ed25519))
            } == .invalidArgument)
        }

        @Test(arguments: kinds)
        func `openssl accepts the certificates of an authority on the token`(_ kind: KeySpecification) throws {
            try needs(kind)
            let test = try TestKeychain()
            let keychain = test.keychain
            var root = try IdentitySpecification.authority("Root")
            root.key = kind
            let authority = try keychain.identities.create("root", root, issuer: SelfIssuer()).identity
            #expect(try authority.certificate().isSelfSigned && authority.certificate().isCA)
            let made = try keychain.identities.create(
                "web", .server("web.example", key: kind, lifetime: 7 * 86_400),
                issuer: AuthorityIssuer(authority, in: keychain))
            let certificate = try made.identity.certificate()
            #expect(!made.isUnchanged && made.kept.isEmpty && made.chain.isComplete && made.chain.certificates.count == 2)
            #expect(try verifies(certificate, by: authority.certificate(), host: "web.example") .hasSuffix(": OK\n"))
            #expect(abs(certificate.notAfter.timeIntervalSinceNow - 7 * 86_400) < 60)
            #expect(made.identity.renewalPolicy?.issuer == .authority("root", keychain: nil))
            #expect(made.identity.key.label == "web" && !made.identity.key.isExtractable)
            #expect(try keychain.find(.keys).compactMap(\.label).sorted() == ["root", "root", "web", "web"])
            #expect(!(try keychain.identities.check(made.identity)).contains { $0.state == .bad })
            #expect(code { _ = try keychain.identities.create("web", .server("x"), issuer: SelfIssuer()) } == .duplicateItem)
        }

        @Test(.needs(.makesECKeys, .storesCertificates)) func `exactly one of several simultaneous creations and imports of the same name succeeds`() async throws {
            let test = try TestKeychain()
            let keychains = try (0..<4).map { _ in try test.reopen() }
            let issued = try (0..<2).map { _ in try TestCertificate("web") }
            let made = await withTaskGroup(of: Bool.self) { group in
                for (index, keychain) in keychains.enumerated() {
                    group.addTask {
                        do {
                            if index % 2 == 0 {
                                _ = try await keychain.identities.create("web", .server("web"), issuer: SelfIssuer())
                            } else {
                                let files = issued[index / 2]
                                _ = try await keychain.identities.importKeyPair(
                                    key: PrivateKey.load(files.keyPEM), certificate: Certificate(der: files.der),
                                    label: "web")
                            }
                            return true
                        } catch {
                            return false
                        }
                    }
                }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(made == 1)
            #expect(try await test.reopen().find(.identities).count == 1)
        }

        /// A self-signing issuer that chooses the common name itself and certifies no other name than its host.
        private struct Choosing: CertificateIssuer {
            let host: String
            var issuerDescription: IssuerDescription { .itself }

            func requestedSubject(
                _ wanted: DistinguishedName, for names: [GeneralName], isAskedFor: Bool
            ) throws -> DistinguishedName {
                guard names == [.dns(host)] else { throw KeychainError(.invalidArgument, "not certified here.") }
                return try DistinguishedName(commonName: isAskedFor ? "first" : "next")
            }

            func issue(_ order: CertificateOrder) throws -> IssuedCertificate { try SelfIssuer().issue(order) }
        }

        @Test(.needs(.makesECKeys)) func `the issuer chooses the subject of a request`() async throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let issuer = Choosing(host: "web.example")
            let made = try await keychain.identities.create("web", .server("web.example"), issuer: issuer).identity
            #expect(try made.certificate().subject.commonName == "first")
            let renewed = try await keychain.identities.renew(made, issuer: issuer).identity
            #expect(try renewed.certificate().subject.commonName == "next")
        }

        @Test(.needs(.makesECKeys)) func `a request that the issuer refuses leaves no key`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let issuer = Choosing(host: "other.example")
            let result = code { _ = try keychain.identities.create("web", .server("web.example"), issuer: issuer) }
            #expect(result == .invalidArgument)
            #expect(try keychain.find(.keys).isEmpty)
        }

        /// An authority that issues the certificate and then fails.
        private struct Silent: CertificateIssuer {
            let keychain: Keychain
            var issuerDescription: IssuerDescription { .itself }

            func issue(_ order: CertificateOrder) throws -> IssuedCertificate {
                try keychain.add(CertificateItem(SelfIssuer().issue(order).certificate))
                throw KeychainError(.issuerFailed, "no answer.")
            }
        }

        @Test(.needs(.makesECKeys)) func `a failed creation removes its key unless a certificate for the key exists`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            var refused = try IdentitySpecification.server("web")
            refused.extensions.basicConstraints = BasicConstraints(isAuthority: false, pathLength: 3)
            #expect(code { _ = try keychain.identities.create("web", refused, issuer: SelfIssuer()) } == .invalidArgument)
            #expect(try keychain.find(.keys).isEmpty)
            #expect(
                code { _ = try keychain.identities.create("web", .server("web"), issuer: Silent(keychain: keychain)) }
                    == .issuerFailed)
            #expect(try keychain.find(.identities).count == 1)
        }

        @Test(.needs(.makesECKeys)) func `a certificate does not outlive its authority, and a leaf cannot issue`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let root = try keychain.identities.create(
                "root", .authority("Root", lifetime: 3600), issuer: SelfIssuer()).identity
            let web = try keychain.identities.create("web", .server("web"), issuer: AuthorityIssuer(root, in: keychain))
            #expect(try web.identity.certificate().notAfter == root.certificate().notAfter)
            let issuer = AuthorityIssuer(web.identity, in: keychain)
            #expect(code { _ = try keychain.identities.create("x", .server("x"), issuer: issuer) } == .invalidArgument)
            // No key of the failed attempt is left.
            #expect(try keychain.find(.keys).allSatisfy { ["root", "web"].contains($0.label) })
        }

        @Test(.needs(.makesECKeys)) func `a certificate is installed with its chain, and installing it again changes nothing`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let authority = try TestAuthority()
            let key = try keychain.keys.generate(.p256, label: "api")
            let request = try keychain.keys.certificationRequest(
                for: key, subject: DistinguishedName(commonName: "api"),
                extensions: .endEntity([.dns("api.example")], [.serverAuth], key: .ec(.p256)))
            let certificate = try authority.issue(request)
            let chain = [try authority.certificate("root"), try authority.certificate("r10")]
            let first = try keychain.identities.install("api", certificate: certificate, chain: chain)
            #expect(!first.isUnchanged && first.chain.certificates.count == 3 && first.chain.isComplete)
            #expect(first.addedCertificates.map(\.label) == ["R10"])
            #expect(try keychain.find(.certificates).count == 2)
            let again = try keychain.identities.install("api", certificate: certificate, chain: chain)
            #expect(again.isUnchanged && again.kept.isEmpty)
            #expect(try keychain.only(.identity(label: "api")).der == certificate.der)
        }

        @Test(.needs(.makesECKeys)) func `a certificate for another key is refused, and nothing is changed`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            _ = try keychain.keys.generate(.p256, label: "api")
            let foreign = try Certificate(der: TestCertificate("api").der)
            let error = #expect(throws: KeychainError.self) {
                try keychain.identities.install("api", certificate: foreign, fileName: "api.crt")
            }
            #expect(error?.code == .identityMismatch)
            #expect(error?.message == "api.crt was not issued for key \"api\": public keys differ.")
            #expect(error?.hint?.hasSuffix("That key is not in the keychain either.") == true)
            #expect(code { try keychain.identities.install("web", certificate: foreign) } == .itemNotFound)
            #expect(try keychain.find(.certificates).isEmpty && keychain.find(.keys).count == 2)
        }

        @Test(.needs(.makesECKeys), arguments: [RenewalKey.same, .new(nil), .new(.ed25519)])
        func `a renewed identity keeps its name, and the version before is kept`(_ key: RenewalKey) throws {
            if case .new(let kind?) = key { try needs(kind) }
            let test = try TestKeychain()
            let keychain = test.keychain
            let first = try keychain.identities.create("web", .server("web.example", lifetime: 86_400), issuer: SelfIssuer())
                .identity
            try keychain.identities.prefer(first, for: "https://web.example")
            let old = try first.certificate()
            let renewal = try keychain.identities.renew(first, key: key, lifetime: 5 * 86_400, issuer: SelfIssuer())
            let new = try renewal.identity.certificate()
            #expect(renewal.kept.count == 1 && renewal.identity.label == "web")
            #expect(new.subject == old.subject && new.dnsNames == old.dnsNames && new.notAfter > old.notAfter)
            #expect((new.publicKey == old.publicKey) == (key == .same))
            if key == .new(.ed25519) { #expect(new.publicKey.algorithm == .ed25519) }
            #expect(try test.reopen().only(.identity(label: "web")).der == new.der)
            let versions = try keychain.identities.versions(of: "web")
            #expect(versions.map(\.der) == [new.der, old.der])
            #expect(versions[1].label?.hasPrefix("web@20") == true && versions[1].nameOfVersion == "web")
            // The old version still works, and the preferences move with the name.
            for version in versions { #expect(!(try keychain.identities.check(version)).contains { $0.state == .bad }) }
            #expect(try keychain.identities.preferred(for: "https://web.example/a")?.der == new.der)
            #expect(versions[1].renewalPolicy == nil && versions[0].renewalPolicy?.renewsKey == (key != .same))
            #expect(versions[0].key.label == "web")

            // Returns to the old version and then to the new one.
            #expect(try keychain.identities.use(versions[1]).identity.der == old.der)
            #expect(try keychain.only(.identity(label: "web")).der == old.der)
            #expect(try keychain.identities.preferred(for: "https://web.example/a")?.der == old.der)
            #expect(code { try keychain.identities.retire(keychain.only(.identity(label: "web"))) } == .refused)
            try keychain.identities.use(keychain.identities.versions(of: "web")[1])
            #expect(try keychain.only(.identity(label: "web")).der == new.der)

            try keychain.identities.retire(keychain.identities.versions(of: "web")[1])
            #expect(try keychain.find(.identities).map(\.der) == [new.der])
            #expect(try keychain.find(.keys).count == 2)
            #expect(!(try keychain.identities.check(keychain.only(.identity(label: "web")))).contains { $0.state == .bad })
        }

        @Test(.needs(.makesECKeys)) func `a renewal does not touch an identity whose name has another Unicode composition`() throws {
            let test = try TestKeychain()
            let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
            for name in [composed, decomposed] {
                _ = try test.keychain.identities.create(name, .server("web"), issuer: SelfIssuer())
            }
            func versions(_ name: String) throws -> [Data] { try test.keychain.identities.versions(of: name).map(\.der) }
            let others = try versions(decomposed)
            let identity = try test.keychain.only(.identity(label: composed))
            let renewal = try test.keychain.identities.renew(identity, key: .new(nil), issuer: SelfIssuer())
            #expect(try versions(composed) == [renewal.identity.der, identity.der])
            #expect(try versions(decomposed) == others && others.count == 1)
            #expect(try test.keychain.only(.identity(label: decomposed)).der == others[0])
        }

        /// An issuer that reports when it is asked, and waits until it may answer.
        private struct Slow: CertificateIssuer {
            let isAsked = Lock(false)
            let mayAnswer = Lock(false)
            var issuerDescription: IssuerDescription { .itself }

            func issue(_ order: CertificateOrder) throws -> IssuedCertificate {
                isAsked.withLock { $0 = true }
                while !mayAnswer.withLock({ $0 }) { usleep(5_000) }
                return try SelfIssuer().issue(order)
            }
        }

        @Test(.needs(.makesECKeys)) func `a renewal that waited for another one of the same identity fails`() throws {
            let test = try TestKeychain()
            let identity = try test.keychain.identities.create("web", .server("web"), issuer: SelfIssuer()).identity
            let issuer = Slow()
            let outcomes = Lock<[String]>([])
            func renew(_ name: String, _ issuer: any CertificateIssuer) throws -> POSIXThread.Joinable {
                let keychain = try test.reopen()
                return try #require(POSIXThread.start("renewal") {
                    let outcome: String
                    do {
                        outcome = try keychain.identities.renew(identity, issuer: issuer).kept.isEmpty ? "not kept" : "renewed"
                    } catch { outcome = (error as? KeychainError)?.code.rawValue ?? "\(error)" }
                    outcomes.withLock { $0.append("\(name) \(outcome)") }
                })
            }
            let first = try renew("first", issuer)
            while !issuer.isAsked.withLock({ $0 }), outcomes.withLock({ $0.isEmpty }) { usleep(5_000) }
            let second = try renew("second", SelfIssuer())
            // The second renewal has reached the lock when the lock file is open twice.
            while outcomes.withLock({ $0.isEmpty }), try openFiles(below: test.directories.state, "order-locks") < 2 {
                usleep(1_000)
            }
            issuer.mayAnswer.withLock { $0 = true }
            first.join()
            second.join()
            #expect(outcomes.withLock { $0.sorted() } == ["first renewed", "second db.busy"])
            #expect(try test.keychain.identities.versions(of: "web").count == 2)
        }

        /// An issuer that runs another operation before it issues.
        private struct Overtaken: CertificateIssuer {
            let meanwhile: @Sendable () throws -> Void
            var issuerDescription: IssuerDescription { .itself }

            func issue(_ order: CertificateOrder) throws -> IssuedCertificate {
                try meanwhile()
                return try SelfIssuer().issue(order)
            }
        }

        @Test(.needs(.importsECKeys, .makesECKeys), arguments: [RenewalKey.same, .new(nil)], ["import", "install", "use"])
        func `a name that was reassigned while a certificate was issued keeps its new identity`(
            _ key: RenewalKey, way: String
        ) throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let first = try keychain.identities.create("web", .server("web"), issuer: SelfIssuer()).identity
            let identity = try keychain.identities.renew(first, key: .new(nil), issuer: SelfIssuer()).identity
            let other = try test.reopen()
            let issuer = Overtaken {
                switch way {
                case "import":
                    let files = try TestCertificate("web")
                    _ = try other.identities.importKeyPair(
                        key: PrivateKey.load(files.keyPEM), certificate: Certificate(der: files.der), label: "web",
                        isReplacing: true)
                case "install":
                    let current = try other.only(.identity(label: "web"))
                    let request = try other.keys.certificationRequest(
                        for: current, subject: DistinguishedName(commonName: "web"),
                        extensions: .endEntity([.dns("web")], [.serverAuth], key: .ec(.p256)))
                    _ = try other.identities.install("web", certificate: TestAuthority().issue(request))
                default:
                    let before = try #require(try other.identities.versions(of: "web").last)
                    _ = try other.identities.use(before)
                }
            }
            let error = #expect(throws: KeychainError.self) {
                try keychain.identities.renew(identity, key: key, issuer: issuer)
            }
            #expect(error?.code == .vaultBusy && error?.message.contains("is not installed") == true, "\(error as Any)")
            let versions = try test.reopen().identities.versions(of: "web")
            #expect(versions.count == (way == "use" ? 2 : 3) && versions[0].der != identity.der)
            #expect(versions.count { $0.nameOfVersion == nil } == 1)
            #expect((versions[0].der == first.der) == (way == "use"))
            // The key of the certificate that this process requested itself is removed.
            #expect(try keychain.find(.keys.keyClass(.private)).count == (way == "import" ? 3 : 2))
        }

        /// Returns the number of this process's open files in a directory with a given name.
        private func openFiles(below directory: URL, _ name: String) throws -> Int {
            let place = directory.resolvingSymlinksInPath().path
            return try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count { descriptor in
                // The descriptor may have been closed since the directory was read.
                let path = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")) ?? ""
                return path.hasPrefix(place) && path.contains("/\(name)/")
            }
        }

        @Test(.needs(.makesECKeys)) func `versions that expire on the same day have different names`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            var identity = try keychain.identities.create("web", .server("web"), issuer: SelfIssuer()).identity
            var kept: Set<String> = []
            for _ in 0..<3 {
                let renewal = try keychain.identities.renew(identity, issuer: SelfIssuer())
                kept.formUnion(renewal.kept)
                identity = renewal.identity
            }
            #expect(kept.count == 3 && kept.allSatisfy { IdentityVersion.isVersion($0, of: "web") })
            #expect(try keychain.identities.versions(of: "web").count == 4 && keychain.find(.keys).count == 2)
        }

        @Test(.needs(.makesECKeys)) func `the newest certificate for the key is used if a program returns several`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let authority = try TestAuthority()
            let made = try keychain.identities.create(
                "web", .server("web"), issuer: CommandIssuer(authority.command())).identity
            try authority.directory.write(made.certificate().pem.utf8, to: "old.pem")
            // Times in certificates are whole seconds.
            Thread.sleep(forTimeInterval: 1.1)
            let script = "cat \(authority.file("old.pem")); exec /bin/sh -e \(authority.file("issue.sh"))"
            let renewed = try keychain.identities.renew(made, issuer: CommandIssuer(["/bin/sh", "-ec", script]))
            #expect(renewed.identity.der != made.der && renewed.kept.count == 1)
        }

        @Test(.needs(.makesECKeys)) func `an external program issues certificates, and its failures are reported`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let authority = try TestAuthority()
            let issuer = try CommandIssuer(authority.command())
            let made = try keychain.identities.create("web", .server("web"), issuer: issuer)
            #expect(try made.identity.certificate().issuer.commonName == "R10")
            #expect(made.addedCertificates.map(\.label) == ["R10"])
            #expect(try keychain.identities.renew(made.identity, key: .new(nil), issuer: issuer).kept.count == 1)
            let specification = try IdentitySpecification.server("x")
            for command in [
                ["false"], ["echo", "no certificate"], ["cat", authority.file("r10.pem")],
            ] {
                #expect(code {
                    _ = try keychain.identities.create("x", specification, issuer: try CommandIssuer(command))
                } == .issuerFailed, "\(command)")
            }
            #expect(code {
                _ = try keychain.identities.create(
                    "x", specification, issuer: try CommandIssuer(["sleep", "60"], timeout: .milliseconds(200)))
            } == .timedOut)
            #expect(code {
                _ = try keychain.identities.create("x", specification, issuer: try CommandIssuer(["/no/such/program"]))
            } == .fileUnavailable)
            // One key is left, and the next attempt uses it.
            let waiting = try keychain.find(.key(label: "x").keyClass(.private))
            #expect(waiting.count == 1)
            let late = try keychain.identities.create("x", specification, issuer: issuer).identity
            #expect(late.key.publicKeyHash == waiting[0].publicKeyHash)
            #expect(try keychain.find(.key(label: "x").keyClass(.private)).count == 1)
        }

        @Test(.needs(.makesECKeys)) func `a renewal for a new key reuses the key of a failed renewal, but not one that was replaced`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let authority = try TestAuthority()
            func keys() throws -> Set<Data?> { Set(try keychain.find(.keys.keyClass(.private)).map(\.publicKeyHash)) }
            let first = try keychain.identities.create("web", .server("web"), issuer: SelfIssuer()).identity
            let renewal = try keychain.identities.renew(first, key: .new(nil), issuer: SelfIssuer())
            // Deleting the certificate leaves its key.
            let version = try #require(renewal.kept.first)
            try keychain.delete(keychain.only(.certificate(label: version)))
            let before = try keys()
            #expect(before.count == 2)
            let next = try keychain.identities.renew(renewal.identity, issuer: SelfIssuer()).identity
            #expect(!before.contains(next.key.publicKeyHash))
            // The key of a failed renewal is reused, whichever issuer failed.
            #expect(code { _ = try keychain.identities.renew(next, issuer: CommandIssuer(["false"])) } == .issuerFailed)
            let waiting = try keys().subtracting(before).subtracting([next.key.publicKeyHash])
            #expect(waiting.count == 1)
            let last = try keychain.identities.renew(next, issuer: CommandIssuer(authority.command())).identity
            #expect(waiting.contains(last.key.publicKeyHash))
            #expect(try keys().count == 4)
        }

        @Test(.needs(.makesECKeys)) func `names of versions are refused as names of identities`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            for name in ["", "web@2026-01-01", "web@2026-01-01.2"] {
                #expect(
                    code { _ = try keychain.identities.create(name, .server("x"), issuer: SelfIssuer()) } == .invalidArgument)
            }
            _ = try keychain.identities.create("ops@example.org", .server("x"), issuer: SelfIssuer())
            // An existing key with the name is used if it has the requested type.
            let lonely = try keychain.keys.generate(.p384, label: "lonely")
            #expect(
                code { _ = try keychain.identities.create("lonely", .server("x"), issuer: SelfIssuer()) } == .duplicateItem)
            let found = try keychain.identities.create("lonely", .server("x", key: .p384), issuer: SelfIssuer()).identity
            #expect(found.key.publicKeyHash == lonely.publicKeyHash)
        }
    }
}
