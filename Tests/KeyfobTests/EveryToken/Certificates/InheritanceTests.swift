import Foundation
import KeyfobOpenSSL
import TestSupport
import Testing

@testable import Keyfob

extension EveryToken {
    @Suite struct InheritanceTests {
        private func criteria(_ itemClass: ItemClass, _ attributes: ItemAttributes) -> Criteria {
            var criteria = Criteria(itemClass, attributes)
            criteria.includesSynchronizable = true
            return criteria
        }

        private func privateKey(_ hash: Data) -> Criteria {
            criteria(.key, [.applicationLabel: .data(hash), .keyClass: .number(KeyClass.private.rawValue)])
        }

        /// Returns the access groups of the matching items, sorted.
        private func groups(_ keychain: Keychain, _ criteria: Criteria) throws -> [String] {
            try keychain.findItems(criteria).map { $0.attributes[.accessGroup]?.text ?? "none" }.sorted()
        }

        /// Sets attributes of an identity's certificate and key.
        private func give(_ identity: Identity, _ attributes: ItemAttributes, in keychain: Keychain) throws {
            let hash = try #require(identity.key.publicKeyHash)
            _ = try keychain.update(criteria(.certificate, [.publicKeyHash: .data(hash)]), attributes)
            _ = try keychain.update(privateKey(hash), attributes)
        }

