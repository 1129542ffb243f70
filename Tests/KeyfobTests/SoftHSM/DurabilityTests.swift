import Foundation
import PKCS11
import TestSupport
import Testing

@testable import Keyfob
@testable import KeyfobToken

/// The files on disk when a change is reported as done. SoftHSM itself syncs nothing.
@Suite(.enabled(if: isStraceUsable, "strace(1) is not installed, or may trace nothing here"))
struct DurabilityTests {
    private let test: TestKeychain
    /// The directory of the token's objects.
    private let place: URL

    init() throws {
        test = try TestKeychain()
        let token = test.keychain.token
        place = try #require(token.softHSM?.directory(serial: token.uri.serial, label: token.label))
    }

    private func objects(in directory: URL) throws -> Set<String> {
        Set(try FileManager.default.contentsOfDirectory(atPath: directory.path).filter { $0.hasSuffix(".object") })
            .subtracting(["token.object"])
    }

    /// Returns the end of the kernel's path of a directory or a file in it.
    ///
    /// The path of a temporary directory may begin differently.
    private func tail(_ directory: URL, _ name: String? = nil) -> String {
        "/" + (directory.pathComponents.suffix(2) + [name].compactMap { $0 }).joined(separator: "/")
    }

    /// Returns the syncs of a child until it prints `made`.
    private func trace(_ arguments: [String], _ lines: [String] = []) throws -> [Strace.Sync] {
        let strace = try Strace()
        let child = try Child(test, arguments, under: strace.command)
        for line in lines { child.send(line) }
        try child.endInput()
        let result = child.waitForEnd()
        #expect(result.status == 0 && result.lines.last == "made", "\(result)")
        return try strace.syncs(before: "made")
    }

    /// Returns the index of the vault's last sync, which commits the change, and checks that the given paths were
    /// synced before.
    @discardableResult
    private func commit(after tails: [String], in syncs: [Strace.Sync]) throws -> Int {
        let commit = try #require(syncs.lastIndex { $0.path.hasSuffix(".sqlite") }, "\(syncs)")
        for tail in tails {
            let moment = try #require(syncs.firstIndex { $0.path.hasSuffix(tail) }, "\(tail) in \(syncs)")
            #expect(moment < commit, "\(tail) in \(syncs)")
        }
        return commit
    }

    @Test func `a new key is on disk before its row`() throws {
        let before = try objects(in: place)
        let syncs = try trace(["objects"], ["key"])
        let made = try objects(in: place).subtracting(before)
        #expect(made.count == 2)
        try commit(after: [tail(place)], in: syncs)
    }

    @Test func `a removed key is gone from disk before its row`() throws {
        _ = try test.keychain.keys.generate(.p256, label: "key")
        try commit(after: [tail(place)], in: trace(["objects"], ["remove"]))
        #expect(try test.keychain.find(.keys).isEmpty)
    }

    @Test func `all objects of a change are synced at once, without opening their files`() throws {
        let folder = try TemporaryDirectory()
        for name in ["a", "b", "c"] { try folder.write(TestCertificate(name).der, to: name) }
        let before = try objects(in: place)
        let syncs = try trace(["certificates", folder.path])
        #expect(try objects(in: place).subtracting(before).count == 3)
        try commit(after: [tail(place)], in: syncs)
        #expect(syncs.count { $0.path.hasSuffix(tail(place)) } == 1, "\(syncs)")
        #expect(!syncs.contains { $0.path.hasSuffix(".object") }, "\(syncs)")
    }

