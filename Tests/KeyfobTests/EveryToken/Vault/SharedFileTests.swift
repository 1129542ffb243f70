import Foundation
import GRDB
import KeyfobPrimitives
import TestSupport
import Testing

@testable import Keyfob
@testable import KeyfobVault

extension EveryToken {
    @Suite struct SharedFileTests {
        @Test func `a vault keeps its file locks when the process opens it a second time`() throws {
            let test = try TestKeychain()
            let path = test.configuration.vault
            try test.keychain.store.read { reader in
                _ = try reader.rowCount()
                try #require(try hasPOSIXLock(on: path))
                let second = try SQLiteStore(path: path, use: .oneShot, busyTimeout: 10)
                #expect(try hasPOSIXLock(on: path))
                withExtendedLifetime(second) {}
            }
        }

        @Test(arguments: [SQLiteStore.Use.server, .oneShot])
        func `a commit is on disk when it returns`(use: SQLiteStore.Use) throws {
            let test = try TestKeychain()
            let connection = try SQLiteStore.connect(path: test.configuration.vault, use: use, busyTimeout: 10)
            // 2 is FULL.
            #expect(try connection.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA synchronous") } == 2)
            let mode = try connection.writeWithoutTransaction { try String.fetchOne($0, sql: "PRAGMA journal_mode") }
            #expect(mode == "truncate")
        }

        @Test(arguments: [false, true])
        func `a vault is a single file that no process maps`(isOneShot: Bool) throws {
            var options = Keychain.Options()
            options.isOneShot = isOneShot
            let test = try TestKeychain(options)
            try test.keychain.add(GenericPassword(service: "s"), secret: SecretBytes("x"))
            let maps = try String(contentsOfFile: "/proc/self/maps", encoding: .utf8)
            #expect(!maps.contains(test.configuration.vault))
            let copy = try TemporaryDirectory()
            try FileManager.default.copyItem(atPath: test.configuration.vault, toPath: copy.file("vault.sqlite"))
            let rows = try DatabaseQueue(path: copy.file("vault.sqlite")).read {
                try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM item")
            }
            #expect(rows == 1)
        }
    }
}
