import Foundation
import GRDB
import Testing

@testable import Keyfob

@Suite struct SharedFileTests {
    @Test func `a vault that is opened twice in a process keeps its locks`() throws {
        let test = try TestKeychain()
        let path = test.configuration.vault
        _ = try test.keychain.find(.genericPasswords)
        // One, for as long as it is open: what SQLite locks for a change is not in this file.
        try #require(try hasPOSIXLock(on: path))
        let second = try SQLiteStore(path: path, use: .oneShot, busyTimeout: 10)
        #expect(try hasPOSIXLock(on: path))
        withExtendedLifetime(second) {}
    }

    @Test(arguments: [SQLiteStore.Use.server, .oneShot])
    func `a commit is on the disk when it returns`(use: SQLiteStore.Use) throws {
        let test = try TestKeychain()
        let connection = try SQLiteStore.connect(path: test.configuration.vault, use: use, busyTimeout: 10)
        // 2 is FULL: the log is synchronised at each commit.
        #expect(try connection.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA synchronous") } == 2)
    }
}
