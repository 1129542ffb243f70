import Foundation
import GRDB
import KeyfobPrimitives
import KeyfobOpenSSL
import TestSupport
import Testing

@testable import Keyfob

extension EveryToken {
    @Suite struct ServicesRulesTests {
        private func criteria(_ itemClass: ItemClass, _ attributes: ItemAttributes = [:]) -> Criteria {
            var criteria = Criteria(itemClass, attributes)
            criteria.services = ServicesRules(defaults: [.accessible: "ak", .tombstone: 0])
            return criteria
        }

        @Test(.needs(.storesCertificates)) func `only the translator sees rows without an object as items`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let item = Item(.key, [.applicationTag: "tag", .keyClass: 2])
            _ = try keychain.vaultRows.addToVault(item, secret: SecretBytes("bytes"))
            #expect(code { _ = try keychain.vaultRows.addToVault(item, secret: nil) } == .duplicateItem)
            #expect(try keychain.find(.keys).isEmpty)
            let found = try keychain.findItems(criteria(.key, [.applicationTag: "tag"]))
            #expect(found.count == 1 && found[0].hasSecret && !found[0].isOnToken)
            #expect(try keychain.secret(of: found[0]) == SecretBytes("bytes"))
            #expect(try keychain.update(criteria(.key), [.label: "l"], secret: SecretBytes("new")) == 1)
            let changed = try keychain.findItems(criteria(.key, [.label: "l"]))
            #expect(try changed.first.map { try keychain.secret(of: $0) } == SecretBytes("new"))
            #expect(try keychain.delete(criteria(.key)) == 1)
            #expect(try keychain.findItems(criteria(.key)).isEmpty)
        }