    @Test func `the key and the token of a new keychain are on disk before its name`() throws {
        let home = try TemporaryDirectory()
        let syncs = try trace(["create", home.path, "site"])
        let directories = Directories(root: URL(fileURLWithPath: home.path, isDirectory: true))
        let softHSM = SoftHSMDirectory(directories: directories)
        let token = try #require(try softHSM.tokens().first)
        let keys = try objects(in: token.directory)
        #expect(keys.count == 1)
        let moment = try commit(after: [tail(token.directory)], in: syncs)
        let directory = try #require(
            syncs.lastIndex { $0.path.contains("/.site.") && $0.path.hasSuffix(".making") }, "\(syncs)")
        #expect(moment < directory, "\(syncs)")
        let name = try #require(syncs.lastIndex { $0.path.hasSuffix(tail(directories.keychains)) }, "\(syncs)")
        #expect(directory < name, "\(syncs)")
    }

    @Test func `a keychain that cannot be made the default one is removed completely`() throws {
        let home = try TemporaryDirectory()
        let directories = Directories(root: URL(fileURLWithPath: home.path, isDirectory: true))
        let folder = directories.keychains
        try PrivateFile.createDirectory(folder)
        // After the keychain has its name, the name of the default keychain is synced here last.
        let strace = try Strace(failing: directories.configuration.path)
        let child = try Child(test, ["create", home.path, "site"], under: strace.command)
        try child.endInput()
        #expect(child.waitForEnd().lines == ["file.unavailable"])
        #expect(try strace.failures() > 0)
        let keychains = Keychains(directories)
        #expect(try keychains.all().isEmpty && keychains.defaultName() == nil)
        #expect(try SoftHSMDirectory(directories: directories).tokens().isEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    }

    @Test func `a written file is on disk with its name, and so are the directories above it`() throws {
        let home = try TemporaryDirectory()
        let (above, site) = (home.url("a"), home.url("a/site"))
        let syncs = try trace(["files", site.path])
        func last(_ tail: String) throws -> Int {
            try #require(syncs.lastIndex { $0.path.hasSuffix(tail) }, "\(tail) in \(syncs)")
        }
        let content = try #require(syncs.firstIndex { $0.path.contains("/site/chain.pem.") }, "\(syncs)")
        #expect(try content < last(tail(site)))
        #expect(try last("/" + URL(fileURLWithPath: home.path).lastPathComponent) < last(tail(above)))
        #expect(try last(tail(above)) < content, "\(syncs)")
        // This note is the first one of its keychain.
        let notes = "/hooks/" + test.keychain.configuration.uuid.uuidString.lowercased()
        let note = try #require(syncs.firstIndex { $0.path.contains(notes + "/") }, "\(syncs)")
        #expect(try last("/hooks") < note && note < last(notes), "\(syncs)")
    }

    /// Runs `command` in a child whose syncs of a path fail, and opens the keychain again.
    private func failing(_ command: String, syncOf path: String) throws -> Keychain {
        let strace = try Strace(failing: path)
        let child = try Child(test, ["objects"], under: strace.command)
        #expect(child.line() == "ready")
        child.send(command)
        #expect(child.line() == "file.unavailable")
        try child.endInput()
        #expect(child.waitForEnd().status == 0)
        #expect(try strace.failures() > 0)
        let healed = try test.reopen()
        try healed.unlock()
        #expect(try healed.integrity.findings().isEmpty)
        return healed
    }

    @Test func `a change that cannot be synced fails and leaves neither object nor row`() throws {
        let before = try objects(in: place)
        let rows = try test.keychain.store.read { try $0.rowCount() }
        let healed = try failing("key", syncOf: place.path)
        #expect(try healed.find(.keys).isEmpty)
        #expect(try objects(in: place) == before)
        // The next change removes the row of the object that was never made.
        #expect(try healed.store.read { try $0.rowCount() - $0.unfinishedRows().count } == rows)
        #expect(try healed.integrity.findings().isEmpty)
    }
}

@Suite struct TokenSynchronizationTests {
    @Test func `syncing a token whose directory is missing fails`() throws {
        let directory = try TemporaryDirectory()
        let softHSM = SoftHSMDirectory(root: directory.url("keyfob"))
        let token = SoftHSMToken(
            label: "gone", serial: "0123456789abcdef", hasUserPIN: true, directory: directory.url("gone"))
        #expect(code { try softHSM.makeDurable(token) } == .tokenAbsent)
    }
}
