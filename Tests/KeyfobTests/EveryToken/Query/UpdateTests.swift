import Foundation
import KeyfobPrimitives
import KeyfobTesting
import Testing

@testable import Keyfob

extension EveryToken {
    @Suite struct UpdateTests {
        @Test func `an update to an existing primary key changes nothing`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            for account in ["a", "b", "c"] {
                try keychain.add(GenericPassword(service: "s", account: account), secret: SecretBytes(account))
            }
            let before = try keychain.find(.genericPasswords).map(\.attributes)
            // The first row could take the key, but the second cannot, so the first is rolled back.
            #expect(code { try keychain.update(.genericPassword(service: "s"), [.account: "new"], secret: SecretBytes("x")) }
                == .duplicateItem)
            #expect(code { try keychain.update(.genericPassword(account: "a"), [.account: "b"]) } == .duplicateItem)
            #expect(try keychain.find(.genericPasswords).map(\.attributes) == before)
            for item in try keychain.find(.genericPasswords) {
                #expect(try keychain.secret(of: item) == SecretBytes(item.account))
            }
            #expect(code { try keychain.update(.genericPassword(service: "z"), [.comment: "x"]) } == .itemNotFound)
            #expect(code { try keychain.update(.genericPassword(service: "s"), [.server: "x"]) } == .noSuchAttribute)
        }

        @Test func `a new primary key keeps reference and secret, and the modification date grows by 1 ms or more`() throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            var item = try keychain.add(GenericPassword(service: "old", account: "a"), secret: SecretBytes("secret"))
            let reference = try #require(item.reference)
            for index in 0..<5 {
                let before = try #require(item.modificationDate)
                item.service = "new\(index)"
                item = try keychain.write(item)
                #expect(item.reference == reference && item.creationDate != nil)
                #expect(try #require(item.modificationDate).timeIntervalSince(before) >= 0.000_999)
            }
            #expect(try keychain.find(.genericPassword(service: "old")).isEmpty)
            let found = try keychain.only(.genericPassword(service: "new4"))
            #expect(found.reference == reference)
            #expect(try keychain.secret(of: found) == SecretBytes("secret"))
            #expect(try test.reopen().item(reference).attributes == found.attributes)
        }

        @Test func `two changes of different attributes of an item do not undo each other`() throws {
            let test = try TestKeychain()
            try test.keychain.add(GenericPassword(service: "s"), secret: nil)
            var mine = try test.keychain.only(.genericPassword(service: "s"))
            var theirs = try test.reopen().only(.genericPassword(service: "s"))
            mine.comment = "mine"
            theirs.kind = "theirs"
            try test.keychain.write(mine)
            let last = try test.reopen().write(theirs)
            #expect(last.comment == "mine" && last.kind == "theirs")
        }

        @Test func `a removed attribute is gone, and a deleted item cannot be written back`() throws {
            let test = try TestKeychain()
            var item = try test.keychain.add(GenericPassword(service: "s", label: "l"), secret: nil)
            item.label = nil
            item.comment = "c"
            item = try test.keychain.write(item)
            #expect(item.label == nil && item.comment == "c")
            try test.keychain.delete(item)
            item.comment = "d"
            #expect(code { try test.keychain.write(item) } == .itemNotFound)
            #expect(code { try test.keychain.delete(item) } == .itemNotFound)
            #expect(code { _ = try test.keychain.secret(of: item) } == .itemNotFound)
        }
    }
}
