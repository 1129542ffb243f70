import Foundation
import GRDB
import KeyfobOpenSSL
import KeyfobPrimitives
import KeyfobTesting
import Testing
import TestSupport

@testable import Keyfob

extension EveryToken {
    /// The unencrypted modification date beside the sealed one. A program that can write the file can set it.
    @Suite struct ForgedDateTests {
        /// The latest possible date, January 1, 2090, and one before any calendar.
        private static let forgeries: [Int64] = [.max, 3_786_912_000_000, .min]

        private func forge(_ milliseconds: Int64, _ test: TestKeychain) throws {
            try test.sql { try $0.execute(sql: "UPDATE item SET modified = ?", arguments: [milliseconds]) }
        }

        private func only(_ query: Query<GenericPassword>, _ keychain: Keychain) throws -> Item {
            try keychain.only(query).item
        }

        /// Runs a change with the date forged: the item's next date is that of the change.
        private func expectDate(
            _ forgery: Int64, _ test: TestKeychain, of read: () throws -> Item, after change: () throws -> Void
        ) throws {
            let former = try #require(try read().attributes[.modificationDate]?.date)
            try forge(forgery, test)
            let start = Date()
            try change()
            let next = try #require(try read().attributes[.modificationDate]?.date)
            // By the millisecond, and one more if the clock has not moved.
            #expect(next.timeIntervalSince(start) > -0.01 && next.timeIntervalSinceNow < 0.01, "\(next)")
            #expect(next.timeIntervalSince(former) >= 0.000_999)
        }

        @Test(arguments: forgeries)
        func `a password that is changed or replaced is dated by the sealed date`(forgery: Int64) throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let query = Query<GenericPassword>.genericPassword(service: "s")
            try keychain.add(GenericPassword(service: "s", account: "a"), secret: SecretBytes("secret"))
            try expectDate(forgery, test, of: { try only(query, keychain) }) {
                try keychain.update(query, [.comment: "changed"])
            }
            try expectDate(forgery, test, of: { try only(query, keychain) }) {
                let item = try only(query, keychain)
                try keychain.vaultRows.replace([(item, .secret(SecretBytes("new")))], changes: [:], removing: [])
            }
        }

        @Test(.needs(.makesECKeys), arguments: forgeries)
        func `the same applies to the vault's row of a key on the token`(forgery: Int64) throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let reference = try #require(keychain.keys.generate(.p256, label: "key").reference)
            try expectDate(forgery, test, of: { try keychain.item(reference) }) {
                try keychain.update(Criteria(reference), [.applicationTag: "changed"])
            }
        }

        @Test(arguments: forgeries)
        func `the same applies to the tombstone of a removed item`(forgery: Int64) throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            try keychain.add(GenericPassword(service: "s", account: "a"), secret: SecretBytes("secret"))
            try forge(forgery, test)
            var criteria = Criteria(.genericPassword)
            criteria.services = ServicesRules(defaults: [.tombstone: 0])
            criteria.services?.leavesTombstones = true
            let start = Date()
            #expect(try keychain.delete(criteria) == 1)
            let milliseconds = try #require(test.sql { try Int64.fetchOne($0, sql: "SELECT modified FROM item") })
            let date = VaultRows.date(milliseconds)
            #expect(date.timeIntervalSince(start) > -0.01 && date.timeIntervalSinceNow < 0.01, "\(date)")
        }

        @Test func `a sealed date of no calendar is ignored, and one ahead of the clock is not`() {
            func next(_ seconds: Double) -> Int64 {
                VaultRows.modification(after: [.modificationDate: .date(Date(timeIntervalSince1970: seconds))])
            }
            let now = SealedRow.now()
            for seconds in [.infinity, -.infinity, .nan, 1e300, -1e300, 253_402_300_800, 0] as [Double] {
                #expect((now...now + 60_000).contains(next(seconds)), "\(seconds)")
            }
            #expect(next(3_786_912_000) == 3_786_912_000_001)
            #expect((now...now + 60_000).contains(VaultRows.modification(after: [:])))
        }
    }
}
