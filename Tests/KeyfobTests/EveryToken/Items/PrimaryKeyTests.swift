import Foundation
import KeyfobPrimitives
import KeyfobTesting
import KeyfobOpenSSL
import Testing

@testable import Keyfob

extension EveryToken {
    @Suite struct PrimaryKeyTests {
        private func keys() throws -> VaultKeys {
            try VaultKeys(metadataKey: RandomBytes.secret(count: 32), vault: Data(count: 16))
        }

        private func sample(_ kind: ClassSchema.Kind) -> AttributeValue {
            switch kind {
            case .blob, .string: "x"
            case .data: .data(Data("x".utf8))
            case .number: 5
            case .date: .date(Date(timeIntervalSinceReferenceDate: 5))
            }
        }

        @Test(arguments: [
            (ItemClass.genericPassword, "agrp sync vwht tkid musr ggrp acct svce"),
            (.internetPassword, "agrp sync vwht tkid musr ggrp acct sdmn srvr ptcl atyp port path"),
            (.certificate, "agrp sync vwht tkid musr ggrp ctyp issr slnr"),
            (.key, "agrp sync vwht tkid musr ggrp kcls klbl atag crtr type bsiz esiz sdat edat"),
        ])
        func `each attribute of the primary key distinguishes items, and no other does`(
            row: (itemClass: ItemClass, names: String)
        ) throws {
            let keys = try keys()
            let expected = Set(row.names.split(separator: " ").map { AttributeName(rawValue: String($0)) })
            let empty = try keys.primaryKey(row.itemClass, [:])
            var seen: Set<Data> = [empty]
            for definition in ClassSchema.of(row.itemClass).definitions {
                let key = try keys.primaryKey(row.itemClass, [definition.name: sample(definition.kind)])
                #expect((key != empty) == expected.contains(definition.name), "\(definition.name)")
                #expect(definition.isPrimaryKey == expected.contains(definition.name))
                if definition.isPrimaryKey { #expect(seen.insert(key).inserted, "\(definition.name)") }
                // Absent and empty values are equal.
                let blank = try keys.primaryKey(
                    row.itemClass, [definition.name: ClassSchema.emptyValue(of: definition.kind)])
                #expect(blank == empty)
            }
        }

        @Test func `a value cannot be confused with parts of its neighbours`() throws {
            let keys = try keys()
            let one = try keys.primaryKey(.genericPassword, [.account: "ab", .service: "c"])
            let two = try keys.primaryKey(.genericPassword, [.account: "a", .service: "bc"])
            #expect(one != two)
            #expect(try keys.primaryKey(.genericPassword, [:]) != keys.primaryKey(.internetPassword, [:]))
            #expect(try keys.primaryKey(.genericPassword, [.account: "a"])
                == keys.primaryKey(.genericPassword, [.account: .data(Data("a".utf8))]))
        }

        @Test func `in the vault, too, a different key is added and an equal one is a duplicate`() throws {
            let test = try TestKeychain()
            let base: ItemAttributes = [.service: "s", .account: "a", .label: "l"]
            try test.keychain.add(Item(.genericPassword, base), secret: nil)
            let different: [ItemAttributes] = [
                [.service: "t", .account: "a"], [.service: "s", .account: "b"], [.service: "s"], [.account: "a"],
                [.service: "s", .account: "a", .accessGroup: "g"], [.service: "s", .account: "a", .synchronizable: true],
            ]
            for attributes in different { try test.keychain.add(Item(.genericPassword, attributes), secret: nil) }
            let same: [ItemAttributes] = [
                base, [.service: "s", .account: "a", .label: "other", .comment: "c"],
                [.service: .data(Data("s".utf8)), .account: .data(Data("a".utf8))],
                [.service: "s", .account: "a", .accessGroup: "", .synchronizable: 0], [.service: "s", .account: ""],
            ]
            for attributes in same {
                #expect(code { try test.keychain.add(Item(.genericPassword, attributes), secret: nil) } == .duplicateItem)
            }
            // Absent matches empty in searches, too.
            let none = try test.keychain.findItems(Criteria(.genericPassword, [.service: "s", .account: ""]))
            #expect(none.count == 1 && none.first?.attributes[.account] == nil)
            #expect(try test.keychain.findItems(Criteria(.genericPassword, [.service: ""])).count == 1)
        }
    }
}
