import Foundation
import GRDB
import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11
import TestSupport
import Testing

@testable import Keyfob

/// Wrapping keys that another program has put into the vault, or that were damaged.
@Suite struct WrappingKeyTests {
    /// Puts an AES key of known value on the token, as a program that can write its directory can, and names it in the
    /// vault.
    ///
    /// - Parameter isPrivate: Whether the object is private, which a program without the PIN cannot make.
    private func plant(
        in test: TestKeychain, isPrivate: Bool, isActive: Bool = true
    ) throws {
        let suite = try WrapSuites.named(try test.keychain.vaultRows.wrappingKeyRows()[0].suite)
        let id = try RandomBytes.bytes(count: 20)
        let other = try RandomBytes.secret(count: 32)
        let wrapped = try test.keychain.token.withSession(.create) { session in
            let handle = try session.create([
                .objectClass(.secretKey), .keyType(.aes), .token(true), .isPrivate(isPrivate), .sensitive(false),
                .extractable(true), .label("planted"), .id(id), .encrypt(true), .decrypt(true), .wrap(true),
                .unwrap(true), .secret(.value, RandomBytes.secret(count: 32)),
            ])
            return try suite.wrap(other, with: WrappingKey(handle: handle), in: session)
        }
        // At the front: the last one unlocks.
        try test.sql {
            try $0.execute(
                sql: """
                    INSERT INTO wrapping_key (id, key_id, suite, object_id, encrypted_metadata_key, created, is_active)
                    VALUES (-1, 'planted', ?, ?, ?, 0, ?)
                    """, arguments: [suite.name, Data(id), Data(wrapped), isActive])
        }
    }

    @Test(arguments: [true, false])
    func `nothing is sealed for a wrapping key that is not the keychain's own`(isPrivate: Bool) throws {
        let test = try TestKeychain()
        let before = try test.keychain.add(GenericPassword(service: "before"), secret: SecretBytes("1"))
        try plant(in: test, isPrivate: isPrivate)
        let keychain = try test.reopen()
        #expect(try keychain.secret(of: before) == SecretBytes("1"))
        let item = try keychain.add(GenericPassword(service: "after"), secret: SecretBytes("2"))
        #expect(try keychain.secret(of: item) == SecretBytes("2"))
        let recipients = try test.sql { try Int64.fetchAll($0, sql: "SELECT wrapping_key FROM recipient") }
        #expect(recipients.count == 2 && !recipients.contains(-1))
        // A key that is visible without a login is not a wrapping key.
        let finding: VaultFinding.Code = isPrivate ? .wrappingKeyDamaged : .wrappingKeyAbsent
        #expect(try keychain.integrity.findings().map(\.code) == [finding])
    }

    @Test func `a vault whose wrapping key is not marked as active is a finding`() throws {
        let test = try TestKeychain()
        let item = try test.keychain.add(GenericPassword(service: "a"), secret: SecretBytes("1"))
        try test.sql { try $0.execute(sql: "UPDATE wrapping_key SET is_active = 0") }
        let keychain = try test.reopen()
        #expect(try keychain.secret(of: item) == SecretBytes("1"))
        #expect(try keychain.integrity.findings().map(\.code) == [.wrappingKeyInactive])
    }

    @Test func `if only a foreign wrapping key is active, nothing is stored`() throws {
        let test = try TestKeychain()
        // Open, so that the metadata key need not be unwrapped with it.
        _ = try test.keychain.vaultKeys()
        try plant(in: test, isPrivate: true)
        try test.sql { try $0.execute(sql: "UPDATE wrapping_key SET is_active = 0 WHERE id <> -1") }
        test.keychain.lockState.withLock { ($0.wrappingKeys, $0.ownWrappingKeys) = ([], []) }
        let error = #expect(throws: KeychainError.self) {
            try test.keychain.add(GenericPassword(service: "s"), secret: SecretBytes("x"))
        }
        #expect(error?.code == .vaultDamaged)
        #expect(error?.message.contains("planted") == true)
        #expect(try test.keychain.find(.genericPasswords).isEmpty)
    }

    /// A bit of the key's value, so that another key wraps and unwraps from then on.
    @Test func `a wrapping key with a damaged file is detected, and seals nothing`() throws {
        let test = try TestKeychain()
        // SoftHSM derives the serial number from the end of the directory's name.
        let serial = try #require(test.keychain.token.uri.serial).suffix(12)
        let files = try FileManager.default.subpathsOfDirectory(atPath: TestKeychain.tokens.path + "/tokens")
            .filter { $0.contains("\(serial)/") && $0.hasSuffix(".object") && !$0.hasSuffix("/token.object") }
        try #require(files.count == 1)
        let path = TestKeychain.tokens.path + "/tokens/" + files[0]
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        let head = Data([0, 0, 0, 0, 0, 0, 0, 0x11, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0x40])
        let value = try #require(bytes.range(of: head)).upperBound
        // In the first block, the initialisation vector: the key decrypts to another one.
        bytes[value + 3] ^= 1
        // Its generation, by which SoftHSM in this process detects that the file has changed.
        bytes[7] &+= 1
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try file.write(contentsOf: bytes)
        try file.close()
        // As for a command after another one has unlocked: it need not unwrap anything.
        let keys = try test.keychain.vaultKeys()
        let keychain = try test.reopen()
        keychain.lockState.withLock { $0.keys = keys }
        keychain.token.forgetHandles()
        let error = #expect(throws: KeychainError.self) {
            try keychain.add(GenericPassword(service: "s"), secret: SecretBytes("x"))
        }
        // SoftHSM, which has the object in memory, unwraps with the damaged key or shows the key no more.
        let codes: [KeychainError.Code?] = [.vaultDamaged, .wrappingKeyMissing]
        #expect(codes.contains(error?.code), "\(String(describing: error))")
        let findings = try keychain.integrity.findings().map(\.code)
        #expect(findings == [.wrappingKeyDamaged] || findings == [.wrappingKeyAbsent])
    }
}
