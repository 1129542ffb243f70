import Foundation
import KeyfobPrimitives
import KeyfobTesting
import PKCS11
import TestSupport
import Testing

@testable import Keyfob

/// A keychain that is removed while it is in use.
@Suite struct RemovedKeychainTests {
    @Test func `using a removed keychain reports the removal and not damage`() throws {
        let test = try TestKeychain()
        let keychain = try test.reopen()
        try keychain.add(GenericPassword(service: "a"), secret: SecretBytes("x"))
        try Keychains(test.directories).delete(keychain.name)
        #expect(code { try keychain.add(GenericPassword(service: "b"), secret: SecretBytes("x")) } == .noSuchKeychain)
        #expect(code { _ = try keychain.keys.generate(.p256, label: "k") } == .noSuchKeychain)
        #expect(code { try keychain.update(.genericPassword(service: "a"), [.label: "x"]) } == .noSuchKeychain)
    }

    @Test func `a keychain whose configuration exists is not reported as removed when its vault is missing`() throws {
        let test = try TestKeychain()
        let vault = test.configuration.vault
        try FileManager.default.moveItem(atPath: vault, toPath: vault + ".away")
        #expect(code { _ = try test.reopen() } == .vaultUnavailable)
        try FileManager.default.moveItem(atPath: vault + ".away", toPath: vault)
        #expect(code { _ = try test.reopen().find(.genericPasswords) } == nil)
    }

    @Test func `a keychain with a missing vault is removed only if the caller asks for it`() throws {
        let test = try TestKeychain()
        let keychains = Keychains(test.directories)
        let (name, vault) = (test.keychain.name, test.configuration.vault)
        try FileManager.default.moveItem(atPath: vault, toPath: vault + ".away")
        #expect(code { _ = try keychains.removal(of: name) } == .vaultUnavailable)
        #expect(code { try keychains.delete(name) } == .vaultUnavailable)
        let serial = try #require(test.keychain.token.uri.serial)
        #expect(try keychains.softHSM.token(serial: serial, label: name) != nil)
        #expect(code { try keychains.delete(name, withoutVault: true) } == nil)
        #expect(try keychains.softHSM.token(serial: serial, label: name) == nil)
    }

    @Test func `a removal waits for another process that makes a token only until its timeout`() throws {
        let test = try TestKeychain()
        let directory = try TemporaryDirectory()
        var directories = test.directories
        directories.tokens = directory.url("tokens")
        let (name, keychains) = (test.keychain.name, Keychains(directories))
        let softHSM = keychains.softHSM
        // A token whose file was emptied by a kill, which may be the keychain's token.
        let token = softHSM.tokensDirectory.appendingPathComponent(UUID().uuidString.lowercased(), isDirectory: true)
        try PrivateFile.createDirectory(token)
        try PrivateFile.write(SecretBytes(""), to: token.appendingPathComponent("token.object", isDirectory: false))
        try FileLock.holding(softHSM.lockFile, deadline: .after(.seconds(60))) { () throws(KeychainError) -> Void in
            #expect(code { _ = try keychains.removal(of: name, timeout: .zero) } == .timedOut)
            #expect(code { try keychains.delete(name, timeout: .zero) } == .timedOut)
        }
        #expect(code { _ = try keychains.removal(of: name, timeout: .seconds(120)) } == .refused)
    }

    @Test func `a keychain that is being removed counts as removed, even if its vault still exists`() throws {
        let test = try TestKeychain()
        let keychains = Keychains(test.directories)
        let error = KeychainError(.tokenAbsent, "the token is not present.")
        #expect(keychains.explanation(of: error, test.configuration).code == .tokenAbsent)
        let (name, hidden) = (test.configuration.directory, test.directories.keychains.appending(path: ".x"))
        try FileManager.default.moveItem(at: name, to: hidden)
        #expect(keychains.explanation(of: error, test.configuration).code == .noSuchKeychain)
        try FileManager.default.moveItem(at: hidden, to: name)
    }

    @Test func `a keychain made again under the name of a removed one receives no items of the removed one`() throws {
        let test = try TestKeychain()
        let (keychain, keychains) = (try test.reopen(), Keychains(test.directories))
        try keychains.delete(keychain.name)
        let made = try keychains.create(keychain.name, on: .new(.file))
        #expect(code { try keychain.add(GenericPassword(service: "b"), secret: SecretBytes("x")) } == .noSuchKeychain)
        #expect(code { _ = try keychain.keys.generate(.p256, label: "k") } == .noSuchKeychain)
        #expect(try made.keychain.find(.genericPasswords).isEmpty && made.keychain.find(.keys).isEmpty)
    }
}
