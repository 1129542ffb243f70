import Foundation
import GRDB
import KeyfobPrimitives
import KeyfobTesting
import TestSupport
import Testing

@testable import Keyfob

extension EveryToken {
    @Suite struct VaultTests {
        private func replaceVault(_ test: TestKeychain, with bytes: Data?) throws {
            for file in test.vaultFiles where FileManager.default.fileExists(atPath: file) {
                try FileManager.default.removeItem(atPath: file)
            }
            if let bytes { try bytes.write(to: URL(fileURLWithPath: test.configuration.vault)) }
        }

        @Test func `a vault of a newer version is not opened`() throws {
            let test = try TestKeychain()
            try test.sql { try $0.execute(sql: "PRAGMA user_version = \(Schema.version + 1)") }
            #expect(code { _ = try test.reopen() } == .vaultTooNew)
        }

        @Test(arguments: [
            ("missing", nil, KeychainError.Code.vaultUnavailable), ("empty", Data(), .vaultDamaged),
            ("text", Data(String(repeating: "not a database", count: 100).utf8), .vaultDamaged),
            ("one byte", Data([0]), .vaultDamaged),
        ])
        func `a file that is not a vault is refused`(row: (what: String, bytes: Data?, code: KeychainError.Code)) throws {
            let test = try TestKeychain()
            try replaceVault(test, with: row.bytes)
            for isOneShot in [true, false] {
                var options = Keychain.Options()
                options.isOneShot = isOneShot
                #expect(code { _ = try test.reopen(options) } == row.code, "\(row.what)")
            }
            if row.bytes?.isEmpty == true {
                #expect(try Data(contentsOf: URL(fileURLWithPath: test.configuration.vault)).isEmpty)
            }
        }

        @Test func `a database of another program is refused`() throws {
            let test = try TestKeychain()
            try replaceVault(test, with: nil)
            try test.sql { try $0.execute(sql: "CREATE TABLE t (x)") }
            #expect(code { _ = try test.reopen() } == .vaultDamaged)
        }

        @Test func `a page overwritten with random bytes causes an error, not a crash`() throws {
            let test = try TestKeychain()
            for index in 0..<40 {
                try test.keychain.add(GenericPassword(service: "s\(index)"), secret: SecretBytes("secret"))
            }
            let file = URL(fileURLWithPath: test.configuration.vault)
            let whole = try Data(contentsOf: file)
            for page in 1..<whole.count / 4096 {
                var bytes = whole
                for index in page * 4096..<(page + 1) * 4096 { bytes[index] = UInt8.random(in: 0...255) }
                try replaceVault(test, with: bytes)
                do {
                    let keychain = try test.reopen()
                    for item in try keychain.find(.genericPasswords) {
                        #expect(try keychain.secret(of: item) == SecretBytes("secret"))
                    }
                } catch let error as KeychainError {
                    #expect(
                        [.vaultDamaged, .wrappingKeyMissing, .vaultUnavailable, .itemNotFound].contains(error.code),
                        "\(error.code) \(error)")
                }
            }
        }

        @Test func `a write waits for another program that is writing to the vault, but not longer than its timeout`() throws {
            let test = try TestKeychain(.patient)
            try test.keychain.unlock()
            let keychain = try test.reopen(waitingForVault: .seconds(1))
            try test.sql { db in
                try db.inTransaction(.immediate) {
                    // Without the timeout, the wait would be ten seconds. On a busy machine, one second may take
                    // that long.
                    let isInTime = (0..<5).contains { _ in
                        let start = ContinuousClock.now
                        #expect(code { try keychain.add(GenericPassword(service: "s"), secret: nil) } == .vaultBusy)
                        let waited = ContinuousClock.now - start
                        #expect(waited > .milliseconds(900))
                        return waited < .seconds(10)
                    }
                    #expect(isInTime)
                    // Readers do not wait.
                    let found = try keychain.find(.genericPasswords)
                    #expect(found.isEmpty)
                    return .rollback
                }
            }
            try keychain.add(GenericPassword(service: "s"), secret: nil)
            let holder = VaultLock(path: test.configuration.lockFile.filePath, name: "the vault")
            try holder.withLock(until: .after(.seconds(60))) {
                #expect(code { _ = try keychain.keys.generate(.p256, label: "k") } == .vaultBusy)
            }
        }