        @Test func `a new secret can be computed from the existing one`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            try keychain.add(GenericPassword(service: "s", account: "a"), secret: SecretBytes("ours"))
            let passwords = criteria(.genericPassword)
            var times = 0
            try keychain.vaultRows.replace(changes: [.label: "l"], removing: []) {
                let item = try #require(try keychain.findItems(passwords).first)
                let read = try #require(try keychain.secret(of: item))
                times += 1
                if times == 1 { try keychain.update(passwords, [.comment: "c"], secret: SecretBytes("theirs")) }
                return [(item, .secret(SecretBytes(read.copyBytes() + Array(" and more".utf8))))]
            }
            let replaced = try #require(try keychain.findItems(passwords).first)
            #expect(try times == 2 && keychain.secret(of: replaced) == SecretBytes("theirs and more"))
            #expect(replaced.attributes[.comment] == "c" && replaced.attributes[.label] == "l")
        }

        @Test func `defaults are used for attributes that an item does not have`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            try keychain.add(GenericPassword(service: "s", account: "a"), secret: nil)
            #expect(try keychain.findItems(criteria(.genericPassword, [.accessible: "ak"])).count == 1)
            #expect(try keychain.findItems(criteria(.genericPassword, [.accessible: "ck"])).isEmpty)
            #expect(try keychain.findItems(Criteria(.genericPassword, [.accessible: "ak"])).isEmpty)
        }

        @Test func `a damaged row is skipped, makes room and can be removed`() throws {
            let test = try TestKeychain()
            for account in ["a", "b"] {
                try test.keychain.add(GenericPassword(service: "s", account: account), secret: nil)
            }
            try test.sql { try $0.execute(sql: "UPDATE item SET attributes_tag = zeroblob(16) WHERE id = 1") }
            #expect(code { _ = try test.keychain.find(.genericPasswords) } == .vaultDamaged)
            #expect(try test.keychain.findItems(criteria(.genericPassword)).count == 1)
            _ = try test.keychain.vaultRows.addToVault(Item(.genericPassword, [.service: "s", .account: "a"]), secret: nil)
            #expect(try test.keychain.find(.genericPasswords).count == 2)
            try test.sql { try $0.execute(sql: "UPDATE item SET attributes_tag = zeroblob(16)") }
            let named = criteria(.genericPassword, [.service: "s", .account: "b"])
            #expect(try test.keychain.delete(named) == 1)
            #expect(try test.keychain.delete(criteria(.genericPassword)) == 1)
        }

        @Test func `a tombstone keeps the primary key and nothing else`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let item = GenericPassword(service: "s", account: "a")
            try keychain.add(item, secret: SecretBytes("secret"))
            var leaving = criteria(.genericPassword)
            leaving.services?.leavesTombstones = true
            #expect(try keychain.delete(leaving) == 1)
            #expect(try keychain.find(.genericPasswords).isEmpty)
            let left = try keychain.findItems(criteria(.genericPassword, [.tombstone: 1]))
            #expect(left.count == 1 && left[0].attributes[.account] == "a" && !left[0].hasSecret)
            _ = try keychain.vaultRows.addToVault(item.item, secret: nil)
            #expect(try keychain.find(.genericPasswords).count == 1)
        }

        @Test(.needs(.importsECKeys, .storesCertificates)) func `one certificate is several items, and is removed from the token with the last`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            var item = CertificateItem(try Certificate(der: TestCertificate().der))
            _ = try keychain.tokenItems.addCertificates([item.item], sharesObjects: true)
            #expect(code { _ = try keychain.tokenItems.addCertificates([item.item], sharesObjects: true) } == .duplicateItem)
            item.accessGroup = "other"
            _ = try keychain.tokenItems.addCertificates([item.item], sharesObjects: true)
            #expect(code { try keychain.add(item) } == .duplicateItem)
            #expect(try keychain.find(.certificates).count == 2 && keychain.certificates.publicCertificates().count == 1)
            for group in ["other", ""] {
                #expect(try keychain.certificates.publicCertificates().count == 1)
                try keychain.delete(Criteria(.certificate, [.accessGroup: .string(group)]))
            }
            #expect(try keychain.certificates.publicCertificates().isEmpty)
        }

        @Test(.needs(.importsECKeys, .storesCertificates)) func `a certificate is searched by address, by part of its subject and by the caller's test`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            try keychain.add(CertificateItem(try Certificate(der: TestCertificate("alpha.example").der)))
            func count(_ change: (inout Criteria) -> Void) throws -> Int {
                var criteria = Criteria(.certificate)
                change(&criteria)
                return try keychain.findItems(criteria).count
            }
            #expect(try count { $0.subjectStartsWith = "alpha" } == 1 && count { $0.subjectStartsWith = "example" } == 0)
            #expect(try count { $0.subjectEndsWith = "example" } == 1 && count { $0.subjectEndsWith = "alpha" } == 0)
            #expect(try count { $0.subjectIs = "alpha.example" } == 1 && count { $0.subjectIs = "alpha" } == 0)
            #expect(try count { $0.emailAddress = "" } == 0 && count { $0.emailAddress = "a@example" } == 0)
            #expect(
                try count { $0.certificateTest = { _ in true } } == 1 && count { $0.certificateTest = { _ in false } } == 0)
        }

        @Test(arguments: [
            ("example.com", true), ("origin.example.com", true), ("ample.com", false), ("x.origin.example.com", false),
            ("", false),
        ])
        func `a server is in a domain by whole labels`(_ domain: String, _ isFound: Bool) throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            try keychain.add(InternetPassword(server: "origin.example.com", account: "a"), secret: nil)
            var criteria = Criteria(.internetPassword)
            criteria.serverDomain = domain
            #expect(try keychain.findItems(criteria).count == (isFound ? 1 : 0))
            criteria.itemClass = .genericPassword
            #expect(code { _ = try keychain.findItems(criteria) } == .invalidArgument)
        }

        @Test(.needs(.exportsKeys, .importsECKeys)) func `a key behind an item is replaced and the item stays the same`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let keys = try (0..<2).map { _ in try PrivateKey.generate(.ec(.p256)) }
            let item = try keychain.keys.add(keys[0], [.applicationTag: "t", .label: "old"], isExtractable: true)
            try keychain.vaultRows.replace(
                [(item.item, .privateKey(keys[1], isExtractable: true))], changes: [.label: "new"], removing: [])
            let found = try keychain.find(.keys.keyClass(.private))
            #expect(found.map(\.reference) == [item.reference] && found.map(\.label) == ["new"])
            #expect(try keychain.keys.export(found[0].item).publicKey == keys[1].publicKey)
        }
    }
}
