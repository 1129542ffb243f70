import Foundation
import GRDB
import Testing

@testable import Keyfob

@Suite struct SharedFileTests {
    /// The POSIX locks that this process has on a file, as the kernel lists them.
    private func locks(on path: String) throws -> [Substring] {
        let status = try FileManager.default.attributesOfItem(atPath: path)
        let inode = try #require(status[.systemFileNumber] as? Int)
        return try String(contentsOfFile: "/proc/locks", encoding: .utf8).split(separator: "\n").filter {
            let fields = $0.split(separator: " ")
            return fields.contains("POSIX") && fields.contains("\(getpid())")
                && fields.contains { $0.hasSuffix(":\(inode)") }
        }
    }

    @Test func `a vault that is opened twice in a process keeps its locks`() throws {
        let test = try TestKeychain()
        let path = test.configuration.vault
        _ = try test.keychain.find(.genericPasswords)
        let before = try locks(on: path)
        #expect(!before.isEmpty)
        let second = try SQLiteStore(path: path, use: .oneShot)
        #expect(try locks(on: path).count >= before.count)
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