        @Test func `the files of the keychain are accessible only to their owner`() throws {
            let test = try TestKeychain()
            try test.keychain.add(GenericPassword(service: "s"), secret: SecretBytes("x"))
            let root = test.directories.configuration.deletingLastPathComponent()
            let enumerator = try #require(FileManager.default.enumerator(atPath: root.path))
            var files = 0
            for case let name as String in enumerator {
                let attributes = try FileManager.default.attributesOfItem(atPath: root.path + "/" + name)
                #expect((attributes[.posixPermissions] as? Int).map { $0 & 0o077 } == 0, "\(name)")
                files += 1
            }
            #expect(files > 5)
        }

        @Test(arguments: [
            ("", 0o620, true), ("", 0o602, true), ("-journal", 0o666, true), ("", 0o644, false), (".", 0o770, true),
            (".", 0o777, true), (".", 0o1777, true), (".", 0o755, false),
        ])
        func `a vault that other users can write or replace is refused`(file: String, mode: Int, isRefused: Bool) throws {
            let test = try TestKeychain()
            try test.keychain.add(GenericPassword(service: "s"), secret: SecretBytes("x"))
            let vault = URL(fileURLWithPath: test.configuration.vault)
            let path = file == "." ? vault.deletingLastPathComponent().path : vault.path + file
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            #expect(code { _ = try test.reopen() } == (isRefused ? .unsafeFile : nil))
        }

        @Test func `the command that supplies the PIN is stopped at its timeout`() throws {
            let test = try TestKeychain()
            try test.keychain.lock()
            var options = Keychain.Options()
            options.pinSource = .command("sleep 200")
            options.pinCommandTimeout = .milliseconds(300)
            let started = Date()
            #expect(code { try test.reopen(options).unlock() } == .timedOut)
            #expect(Date().timeIntervalSince(started) < 120)
        }

        @Test(.needs(.forgivesWrongPINs)) func `a wrong stored PIN is sent once, however often the keychain is opened`() throws {
            let test = try TestKeychain()
            try test.keychain.add(GenericPassword(service: "s"), secret: SecretBytes("x"))
            // This process is logged in, so only another one would send a PIN.
            let good = try test.pin
            let file = URL(fileURLWithPath: String(try #require(test.configuration.pinSource).dropFirst(5)))
            try PrivateFile.write(SecretBytes("0000-wrong"), to: file)
            try test.keychain.lock()
            var codes: [KeychainError.Code?] = []
            for _ in 0..<5 { codes.append(code { try test.reopen().unlock() }) }
            #expect(codes == [.pinIncorrect] + Array(repeating: .pinRemembered, count: 4))
            try PrivateFile.write(SecretBytes(good), to: file)
            #expect(try test.reopen().find(.genericPasswords).count == 1)
        }

        @Test(.needs(.forgivesWrongPINs)) func `a wrong PIN does not unlock a keychain that is already unlocked`() throws {
            let test = try TestKeychain()
            try test.keychain.add(GenericPassword(service: "s"), secret: SecretBytes("x"))
            #expect(code { try test.keychain.unlock(with: SecretBytes("0000-wrong")) } == .pinIncorrect)
            #expect(code { _ = try test.keychain.unlockForSession(with: SecretBytes("0000-wrong")) } == .pinIncorrect)
            try test.keychain.unlock(with: SecretBytes(try test.pin))
            #expect(try test.keychain.find(.genericPasswords).count == 1)
        }

        @Test func `a locked keychain has no keys and serves nothing from memory`() throws {
            let test = try TestKeychain()
            var options = Keychain.Options()
            options.pinSource = .file("/nonexistent")
            let keychain = try test.reopen(options)
            #expect(code { try keychain.unlock() } != nil)
            try keychain.unlock(with: SecretBytes(try test.pin))
            try keychain.add(GenericPassword(service: "s"), secret: SecretBytes("x"))
            #expect(keychain.isUnlocked)
            try keychain.lock()
            #expect(!keychain.isUnlocked)
            #expect(code { _ = try keychain.find(.genericPasswords) } != nil)
        }
    }
}
