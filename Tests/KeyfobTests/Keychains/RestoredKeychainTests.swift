import Foundation
import KeyfobPrimitives
import KeyfobTesting
import TestSupport
import Testing

@testable import Keyfob

/// Backups that a program makes and restores while its process uses SoftHSM.
@Suite struct RestoredKeychainTests {
    @Test func `a program restores a keychain that it has removed, and opens it`() throws {
        let test = try TestKeychain()
        let (keychains, directory) = (Keychains(test.directories), try TemporaryDirectory())
        let (name, file) = (test.keychain.name, directory.url("backup.tar"))
        try test.keychain.add(GenericPassword(service: "a"), secret: SecretBytes(utf8: "secret"))
        _ = try test.keychain.keys.generate(.p256, label: "k")
        let keys = try test.keychain.find(.keys).count
        let made = try keychains.backUp(name, to: file)
        #expect(made.keychain == name && made.containsToken)
        #expect(code { try keychains.backUp(name, to: file) } == .refused)
        #expect(code { _ = try keychains.checkBackup(at: file) } == .duplicateKeychain)
        try keychains.delete(name)
        #expect(try keychains.restore(from: file).keychain == name)
        let keychain = try keychains.open(name)
        let item = try keychain.only(.genericPassword(service: "a"))
        #expect(try keychain.secret(of: item) == SecretBytes(utf8: "secret"))
        #expect(try keychain.find(.keys).count == keys)
    }

    @Test func `a backup waits for another process that changes the token until its timeout`() throws {
        let test = try TestKeychain()
        let (keychains, directory) = (Keychains(test.directories), try TemporaryDirectory())
        let (name, file) = (test.keychain.name, directory.url("backup.tar"))
        let holder = VaultLock(path: test.configuration.lockFile.filePath, name: "the keychain")
        try holder.withLock(until: .after(.seconds(60))) {
            #expect(code { try keychains.backUp(name, to: file, timeout: .zero) } == .vaultBusy)
        }
        #expect(!FileManager.default.fileExists(atPath: file.path))
        #expect(code { try keychains.backUp(name, to: file, timeout: .seconds(60)) } == nil)
    }

    @Test func `remains of killed processes are distinguished from keychains that are being made`() throws {
        let directory = try TemporaryDirectory()
        let folder = directory.url("keychains")
        try PrivateFile.createDirectory(folder)
        func count() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: folder.path).count }
        let running = try KeychainDraft("a.b", in: folder)
        try PrivateFile.createDirectory(folder.appendingPathComponent(".a.b.1.making", isDirectory: true))
        #expect(try count() == 2)
        #expect(try KeychainDraft.exists("a.b", isRunning: false, in: folder))
        #expect(try !KeychainDraft.exists("a", isRunning: true, in: folder))
        try KeychainDraft.removeRemains(of: "a", in: folder)
        #expect(try count() == 2)
        try KeychainDraft.removeRemains(in: folder)
        #expect(try count() == 1)
        #expect(try !KeychainDraft.exists(isRunning: false, in: folder))
        #expect(try KeychainDraft.exists("a.b", isRunning: true, in: folder))
        // A keychain that has the name already stays unchanged.
        let taken = folder.appendingPathComponent("a.b", isDirectory: true)
        try PrivateFile.createDirectory(taken)
        try PrivateFile.write(SecretBytes("x"), to: taken.appendingPathComponent("x", isDirectory: false))
        #expect(code { try running.publish(as: taken) } == .duplicateKeychain)
        #expect(try FileManager.default.contentsOfDirectory(atPath: taken.path) == ["x"])
    }
}
