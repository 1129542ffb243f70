import Foundation
import KeyfobPrimitives
import PKCS11
import TestSupport
import Testing

@testable import Keyfob
@testable import KeyfobToken

@Suite struct SoftHSMDirectoryTests {
    /// The directory that this process uses, treated as Keyfob's own.
    private func shared() throws -> SoftHSMDirectory {
        _ = try TestToken.loadModule()
        let configuration = URL(fileURLWithPath: TestToken.configurationPath)
        return SoftHSMDirectory(root: configuration.deletingLastPathComponent())
    }

    private func code(_ body: () throws -> Void) -> KeychainError.Code? {
        #expect(throws: KeychainError.self, performing: body)?.code
    }

    /// Longer than other tests that make tokens hold the lock.
    private var patiently: Deadline { .after(.seconds(240)) }

    private func unique() -> String { "made-" + UUID().uuidString.suffix(10) }

    @Test func `a token is made with random PINs that open it, and its label cannot be used twice`() throws {
        let directory = try shared()
        let label = unique()
        let created = try directory.createToken(label: label, deadline: patiently)
        #expect(created.pin.count == 28 && created.securityOfficerPIN.count == 28)
        #expect(created.pin != created.securityOfficerPIN)
        #expect(created.uri.token == label && created.uri.serial == created.token.serial)
        try TestToken.withSession(created.uri) { session in
            try session.login(pin: created.pin)
            try session.logout()
        }
        #expect(code { _ = try directory.createToken(label: label, deadline: patiently) } == .duplicateKeychain)
        #expect(FileManager.default.fileExists(
            atPath: directory.copyFile(created.token.directory.lastPathComponent).path))
    }

    @Test(arguments: ["", "trailing ", "x234567890123456789012345678901234567890", "a\0b"])
    func `a label that SoftHSM would change is refused`(label: String) throws {
        let directory = try shared()
        #expect(code { _ = try directory.createToken(label: label) } == .invalidArgument)
    }

    @Test func `a timeout of the wait for the tokens names the process that holds the lock`() throws {
        let directory = try shared()
        let error = try FileLock.holding(directory.lockFile, deadline: patiently) {
            () throws(KeychainError) -> KeychainError? in
            do throws(KeychainError) {
                _ = try directory.createToken(label: unique(), deadline: .after(.milliseconds(50)))
                return nil
            } catch { return error }
        }
        #expect(error?.code == .timedOut && error?.message.contains("(pid \(getpid())) holds ") == true)
    }

    @Test func `a second directory in one process is refused`() throws {
        try shared().activate()
        let temporary = try TemporaryDirectory()
        let other = SoftHSMDirectory(directories: Directories(root: URL(fileURLWithPath: temporary.path)))
        #expect(code { try other.activate() } == .refused)
        #expect(code { _ = try other.createToken(label: "x") } == .refused)
        try shared().activate()
    }

    @Test(arguments: [("none", "activated"), ("released", "activated"), ("foreign", "refused")])
    func `the directory of Keyfob is refused only while other code uses SoftHSM in the process`(
        how: String, answer: String
    ) throws {
        let test = try TestKeychain()
        let temporary = try TemporaryDirectory()
        let child = try Child(test, ["claim", temporary.path, how], environment: ["SOFTHSM2_CONF": ""])
        #expect(child.waitForEnd().lines == [answer])
    }

    @Test func `tokens are made while other threads list all of them`() throws {
        // Runs in a process of its own, because SoftHSM may treat a token as broken if it reads it at the wrong time.
        let test = try TestKeychain()
        let temporary = try TemporaryDirectory()
        let child = try Child(test, ["tokens", temporary.path, "30"], environment: ["SOFTHSM2_CONF": ""])
        let end = child.waitForEnd()
        #expect(end.status == 0 && end.lines == Array(repeating: "made", count: 30), "\(end)")
    }

    @Test func `threads that make tokens at the same time each get one`() async throws {
        let directory = try shared()
        let labels = (0..<4).map { _ in unique() }
        try await withThrowingTaskGroup(of: SoftHSMDirectory.CreatedToken.self) { group in
            for label in labels {
                group.addTask {
                    try await BlockingExecutor.shared.run {
                        try directory.createToken(label: label, deadline: .after(.seconds(240)))
                    }
                }
            }
            var serials: Set<String> = []
            for try await created in group { serials.insert(created.token.serial) }
            #expect(serials.count == labels.count)
        }
        let made = try directory.tokens().filter { labels.contains($0.label) }
        #expect(made.count == labels.count && made.allSatisfy(\.hasUserPIN))
    }

    @Test func `only the token with the given serial number and label is destroyed`() throws {
        let softHSM = try SoftHSMProcess()
        let first = try softHSM.makeToken("first")
        let second = try softHSM.makeToken("second")
        try softHSM.makeKey("second")
        try softHSM.directory.refreshCopies()
        #expect(code { try softHSM.directory.destroyToken(serial: first.serial, label: "second") } == .tokenAbsent)
        #expect(code { try softHSM.directory.destroyToken(serial: "", label: "first") } == .tokenAbsent)
        var uri = PKCS11URI()
        uri.token = "first"
        #expect(code { try softHSM.directory.destroyToken(uri) } == .invalidArgument)
        uri.serial = first.serial
        try softHSM.directory.destroyToken(uri)
        #expect(try softHSM.directory.tokens() == [second])
        #expect(try softHSM.keySigns("second"))
        let identifier = first.directory.lastPathComponent
        #expect(!FileManager.default.fileExists(atPath: softHSM.directory.copyFile(identifier).path))
        let left = try FileManager.default.contentsOfDirectory(atPath: softHSM.directory.tokensDirectory.path)
        #expect(left == [second.directory.lastPathComponent])
    }

    @Test func `a copy left by an earlier removal is removed by the next one, and no other copy is`() throws {
        let softHSM = try SoftHSMProcess()
        let (gone, away) = (try softHSM.makeToken("gone"), try softHSM.makeToken("away"))
        try softHSM.directory.refreshCopies()
        // For one token the copy could not be removed; for the other, the token is only missing.
        for token in [gone, away] { try FileManager.default.removeItem(at: token.directory) }
        #expect(
            code { try softHSM.directory.destroyToken(serial: gone.serial, label: gone.label) } == .tokenAbsent)
        func copy(_ token: SoftHSMToken) -> URL {
            softHSM.directory.copyFile(token.directory.lastPathComponent)
        }
        #expect(!FileManager.default.fileExists(atPath: copy(gone).deletingLastPathComponent().path))
        #expect(FileManager.default.fileExists(atPath: copy(away).path))
    }

    @Test func `a token on a separate file system is destroyed`() throws {
        let softHSM = try SoftHSMProcess()
        let (first, second) = (try softHSM.makeToken("first"), try softHSM.makeToken("second"))
        try softHSM.makeKey("second")
        let tokens = softHSM.directory.tokensDirectory.filePath
        let other = "/dev/shm/keyfob-test-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: other) }
        func device(_ path: String) -> UInt64? {
            var status = stat()
            return unsafe stat(path, &status) == 0 ? UInt64(status.st_dev) : nil
        }
        // If tests run in memory, there is no second file system.
        guard let memory = device("/dev/shm"), memory != device(softHSM.directory.root.filePath) else { return }
        try FileManager.default.moveItem(atPath: tokens, toPath: other)
        try FileManager.default.createSymbolicLink(atPath: tokens, withDestinationPath: other)
        try softHSM.directory.destroyToken(serial: first.serial, label: first.label)
        #expect(try softHSM.directory.tokens().map(\.serial) == [second.serial])
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: other) == [second.directory.lastPathComponent])
        #expect(try softHSM.keySigns("second"))
        // A directory of destroyed tokens that a kill has left hides no token and is removed by the next removal.
        try FileManager.default.createDirectory(
            atPath: other + "/.destroyed/" + first.directory.lastPathComponent, withIntermediateDirectories: true)
        #expect(try softHSM.directory.heal() == .init(restored: [], unusable: []))
        #expect(try softHSM.keySigns("second"))
        try softHSM.directory.destroyToken(serial: second.serial, label: second.label)
        #expect(try FileManager.default.contentsOfDirectory(atPath: other).isEmpty)
    }

    @Test func `other settings of the configuration are kept, and a moved directory is updated`() throws {
        let softHSM = try SoftHSMProcess()
        let url = softHSM.directory.configuration
        let text = try String(contentsOf: url, encoding: .utf8)
        #expect(text.contains("slots.removable = false") && text.contains("log.level = ERROR"))
        try PrivateFile.write(SecretBytes(utf8: text + "library.reset_on_fork = true\n"), to: url)
        try softHSM.directory.prepare()
        #expect(try String(contentsOf: url, encoding: .utf8).contains("reset_on_fork"))
        try PrivateFile.write(SecretBytes(utf8: "directories.tokendir = /elsewhere\n"), to: url)
        try softHSM.directory.prepare()
        #expect(try String(contentsOf: url, encoding: .utf8) == text)
        let odd = SoftHSMDirectory(root: softHSM.temporary.url("a#b"))
        #expect(code { try odd.prepare() } == .invalidArgument)
    }

    @Test func `the stamp and the listing reflect added, changed and removed objects, and not logins`() throws {
        let softHSM = try SoftHSMProcess()
        let token = try softHSM.makeToken("stamp")
        func snapshot() throws -> TokenSnapshot { try #require(ObjectListing.snapshot(of: token)) }
        func counts(_ before: TokenSnapshot, _ after: TokenSnapshot) -> [Int] {
            let (added, changed, removed) = before.difference(to: after)
            return [added, changed, removed].map(\.count)
        }
        let empty = try snapshot()
        #expect(try empty.entries.isEmpty && ObjectListing(of: token).files.isEmpty)
        #expect(try softHSM.tool("stamp", ["-O"]).status == 0)
        #expect(try snapshot().stamp == empty.stamp)

        try softHSM.makeKey("stamp")
        let full = try snapshot()
        #expect(full.stamp != empty.stamp)
        #expect(counts(empty, full) == [2, 0, 0])
        #expect(try ObjectListing(of: token).files.count == 2)
        #expect(try softHSM.keySigns("stamp"))
        #expect(try snapshot().stamp == full.stamp)

        #expect(try softHSM.tool("stamp", ["--set-id", "02", "--type", "pubkey", "--id", "01"]).status == 0)
        let changed = try snapshot()
        #expect(changed.stamp != full.stamp)
        #expect(counts(full, changed) == [0, 1, 0])
        #expect(try softHSM.tool("stamp", ["--delete-object", "--type", "pubkey", "--id", "02"]).status == 0)
        #expect(try counts(full, snapshot()) == [0, 0, 1])

        try softHSM.directory.destroyToken(serial: token.serial, label: token.label)
        #expect(ObjectListing.snapshot(of: token) == nil)
        #expect(code { _ = try ObjectListing(of: token) } == .tokenAbsent)
    }
}
