import Foundation
import KeyfobPrimitives
import KeyfobTesting
import OpenSSL
import PKCS11
import TestSupport
import Testing

@testable import Keyfob

/// What a kill in the middle of making an object leaves in SoftHSM's directory, where SoftHSM may not show it.
@Suite struct UnfinishedObjectTests {
    /// A file of SoftHSM's making.
    struct Row: CustomTestStringConvertible {
        var testDescription: String
        /// Attributes: type, kind, value; `nil` for a file without even the counter.
        var attributes: [(UInt64, UInt64, [UInt8])]?
        var isCut = false
        var age: TimeInterval = 0
        var goes = true

        var bytes: Data {
            guard let attributes else { return Data() }
            var bytes = Data(Self.number(1))
            for (type, kind, value) in attributes { bytes += Self.number(type) + Self.number(kind) + value }
            return isCut ? bytes.dropLast() : bytes
        }

        static func number(_ value: UInt64) -> [UInt8] {
            (0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - 8 * $0)) }
        }
        static func objectClass(_ value: UInt64) -> (UInt64, UInt64, [UInt8]) { (0, 2, number(value)) }
        static func string(_ type: UInt64, _ text: String) -> (UInt64, UInt64, [UInt8]) {
            (type, 3, number(UInt64(text.utf8.count)) + Array(text.utf8))
        }
        static let token: (UInt64, UInt64, [UInt8]) = (1, 1, [0xFF])
    }

    static let rows = [
        Row(testDescription: "no byte", attributes: nil),
        Row(testDescription: "the counter only", attributes: []),
        Row(testDescription: "no class", attributes: [Row.token]),
        Row(testDescription: "a certificate's class", attributes: [Row.objectClass(1)]),
        Row(testDescription: "a public key's defaults", attributes: [Row.objectClass(2), Row.token, Row.string(3, "")]),
        Row(testDescription: "a private key's defaults", attributes: [Row.objectClass(3), Row.token, Row.string(3, "")]),
        Row(testDescription: "cut off", attributes: [Row.objectClass(3), Row.string(3, "label")], isCut: true),
        Row(testDescription: "cut off before", attributes: [Row.objectClass(3), Row.string(3, "label")], isCut: true,
            age: 60, goes: false),
        Row(testDescription: "no byte, before", attributes: nil, age: 60, goes: false),
        Row(testDescription: "an object with a label", attributes: [Row.objectClass(3), Row.string(3, "label")], goes: false),
        Row(testDescription: "a data object", attributes: [Row.objectClass(0), Row.string(3, "")], goes: false),
    ]

    private let test: TestKeychain
    private let directory: URL

    init() throws {
        test = try TestKeychain()
        let tokens = try SoftHSMDirectory(directories: test.throwaway.directories).tokens()
        let name = test.keychain.name
        directory = try #require(tokens.first { $0.label == name }).directory
    }

    /// Makes a file, and leaves the generation alone as a kill does that comes early.
    private func write(_ row: Row) throws -> URL {
        let file = directory.appendingPathComponent(UUID().uuidString.lowercased() + ".object")
        try row.bytes.write(to: file)
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -row.age)], ofItemAtPath: file.path)
        return file
    }

    /// Leaves a plan behind as a process does that began it, and was killed.
    private func leavePlan(begun: Date) throws {
        let keys = try test.keychain.keys()
        var plan = TokenPlan(
            kind: .create,
            objects: [.init(objectClass: ObjectClass.privateKey.rawValue, ids: [Data([7])], fingerprint: nil)])
        plan.begun = begun
        let identity = try RandomBytes.secret(count: 16).copyData()
        let intent = try keys.sealPlan(plan, identity: identity, vault: test.keychain.store.identity)
        _ = try test.keychain.store.write(keys.tree) { try $0.insert(intent) }
    }

    private func exists(_ file: URL) -> Bool { FileManager.default.fileExists(atPath: file.path) }

    @Test(arguments: rows) func `the recovery removes what was being made, and nothing else`(row: Row) throws {
        let key = try test.keychain.generateKey(.p256, label: "whole")
        let begun = Date(timeIntervalSinceNow: -1)
        let file = try write(row)
        let lock = file.deletingPathExtension().appendingPathExtension("lock")
        try Data().write(to: lock)
        try leavePlan(begun: begun)
        let other = try test.reopen()
        #expect(try other.find(.keys.keyClass(.private)).map(\.label).contains("whole"))
        #expect(exists(file) == !row.goes && exists(lock) == !row.goes)
        #expect(try other.store.read { try $0.intents().isEmpty })
        let signer = try other.tokenKey(for: KeyItem(item: other.item(#require(key.reference))))
        #expect(try !signer.sign(Array("m".utf8), using: .ecdsa(.sha256)).isEmpty)
        if row.goes {
            // SoftHSM, too, reads its directory anew by now.
            _ = try other.generateKey(.p256, label: "next")
            #expect(try other.token.readObjects().debris == 0)
        } else {
            try FileManager.default.removeItem(at: file)
        }
    }

    // Where a child holds SoftHSM's lock on a file for long, in a process of its own: SoftHSM waits for such locks without
    // a limit, and it may be initialised anew, or search, for another test at any moment.

    @Test func `a file that another process is writing stays`() async {
        await #expect(processExitsWith: .success) { try UnfinishedObjectTests().staysWhileWritten() }
    }

    private func staysWhileWritten() throws {
        let begun = Date(timeIntervalSinceNow: -1)
        let file = try write(Self.rows[1])
        let child = try Child(test, ["rewrite", file.path])
        #expect(child.line() == "ready" && child.line() == "empty")
        try leavePlan(begun: begun)
        try test.reopen().unlock()
        #expect(exists(file))
        try child.endInput()
        #expect(child.waitForEnd().lines == ["done"])
        #expect(try Data(contentsOf: file) == Self.rows[1].bytes)
        try FileManager.default.removeItem(at: file)
    }

    @Test func `a file that somebody has locked for a moment is waited for, and goes`() async {
        await #expect(processExitsWith: .success) {
            let tests = try UnfinishedObjectTests()
            // On a busy machine the moment may be longer than the two seconds that it is waited for.
            let goes = try (0..<5).contains { _ in try tests.goesWhenUnlocked() }
            #expect(goes)
        }
    }

    /// Whether a file goes that is locked for about half a second while the recovery wants to remove it.
    private func goesWhenUnlocked() throws -> Bool {
        let begun = Date(timeIntervalSinceNow: -1)
        let file = try write(Self.rows[5])
        let child = try Child(test, ["hold", file.path])
        #expect(child.line() == "ready" && child.line() == "locked")
        try leavePlan(begun: begun)
        let keychain = try test.reopen()
        let failure = Lock<String?>(nil)
        let unlocking = try #require(
            POSIXThread.start("unlock") {
                do { try keychain.unlock() } catch { failure.withLock { $0 = "\(error)" } }
            })
        usleep(600_000)
        try child.endInput()
        unlocking.join()
        #expect(failure.withLock { $0 } == nil)
        #expect(child.waitForEnd().status == 0)
        guard exists(file) else { return true }
        try FileManager.default.removeItem(at: file)
        return false
    }

    @Test func `what was being made goes although a login is just rewriting the token's file`() throws {
        let file = try write(Self.rows[1])
        let tokenFile = directory.appendingPathComponent("token.object")
        let content = try Data(contentsOf: tokenFile)
        // Nobody waits for ever: on a busy machine the file may be empty for longer than that.
        for _ in 0..<5 where exists(file) {
            try Data().write(to: tokenFile)
            let login = POSIXThread.start("login") {
                usleep(20_000)
                do { try content.write(to: tokenFile) } catch { Issue.record(error) }
            }
            try test.keychain.token.removeUnfinishedObjects(since: nil)
            try #require(login).join()
        }
        #expect(!exists(file))
    }

    @Test func `a file that changes stays`() throws {
        let file = try write(Self.rows[0])
        let isDone = Lock(false)
        let thread = Thread {
            while !isDone.withLock({ $0 }) {
                // The test ends where this fails: the file would be gone.
                try? FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: file.path)
                usleep(10_000)
            }
        }
        thread.start()
        defer { isDone.withLock { $0 = true } }
        let softHSM = SoftHSMDirectory(directories: test.throwaway.directories)
        let token = try #require(softHSM.tokens().first { $0.directory == directory })
        // Longer than a busy machine keeps a thread from its work.
        try softHSM.removeUnfinishedObjects(of: token, since: nil, quietTime: 3_000_000)
        #expect(exists(file))
    }

    @Test func `a token whose file another process rewrites for seconds is waited for`() async {
        await #expect(processExitsWith: .success) { try UnfinishedObjectTests().isWaitedForWhileRewritten() }
    }

    private func isWaitedForWhileRewritten() throws {
        let softHSM = SoftHSMDirectory(directories: test.throwaway.directories)
        let file = directory.appendingPathComponent("token.object")
        let before = try ObjectListing(of: try #require(softHSM.tokens().first { $0.directory == directory })).files
        let slow = try Child(test, ["rewrite", file.path])
        #expect(slow.line() == "ready" && slow.line() == "empty")
        // Nothing can be put back: only waiting helps.
        try FileManager.default.removeItem(at: softHSM.copyFile(directory.lastPathComponent))
        let child = try Child(test, ["mixed", "after", "2"])
        usleep(3_500_000)
        try slow.endInput()
        let end = child.waitForEnd()
        #expect(end.status == 0 && end.lines == ["ready", "done"])
        #expect(slow.waitForEnd().lines == ["done"])
        #expect(
            try ObjectListing(of: try #require(softHSM.tokens().first { $0.directory == directory })).files == before)
    }

    @Test(arguments: ["list", "own"])
    func `a token that SoftHSM has taken for broken is seen and written again`(first: String) throws {
        let child = try Child(test, ["objects"])
        func ask(_ line: String) -> String? {
            child.send(line)
            return child.line()
        }
        #expect(child.line() == "ready" && ask("list") == "")
        let file = directory.appendingPathComponent("token.object")
        let content = try Data(contentsOf: file)
        // What a login of another process does while it waits for the disk.
        try Data().write(to: file)
        #expect(ask("look") == "broken")
        try content.write(to: file)
        try test.tool(["--keypairgen", "--key-type", "EC:prime256v1", "--id", "01", "--label", "other"])
        if first == "list" { #expect(ask("list") == "other,other") }
        #expect(ask("own") == "made")
        #expect(ask("list") == "other,other,own,own")
        #expect(ask("look") == test.keychain.name)
        try child.endInput()
        #expect(child.waitForEnd().status == 0)
    }
}