        private func hash(_ identity: Identity) throws -> Data { try #require(identity.key.publicKeyHash) }

        @Test(.needs(.makesECKeys), arguments: [RenewalKey.same, .new(nil)])
        func `the next version has the access attributes of the version before`(_ key: RenewalKey) throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let first = try keychain.identities.create("web", .server("web"), issuer: SelfIssuer()).identity
            let said: ItemAttributes = [
                .accessGroup: "web", .synchronizable: 1, .accessible: "aku", .comment: "of the web", .alias: "w",
            ]
            try give(first, said, in: keychain)
            let found = try #require(try keychain.findItems(criteria(.identity, [.label: "web"])).first)
            let renewed = try keychain.identities.renew(Identity(item: found), key: key, issuer: SelfIssuer()).identity
            let again = try test.reopen()
            #expect(try (hash(renewed) == hash(first)) == (key == .same))
            var seen = criteria(.identity, [.label: "web"])
            seen.attributes.merge(said)
            seen.accessGroups = ["web"]
            seen.services = ServicesRules(defaults: [:])
            #expect(try again.findItems(seen).map(\.certificateDER) == [renewed.der])
            // Other access groups do not see it.
            seen.attributes[.accessGroup] = nil
            seen.accessGroups = ["", "other"]
            #expect(try again.findItems(seen).isEmpty)
            // The version before keeps everything except its name.
            #expect(try groups(again, criteria(.certificate, said)) == ["web", "web"])
            #expect(try groups(again, privateKey(hash(first))) == ["web"])
            // The access group stays the same through later versions and a return to an earlier one.
            let before = try #require(
                try again.findItems(criteria(.identity, [:])).first { $0.certificateDER == first.der })
            #expect(try again.identities.use(Identity(item: before)).identity.der == first.der)
            #expect(try groups(again, criteria(.certificate, [:])) == ["web", "web"])
            #expect(
                try groups(again, privateKey(hash(first))) == ["web"]
                    && groups(again, privateKey(hash(renewed))) == ["web"])
        }

        @Test(.needs(.makesECKeys)) func `attributes that apply to one certificate or key are not inherited`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let first = try keychain.identities.create("web", .server("web"), issuer: SelfIssuer()).identity
            let day = Date(timeIntervalSinceReferenceDate: 86_400)
            _ = try keychain.update(
                criteria(.certificate, [:]), [.trustedUsages: "server", .accessGroup: "web", .systemBound: 1])
            _ = try keychain.update(
                privateKey(hash(first)),
                [.startDate: .date(day), .endDate: .date(day), .canSign: 0, .applicationTag: "tag"])
            let renewed = try keychain.identities.renew(
                keychain.only(.identity(label: "web")), key: .new(.p384), issuer: SelfIssuer()).identity
            for name: AttributeName in [.trustedUsages, .startDate, .endDate] {
                #expect(renewed.attributes[name] == nil, "\(name)")
            }
            #expect(renewed.attributes[.canSign] == 1 && renewed.attributes[.keySizeInBits] == 384)
            #expect(renewed.attributes[.systemBound] == nil && renewed.attributes[.applicationTag] == "tag")
            #expect(try groups(keychain, criteria(.certificate, [.systemBound: 1])) == ["web", "web"])
            #expect(try groups(keychain, privateKey(hash(renewed))) == ["none"])
        }

        @Test(.needs(.makesECKeys)) func `a certificate installed with its authority for an existing key inherits the access group`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let authority = try TestAuthority()
            let first = try keychain.identities.create("web", .server("web"), issuer: SelfIssuer()).identity
            try give(first, [.accessGroup: "web"], in: keychain)
            let label = IdentityVersion.label("web", Date()) { _ in false }
            let key = try keychain.keys.generate(.p256, label: label)
            let request = try keychain.keys.certificationRequest(
                for: key, subject: DistinguishedName(commonName: "web"),
                extensions: .endEntity([.dns("web")], [.serverAuth], key: .ec(.p256)))
            let installed = try keychain.identities.install(
                "web", certificate: authority.issue(request), chain: [authority.certificate("r10")])
            #expect(installed.addedCertificates.map(\.label) == ["R10"])
            #expect(try groups(keychain, criteria(.certificate, [:])) == ["web", "web", "web"])
            #expect(try groups(keychain, privateKey(#require(key.publicKeyHash))) == ["web"])
            // The attributes of the existing key stay, and the access group is added.
            let other = try keychain.keys.generate(.p256, label: IdentityVersion.label("web", Date()) { $0 == label })
            let hash = try #require(other.publicKeyHash)
            _ = try keychain.update(privateKey(hash), [.accessGroup: "mine", .accessible: "ck"])
            _ = try keychain.identities.install(
                "web", certificate: authority.issue(
                    keychain.keys.certificationRequest(
                        for: other, subject: DistinguishedName(commonName: "web"),
                        extensions: .endEntity([.dns("web")], [.serverAuth], key: .ec(.p256)))))
            #expect(try groups(keychain, privateKey(hash)) == ["mine", "web"])
            #expect(try Set(keychain.findItems(privateKey(hash)).map { $0.attributes[.label]?.text }) == [other.label])
        }

        @Test(.needs(.importsECKeys)) func `an imported version inherits the access attributes`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let first = try keychain.identities.create("web", .server("web"), issuer: SelfIssuer()).identity
            try give(first, [.accessGroup: "web", .accessible: "ck"], in: keychain)
            let files = try TestCertificate("web")
            let imported = try keychain.identities.importKeyPair(
                key: PrivateKey.load(files.keyPEM), certificate: Certificate(der: files.der), label: "web",
                isReplacing: true)
            #expect(try groups(keychain, criteria(.certificate, [.accessible: "ck"])) == ["web", "web"])
            #expect(try groups(keychain, privateKey(hash(imported.identity))) == ["web"])
            // An identity with another name inherits nothing.
            let others = try TestCertificate("other")
            let other = try keychain.identities.importKeyPair(
                key: PrivateKey.load(others.keyPEM), certificate: Certificate(der: others.der), label: "other")
            #expect(try groups(keychain, privateKey(hash(other.identity))) == ["none"])
        }

        @Test(.needs(.importsECKeys, .storesCertificates), arguments: [false, true])
        func `the access groups of an identity see an authority that existed before`(isImported: Bool) throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let authority = try TestAuthority()
            let r10 = try authority.certificate("r10")
            _ = try keychain.add(CertificateItem(r10))
            let all = criteria(.certificate, [.label: "R10"])
            _ = try keychain.update(all, [.accessGroup: "other", .comment: "theirs"])
            let first = try keychain.identities.create("web", .server("web"), issuer: SelfIssuer()).identity
            try give(first, [.accessGroup: "web", .accessible: "ck"], in: keychain)
            func renew() throws {
                if isImported {
                    let key = try PrivateKey.load(TestCertificate("web").keyPEM)
                    let request = try UnsignedRequest(
                        subject: DistinguishedName(commonName: "web"), publicKey: key.publicKey,
                        extensions: .endEntity([.dns("web")], [.serverAuth], key: key.publicKey.algorithm)
                    ).signed { Array(try key.sign($0, using: $1)) }
                    _ = try keychain.identities.importKeyPair(
                        key: key, certificate: authority.issue(request), chain: [r10], label: "web", isReplacing: true)
                } else {
                    _ = try keychain.identities.renew(
                        keychain.only(.identity(label: "web")), issuer: CommandIssuer(authority.command()))
                }
            }
            for _ in 0..<2 {
                try renew()
                #expect(try groups(keychain, all) == ["other", "web"])
            }
            // The previous owner keeps the item, with its own attributes.
            let theirs = try keychain.findItems(criteria(.certificate, [.label: "R10", .accessGroup: "other"]))
            #expect(theirs.map { $0.attributes[.comment] } == ["theirs"])
            let ours = try keychain.findItems(criteria(.certificate, [.label: "R10", .accessGroup: "web"]))
            #expect(ours.map { $0.attributes[.accessible] } == ["ck"] && ours[0].attributes[.comment] == nil)
            // The same holds for an identity without an access group.
            let none = try keychain.identities.create("none", .server("none"), issuer: CommandIssuer(authority.command()))
            #expect(none.addedCertificates.isEmpty)
            #expect(try groups(keychain, all) == ["none", "other", "web"])
        }

        @Test(.needs(.makesECKeys)) func `an authority that is synchronizable with its identity is part of the chain`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let authority = try TestAuthority()
            let first = try keychain.identities.create("web", .server("web"), issuer: SelfIssuer()).identity
            try give(first, [.accessGroup: "web", .synchronizable: 1], in: keychain)
            let found = try #require(try keychain.findItems(criteria(.identity, [.label: "web"])).first)
            let renewed = try keychain.identities.renew(Identity(item: found), issuer: CommandIssuer(authority.command()))
            let certificate = try renewed.identity.certificate()
            #expect(try keychain.certificates.chain(of: certificate).certificates == [certificate, authority.certificate("r10")])
        }

        @Test(.needs(.makesECKeys), arguments: [RenewalKey.same, .new(nil)])
        func `a renewal renames only the versions of the same owner`(_ key: RenewalKey) throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            var made: [String: Identity] = [:]
            for group in ["one", "two"] {
                let identity = try keychain.identities.create(group, .server(group), issuer: SelfIssuer()).identity
                try give(identity, [.accessGroup: .string(group)], in: keychain)
                made[group] = identity
            }
            _ = try keychain.update(criteria(.certificate, [:]), [.label: "web"])
            func find(_ group: String) throws -> [String: Data] {
                var labels: [String: Data] = [:]
                for item in try keychain.findItems(criteria(.identity, [.accessGroup: .string(group)])) {
                    labels[item.attributes[.label]?.text ?? ""] = item.certificateDER
                }
                return labels
            }
            let theirs = try find("two")
            let found = try keychain.findItems(criteria(.identity, [.label: "web", .accessGroup: "one"]))
            let old = Identity(item: try #require(found.first))
            let renewed = try keychain.identities.renew(old, key: key, issuer: SelfIssuer())
            #expect(renewed.kept.count == 1 && theirs.keys.sorted() == ["web"])
            #expect(try find("two") == theirs)
            #expect(try find("one")["web"] == renewed.identity.der && find("one").count == 2)
            // A renewal based on the state before that one fails.
            #expect(code { _ = try keychain.identities.renew(old, key: key, issuer: SelfIssuer()) } == .vaultBusy)
            #expect(try find("two") == theirs)
            #expect(try find("one")["web"] == renewed.identity.der && find("one").count == 2)
            let again = try keychain.identities.renew(renewed.identity, key: key, issuer: SelfIssuer())
            #expect(try find("two") == theirs)
            #expect(try find("one")["web"] == again.identity.der && find("one").count == 3)
            // The same holds for a return to the earlier version.
            let versions = try keychain.findItems(criteria(.identity, [.accessGroup: "one"]))
            let before = try #require(versions.first { $0.certificateDER == old.der })
            #expect(try keychain.identities.use(Identity(item: before)).kept.count == 1)
            #expect(try find("two") == theirs)
            #expect(try find("one")["web"] == old.der && find("one").count == 3)
            // Each owner has its own versions, whichever of them is used for the search.
            for version in try keychain.identities.versions(of: "web") {
                let isTheirs = theirs["web"] == version.der
                let own = try keychain.identities.versions(of: version)
                #expect(own.count == (isTheirs ? 1 : 3) && own.contains { $0.der == version.der })
                #expect(own.contains { theirs["web"] == $0.der } == isTheirs)
            }
        }
    }
}
