import Foundation
import GRDB
import Testing

@testable import Keyfob

/// Logs that lie beside a vault, and whether they are its own.
@Suite struct ForeignLogTests {
    /// A vault of which every transaction leaves a number, and what its files were in the course of that.
    private final class History {
        let test: TestKeychain
        let path: String
        /// The file after the transactions 1, 2, 3 and 4; then all of them are in it, and the log is empty.
        private(set) var files: [Data] = []
        /// The logs that kills after the transactions 3 and 4 would have left: the second was begun when all that the
        /// first held was in the file.
        private(set) var logs: [Data] = []

        init(_ use: SQLiteStore.Use) throws {
            test = try TestKeychain()
            path = try test.copyVault()
            for number in 1...2 {
                let store = try SQLiteStore(path: path, use: use, busyTimeout: 10)
                try write(UInt8(number), store)
                try checkpoint()
                files.append(try file())
                withExtendedLifetime(store) {}
            }
            let store = try SQLiteStore(path: path, use: use, busyTimeout: 10)
            for number in 3...4 {
                try write(UInt8(number), store)
                try #require(try file() == files.last, "nothing was written into the file")
                logs.append(try Data(contentsOf: URL(fileURLWithPath: path + "-wal")))
                try checkpoint()
                files.append(try file())
            }
            withExtendedLifetime(store) {}
            try #require(logs[0][16..<24] != logs[1][16..<24], "the log was begun anew")
        }

        private func file() throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path)) }

        private func write(_ number: UInt8, _ store: SQLiteStore) throws {
            try store.write(test.keychain.keys().tree) { try $0.replaceObjectIndex([], stamp: Data([number])) }
        }

        /// As SQLite does it by itself when the log is long: into the file, and the log stays.
        private func checkpoint() throws {
            try DatabaseQueue(path: path).writeWithoutTransaction {
                _ = try Row.fetchAll($0, sql: "PRAGMA wal_checkpoint(PASSIVE)")
            }
        }

        /// Puts a file and a log where the vault is, and nothing else; what its last transaction left then.
        func stamp(_ file: Data, _ log: Data?, _ use: SQLiteStore.Use) throws -> Data? {
            for suffix in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: path + suffix) {
                try FileManager.default.removeItem(atPath: path + suffix)
            }
            for (suffix, bytes) in [("", file), ("-wal", log)] {
                guard let bytes else { continue }
                try bytes.write(to: URL(fileURLWithPath: path + suffix))
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path + suffix)
            }
            return try SQLiteStore(path: path, use: use, busyTimeout: 10).read(nil) { try $0.objectIndexStamp() }
        }
    }

    /// A file of which one page is another's: as a checkpoint leaves it that was cut off, by whatever ended it.
    private func mixture(_ file: Data, _ page: Int, of other: Data) -> Data {
        let range = (page - 1) * 4096..<page * 4096
        var mixture = file
        mixture.replaceSubrange(range, with: other[range])
        return mixture
    }

    @Test(arguments: [SQLiteStore.Use.server, .oneShot], [SQLiteStore.Use.server, .oneShot])
    func `a log of the vault's own is taken, however much of it is in the file`(
        writer: SQLiteStore.Use, reader: SQLiteStore.Use
    ) throws {
        let history = try History(writer)
        let (files, logs) = (history.files, history.logs)
        for (file, log, number) in [
            (files[1], logs[0], 3), (files[2], logs[0], 3), (files[2], logs[1], 4), (files[3], logs[1], 4),
            (mixture(files[1], LogLink.pageNumber, of: files[2]), logs[0], 3),
            (mixture(files[2], LogLink.pageNumber, of: files[1]), logs[0], 3),
        ] {
            #expect(try history.stamp(file, log, reader) == Data([UInt8(number)]), "\(number)")
        }
        // In these SQLite finds nothing.
        let unread: [Data?] = [nil, Data(), logs[1].prefix(32), logs[1].prefix(3000), Data(count: 20_000)]
        for log in unread {
            #expect(try history.stamp(files[0], log, reader) == Data([1]), "\(log?.count ?? -1)")
        }
    }

    @Test(arguments: [SQLiteStore.Use.server, .oneShot], [SQLiteStore.Use.server, .oneShot])
    func `a log that is not the file's is refused before a byte of either is changed, and told how to go on`(
        writer: SQLiteStore.Use, reader: SQLiteStore.Use
    ) throws {
        let history = try History(writer)
        let (files, logs, path) = (history.files, history.logs, history.path)
        // An older file that was put back, a newer one, and one whose log was begun anew since.
        for (index, log) in [(0, logs[0]), (3, logs[0]), (0, logs[1]), (1, logs[1])] {
            do {
                _ = try history.stamp(files[index], log, reader)
                Issue.record("the log is taken for that of the file after transaction \(index + 1)")
            } catch let error as KeychainError {
                #expect(error.code == .vaultDamaged, "\(error)")
                #expect(error.hint?.contains("mv \(path)-wal \(path)-wal.old") ?? false, "\(error)")
            }
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == files[index])
            #expect(try Data(contentsOf: URL(fileURLWithPath: path + "-wal")) == log)
            #expect(try history.stamp(files[index], nil, reader) == Data([UInt8(index + 1)]))
        }
    }

    @Test(arguments: [SQLiteStore.Use.server, .oneShot])
    func `the page of an earlier log under a frame that a kill has cut short says nothing`(
        writer: SQLiteStore.Use
    ) throws {
        let history = try History(writer)
        let (older, newer) = (history.logs[0], history.logs[1])
        func firstLink(_ log: Data) -> Int {
            var offset = 32
            while Array(log[offset..<offset + 4]) != UInt32(LogLink.pageNumber).bigEndianBytes { offset += 24 + 4096 }
            return offset
        }
        let (old, new) = (firstLink(older) + 24, firstLink(newer) + 24)
        // The log was begun anew, and of its first link nothing but the frame's head was written.
        let log = newer[..<new] + older[old..<old + 4096]
        for reader in [SQLiteStore.Use.server, .oneShot] {
            #expect(try history.stamp(history.files[3], Data(log), reader) == Data([4]))
        }
    }

    @Test func `a server that has only read leaves no log that could be taken for another file's`() throws {
        let history = try History(.oneShot)
        _ = try history.stamp(history.files[1], nil, .oneShot)
        let log: Data
        do {
            let store = try SQLiteStore(path: history.path, use: .server, busyTimeout: 10)
            log = try Data(contentsOf: URL(fileURLWithPath: history.path + "-wal"))
            withExtendedLifetime(store) {}
        }
        try #require(!log.isEmpty)
        #expect(code { _ = try history.stamp(history.files[0], log, .oneShot) } == .vaultDamaged)
    }
}
