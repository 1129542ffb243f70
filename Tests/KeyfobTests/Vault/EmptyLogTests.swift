import Foundation
import GRDB
import Testing

@testable import Keyfob

@Suite struct EmptyLogTests {
    @Test func `a command leaves a log behind in which the next has nothing to read`() throws {
        let test = try TestKeychain()
        let path = test.configuration.vault
        // A copy, since the test's own connection keeps the log of its vault alive.
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
        let copy = folder.appendingPathComponent("copy.sqlite").path
        try test.sql { try $0.execute(sql: "VACUUM INTO ?", arguments: [copy]) }
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: copy)
        // A vault is in this mode from its beginning; a copy is not.
        do {
            try DatabaseQueue(path: copy).writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = WAL") }
        }
        do {
            let store = try SQLiteStore(path: copy, use: .oneShot)
            try store.write(test.keychain.keys().tree) { writer in
                try writer.replaceObjectIndex([], stamp: Data([1]))
            }
            let size = try FileManager.default.attributesOfItem(atPath: copy + "-wal")[.size] as? Int ?? -1
            #expect(size > 0, "the log is used")
        }
        let size = try FileManager.default.attributesOfItem(atPath: copy + "-wal")[.size] as? Int
        #expect(size == 0)
        let again = try SQLiteStore(path: copy, use: .oneShot)
        #expect(try again.read(nil) { try $0.objectIndexStamp() } == Data([1]))
    }
}
