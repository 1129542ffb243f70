import Foundation
import Keyfob
import Testing

extension EveryToken {
    /// The third way: items that are found with wildcards, changed, and written back through their reference.
    @Suite("As items")
    struct ItemStyleTests {
        let test: TestKeychain
        var keychain: Keychain { test.keychain }

        init() throws {
            test = try TestKeychain()
            for account in ["one", "two", "three"] {
                try test.keychain.add(
                    GenericPassword(service: "foo", account: account), secret: SecretBytes(utf8: "secret of \(account)"))
            }
            try test.keychain.add(GenericPassword(service: "bar", account: "one"), secret: SecretBytes(utf8: "bar"))
        }

        @Test("A missing attribute is a wildcard")
        func wildcards() throws {
            #expect(try keychain.find(.genericPassword(service: "foo")).map(\.account) == ["one", "two", "three"])
            #expect(try keychain.find(.genericPassword(account: "one")).map(\.service) == ["foo", "bar"])
            #expect(try keychain.find(.genericPasswords).count == 4)
            #expect(try keychain.find(.genericPasswords.limit(2)).count == 2)
        }

        @Test("An item is written back even if its primary key changes, and keeps secret and reference")
        func writingBack() throws {
            var items = try keychain.find(.genericPassword(service: "foo"))
            let reference = try #require(items[0].reference)
            items[0].account = "another account"
            items[0].service = "elsewhere"
            items[0].comment = "moved"
            try keychain.write(items[0])
            let secret = try keychain.secret(of: items[0])
            #expect(secret == SecretBytes(utf8: "secret of one"))

            let found = try keychain.only(.genericPassword(service: "elsewhere"))
            #expect(found.reference == reference)
            #expect(found.account == "another account")
            #expect(found.comment == "moved")
            #expect(try keychain.item(PersistentReference(reference.data)).reference == reference)
        }

        @Test("An attribute that is removed from an item is gone after writing it back")
        func removing() throws {
            var item = try keychain.only(.genericPassword(service: "bar"))
            item.comment = "for a while"
            item = try keychain.write(item)
            #expect(item.comment == "for a while")
            item.comment = nil
            item = try keychain.write(item)
            #expect(item.comment == nil)
            #expect(try keychain.only(.genericPassword(service: "bar")).comment == nil)
        }

        @Test("A new secret is written with the item")
        func secrets() throws {
            let item = try keychain.only(.genericPassword(service: "bar"))
            try keychain.write(item, secret: SecretBytes(utf8: "different"))
            #expect(try keychain.secret(of: item) == SecretBytes(utf8: "different"))
        }
    }
}
