import Foundation
import KeyfobPrimitives
import PKCS11
import Testing
import TestSupport

@testable import Keyfob

extension EveryToken {
    /// Updates that another process overtakes, and the locks that they hold in the meantime.
    @Suite struct LostRaceTests {
        /// A store that runs code before and inside its write transactions.
        private final class WatchedStore: ItemStore {
            let store: any ItemStore
            let before: @Sendable () throws -> Void
            let token: TokenStore

            init(_ keychain: Keychain, before: @escaping @Sendable () throws -> Void) {
                store = keychain.store
                token = keychain.token
                self.before = before
            }

            var identity: Data { store.identity }
            func integrityFindings(
                _ tree: RowTreeKey?, damage: (SealedRow) throws -> VaultFinding?
            ) throws -> [VaultFinding] { try store.integrityFindings(tree, damage: damage) }
            func read<Result>(_ tree: RowTreeKey?, _ body: (any StoreReader) throws -> Result) throws -> Result {
                try store.read(tree, body)
            }

            func write<Result>(_ tree: RowTreeKey, _ body: (any StoreWriter) throws -> Result) throws -> Result {
                try before()
                return try holdingSessions(SessionPool.Configuration.defaultMaximumSessions) { try store.write(tree, body) }
            }

            /// Code that uses the token inside the transaction would wait in vain.
            private func holdingSessions<Result>(_ count: Int, _ body: () throws -> Result) throws -> Result {
                guard count > 0 else { return try body() }
                return try token.withSession(.read) { _ in try holdingSessions(count - 1, body) }
            }
        }

        private func watched(
            _ keychain: Keychain, timeout: Duration? = nil, before: @escaping @Sendable () throws -> Void
        ) -> Keychain {
            var options = keychain.options
            if let timeout { options.timeout = timeout }
            return Keychain(
                configuration: keychain.configuration, directories: keychain.directories, options: options,
                store: WatchedStore(keychain, before: before), token: keychain.token, lockState: keychain.lockState)
        }

        private func makeKeychain() throws -> TestKeychain {
            let test = try TestKeychain(.patient)
            for account in ["a", "b"] {
                try test.keychain.add(GenericPassword(service: "s", account: account), secret: SecretBytes(account))
            }
            return test
        }

        @Test func `no update uses the token while it holds the vault`() throws {
            let test = try makeKeychain()
            let watched = watched(test.keychain) {}
            #expect(try watched.update(.genericPassword(service: "s"), [.comment: "c"]) == 2)
            #expect(try watched.update(.genericPassword(account: "b"), secret: SecretBytes("new")) == 1)
            for (account, secret) in [("a", "a"), ("b", "new")] {
                let item = try test.keychain.only(.genericPassword(account: account))
                #expect(try item.comment == "c" && test.keychain.secret(of: item) == SecretBytes(secret))
            }
        }

        @Test(arguments: [(lost: 1, succeeds: true), (lost: 7, succeeds: true), (lost: .max, succeeds: false)])
        func `another process's changes are kept, until the deadline`(
            row: (lost: Int, succeeds: Bool)
        ) throws {
            let test = try makeKeychain()
            let rest = Lock(row.lost)
            let watched = watched(test.keychain, timeout: row.succeeds ? nil : .seconds(2)) {
                let left = rest.withLock { rest in
                    rest -= 1
                    return rest
                }
                guard left >= 0 else { return }
                try test.keychain.update(.genericPassword(account: "b"), [.kind: .string("kind \(left)")])
            }
            let changed = code { try watched.update(.genericPassword(service: "s"), [.comment: "c"]) }
            #expect(changed == (row.succeeds ? nil : .vaultBusy))
            let items = try test.keychain.find(.genericPassword(service: "s"))
            #expect(items.map(\.comment) == (row.succeeds ? ["c", "c"] : [nil, nil]))
            #expect(items.map(\.kind) == [nil, "kind \(max(0, rest.withLock { $0 }))"])
            #expect(try items.map { try test.keychain.secret(of: $0) } == [SecretBytes("a"), SecretBytes("b")])
        }

        @Test func `a key in the vault alone is changed even if another process was faster`() throws {
            let test = try TestKeychain()
            let key = Item(.key, [.applicationTag: "tag", .keyClass: 2])
            _ = try test.keychain.vaultRows.addToVault(key, secret: SecretBytes("bytes"))
            var found = Criteria(.key, [.applicationTag: "tag"])
            found.services = ServicesRules(defaults: [:])
            let criteria = found
            let rest = Lock(3)
            let watched = watched(test.keychain) {
                let left = rest.withLock { rest in
                    rest -= 1
                    return rest
                }
                guard left >= 0 else { return }
                try test.keychain.update(criteria, [.alias: .string("alias \(left)")])
            }
            #expect(try watched.update(criteria, [.label: "l"]) == 1)
            let changed = try #require(try test.keychain.findItems(criteria).first)
            #expect(changed.attributes[.label] == "l" && changed.attributes[.alias] == "alias 0")
            #expect(try test.keychain.secret(of: changed) == SecretBytes("bytes"))
        }

        @Test(.needs(.makesAESKeys), arguments: [(lost: 3, succeeds: true), (lost: .max, succeeds: false)])
        func `an update of a key on the token and one in the vault succeeds after another process was faster`(
            row: (lost: Int, succeeds: Bool)
        ) throws {
            let test = try TestKeychain(.patient)
            _ = try test.keychain.keys.generate(.aes(bits: 256), label: "on the token")
            _ = try test.keychain.vaultRows.addToVault(
                Item(.key, [.applicationTag: "tag", .keyClass: 2]), secret: SecretBytes("bytes"))
            func services(_ criteria: Criteria) -> Criteria {
                var criteria = criteria
                criteria.services = ServicesRules(defaults: [:])
                return criteria
            }
            let both = services(Criteria(.key, [.keyClass: 2]))
            let bare = services(Criteria(.key, [.applicationTag: "tag"]))
            let rest = Lock(row.lost)
            let watched = watched(test.keychain) {
                let left = rest.withLock { rest in
                    rest -= 1
                    return rest
                }
                guard left >= 0 else { return }
                try test.keychain.update(bare, [.label: .string("label \(left)")])
            }
            if row.succeeds {
                #expect(try watched.update(both, [.alias: "a"]) == 2)
            } else {
                // Both exist all the time.
                #expect(code { try watched.update(both, [.alias: "a"]) } == .vaultBusy)
            }
            let items = try test.keychain.findItems(both)
            let alias: AttributeValue? = row.succeeds ? "a" : nil
            #expect(items.count == 2 && items.allSatisfy { $0.attributes[.alias] == alias })
            #expect(try test.keychain.findItems(bare).first?.attributes[.label]?.text?.hasPrefix("label") == true)
        }

        @Test
        func `an item removed in the meantime is skipped, and without any item the update fails`() throws {
            let test = try makeKeychain()
            let watched = watched(test.keychain) {
                if let item = try test.keychain.find(.genericPassword(account: "b")).first {
                    try test.keychain.delete(item)
                }
            }
            #expect(try watched.update(.genericPassword(service: "s"), [.comment: "c"]) == 1)
            let last = self.watched(test.keychain) { try test.keychain.delete(.genericPasswords) }
            #expect(code { try last.update(.genericPassword(service: "s"), [.comment: "d"]) } == .itemNotFound)
        }
    }
}
