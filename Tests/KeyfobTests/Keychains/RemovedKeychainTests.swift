import Foundation
import KeyfobPrimitives
import KeyfobTesting
import PKCS11
import TestSupport
import Testing

@testable import Keyfob

/// A keychain that goes while somebody uses it.
@Suite struct RemovedKeychainTests {
    @Test func `whoever goes on using a keychain that was removed is told that, and not of damage`() throws {
        let test = try TestKeychain()
        let keychain = try test.reopen()
        try keychain.add(GenericPassword(service: "a"), secret: SecretBytes("x"))
        try Keychains(test.throwaway.directories).delete(keychain.name)
        #expect(code { try keychain.add(GenericPassword(service: "b"), secret: SecretBytes("x")) } == .noSuchKeychain)
        #expect(code { _ = try keychain.generateKey(.p256, label: "k") } == .noSuchKeychain)
        #expect(code { try keychain.update(.genericPassword(service: "a"), [.label: "x"]) } == .noSuchKeychain)
    }

    @Test func `a keychain whose configuration is still there was not removed, whatever became of its vault`() throws {
        let test = try TestKeychain()
        let vault = test.configuration.vault
        try FileManager.default.moveItem(atPath: vault, toPath: vault + ".away")
        #expect(code { _ = try test.reopen() } == .vaultUnavailable)
        try FileManager.default.moveItem(atPath: vault + ".away", toPath: vault)
        #expect(code { _ = try test.reopen().find(.genericPasswords) } == nil)
    }

    @Test func `a keychain whose vault is not there is removed only by who says so`() throws {
        let test = try TestKeychain()
        let keychains = Keychains(test.throwaway.directories)
        let (name, vault) = (test.keychain.name, test.configuration.vault)
        try FileManager.default.moveItem(atPath: vault, toPath: vault + ".away")
        #expect(code { _ = try keychains.removal(of: name) } == .vaultUnavailable)
        #expect(code { try keychains.delete(name) } == .vaultUnavailable)
        let serial = try #require(test.keychain.token.uri.serial)
        #expect(try keychains.softHSM.token(serial: serial, label: name) != nil)
        #expect(code { try keychains.delete(name, withoutVault: true) } == nil)
        #expect(try keychains.softHSM.token(serial: serial, label: name) == nil)
    }

    @Test func `whoever makes a token is waited for no longer than the caller wants to`() throws {
        let test = try TestKeychain()
        let directory = try TemporaryDirectory()
        var directories = test.throwaway.directories
        directories.tokens = directory.url("tokens")
        let (name, keychains) = (test.keychain.name, Keychains(directories))
        let softHSM = keychains.softHSM
        // A token whose file a kill has emptied: it may be that of the keychain.
        let token = softHSM.tokensDirectory.appendingPathComponent(UUID().uuidString.lowercased(), isDirectory: true)
        try PrivateFile.createDirectory(token)
        try PrivateFile.write(SecretBytes(""), to: token.appendingPathComponent("token.object", isDirectory: false))
        try FileLock.holding(softHSM.lockFile, deadline: .after(.seconds(60))) { () throws(KeychainError) -> Void in
            #expect(code { _ = try keychains.removal(of: name, timeout: .zero) } == .timedOut)
            #expect(code { try keychains.delete(name, timeout: .zero) } == .timedOut)
        }
        #expect(code { _ = try keychains.removal(of: name, timeout: .seconds(120)) } == .refused)
    }

    @Test func `a keychain that is just being removed is gone, also where its vault is still there`() throws {
        let test = try TestKeychain()
        let keychains = Keychains(test.throwaway.directories)
        let error = KeychainError(.tokenAbsent, "the token is not present.")
        #expect(keychains.explanation(of: error, test.configuration).code == .tokenAbsent)
        let (name, hidden) = (test.configuration.directory, test.throwaway.directories.keychains.appending(path: ".x"))
        try FileManager.default.moveItem(at: name, to: hidden)
        #expect(keychains.explanation(of: error, test.configuration).code == .noSuchKeychain)
        try FileManager.default.moveItem(at: hidden, to: name)
    }

    @Test func `a keychain that was removed and made again under the same name takes nothing for the old one`() throws {
        let test = try TestKeychain()
        let (keychain, keychains) = (try test.reopen(), Keychains(test.throwaway.directories))
        try keychains.delete(keychain.name)
        let made = try keychains.create(keychain.name, on: .new(.file))
        #expect(code { try keychain.add(GenericPassword(service: "b"), secret: SecretBytes("x")) } == .noSuchKeychain)
        #expect(code { _ = try keychain.generateKey(.p256, label: "k") } == .noSuchKeychain)
        #expect(try made.keychain.find(.genericPasswords).isEmpty && made.keychain.find(.keys).isEmpty)
    }
}
