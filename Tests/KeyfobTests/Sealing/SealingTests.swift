import Foundation
import GRDB
import KeyfobPrimitives
import KeyfobTesting
import KeyfobOpenSSL
import PKCS11
import TestSupport
import Testing

@testable import Keyfob

@Suite struct SealingTests {
    @Test func `padding hides lengths within a bucket, costs little, and is removed again`() throws {
        for count in Array(0...1100) + [4096, 65535, 1 << 20] {
            let padded = SecretPadding.paddedCount(count)
            #expect(padded >= count + 4)
            #expect(
                padded % 64 == 0
                    && (padded <= 1024 ? padded - count - 4 < 64 : Double(padded) <= Double(count + 4) * 1.0625))
            if count <= 1100 {
                let secret = SecretBytes([UInt8](repeating: 7, count: count))
                let whole = SecretPadding.pad(secret)
                #expect(whole.count == padded && SecretPadding.unpad(whole) == secret)
            }
        }
        #expect(Set((0...60).map { SecretPadding.paddedCount($0) }) == [64])
        #expect(Set((61...124).map { SecretPadding.paddedCount($0) }) == [128])
        for bad: [UInt8] in [[], [0, 0, 0], [0, 0, 0, 1], Array(repeating: 255, count: 64), [0, 0, 0, 0]] {
            #expect(SecretPadding.unpad(SecretBytes(bad)) == nil)
        }
    }

    @Test func `ciphertexts of secrets of similar length have one length in the vault`() throws {
        let test = try TestKeychain()
        for (index, count) in [0, 1, 8, 33, 60].enumerated() {
            try test.keychain.add(GenericPassword(service: "s\(index)"), secret: RandomBytes.secret(count: count))
        }
        #expect(try test.sql { try Set(Int.fetchAll($0, sql: "SELECT length(secret_ciphertext) FROM item")) } == [64])
    }

    @Test(arguments: WrapSuites.all.map(\.name))
    func `a suite wraps and unwraps on the token, and refuses a changed byte and another key`(name: String) throws {
        let suite = try WrapSuites.named(name)
        let made = try TestToken.make(label: "suite")
        let directory = try TemporaryDirectory()
        let token = try made.behind(FaultyModule(in: directory))
        let session = try token.openSession()
        let keys = try (0..<2).map { try suite.wrappingKey(label: "k\($0)", id: [UInt8($0)], in: session) }
        let count = try session.findObjects().count
        let secret = try RandomBytes.secret(count: 32)
        let wrapped = try suite.wrap(secret, with: keys[0], in: session)
        #expect(try suite.unwrap(wrapped, with: keys[0], in: session) == secret)
        func isRefused(_ bytes: [UInt8], with key: WrappingKey) throws -> Bool {
            // A session in which a call failed is not used again, because its state then depends on the module.
            let fresh = try token.openSession()
            do { _ = try suite.unwrap(bytes, with: key, in: fresh) } catch {
                // By the token, or by Keyfob if it checks the form.
                return (error as? PKCS11Error).map { $0.returnValue == .generalError || $0.isRefusalOfSuite }
                    ?? ((error as? KeychainError)?.code == .vaultDamaged)
            }
            return false
        }
        for index in wrapped.indices {
            var changed = wrapped
            changed[index] ^= 1
            #expect(try isRefused(changed, with: keys[0]), "byte \(index)")
        }
        #expect(try isRefused(wrapped, with: keys[1]))
        #expect(try isRefused(Array(wrapped.dropLast()), with: keys[0]))
        // Neither wrapping nor unwrapping leaves an object behind.
        #expect(try token.openSession().findObjects().count == count)
    }

    @Test func `attributes are read and written without the token`() throws {
        let test = try TestKeychain()
        let keychain = test.keychain
        let item = try keychain.add(GenericPassword(service: "s", account: "a"), secret: SecretBytes("secret"))
        let directory = SoftHSMDirectory(directories: test.directories)
        let token = try #require(directory.tokens().first { $0.label == keychain.name })
        let away = token.directory.path + "-away"
        try FileManager.default.moveItem(atPath: token.directory.path, toPath: away)
        defer {
            #expect(throws: Never.self) { try FileManager.default.moveItem(atPath: away, toPath: token.directory.path) }
        }
        #expect(try keychain.find(.genericPassword(service: "s")).first?.account == "a")
        #expect(try keychain.jwe(of: item).contains("ciphertext"))
        try keychain.add(GenericPassword(service: "no secret"), secret: nil)
        #expect(code { _ = try keychain.keys.generate(.p256, label: "x") } != nil)
    }

    /// OpenSC's recorder of PKCS#11 calls. Without it the test cannot count.
    private static let spy = "/usr/lib/x86_64-linux-gnu/pkcs11-spy.so"

    @Test(.enabled(if: FileManager.default.fileExists(atPath: spy)), arguments: [0, 1, 5])
    func `a secret costs one token operation, attributes cost none`(count: Int) throws {
        let test = try TestKeychain()
        for index in 0..<6 {
            try test.keychain.add(GenericPassword(service: "s\(index)"), secret: SecretBytes("\(index)"))
        }
        var configuration = test.configuration
        configuration.module = .path(Self.spy)
        try Keychains(test.directories).write(configuration)
        defer { #expect(throws: Never.self) { try Keychains(test.directories).write(test.configuration) } }
        let directory = try TemporaryDirectory()
        let child = try Child(
            test, ["secrets", "\(count)"],
            environment: ["PKCS11SPY": TestToken.modulePath, "PKCS11SPY_OUTPUT": directory.file("calls")])
        let end = child.waitForEnd()
        #expect(end.status == 0 && end.lines == ["ready", "6", "6"] + (0..<count).map { "\($0)" })
        let calls = try String(contentsOfFile: directory.file("calls"), encoding: .utf8).split(separator: "\n")
        func number(_ name: String) -> Int { calls.count { $0.hasSuffix(": " + name) } }
        // One more for the metadata key, when the keychain is unlocked.
        #expect(number("C_DecryptInit") == count + 1 && number("C_Decrypt") == count + 1)
        #expect(number("C_Login") == 1)
        #expect(number("C_FindObjectsInit") <= 1)
        let others = ["C_UnwrapKey", "C_Encrypt", "C_WrapKey", "C_GenerateKey", "C_CreateObject", "C_Sign"]
        #expect(others.allSatisfy { number($0) == 0 })
    }

    struct JWECase: Sendable, CustomTestStringConvertible {
        let suite: String
        let isGeneral: Bool
        var testDescription: String { suite + (isGeneral ? " of two recipients" : "") }
    }

    @Test(arguments: ["A256GCMKW", "A256KW"].flatMap { [JWECase(suite: $0, isGeneral: false), JWECase(suite: $0, isGeneral: true)] })
    func `the stock jose opens the JWE of an item with the key`(row: JWECase) throws {
        let test = try TestKeychain()
        let first = try test.keychain.vaultKeys()
        let material = try RandomBytes.secret(count: 32)
        let suite = try WrapSuites.named(row.suite)
        let id = try RandomBytes.bytes(count: 20)
        // A wrapping key whose value is known outside: no keychain creates such a key.
        let wrapped = try test.keychain.token.withSession(.create) { session in
            let handle = try session.create([
                .objectClass(.secretKey), .keyType(.aes), .token(true), .isPrivate(true), .sensitive(false),
                .extractable(true),
                .label("known"), .id(id), .encrypt(true), .decrypt(true), .wrap(true), .unwrap(true),
                .secret(.value, material),
            ])
            return try suite.wrap(first.metadataKey, with: WrappingKey(handle: handle), in: session)
        }
        try test.keychain.store.write(first.tree) { writer in
            _ = try writer.insert(WrappingKeyRow(
                keyID: "known \"key\"", suite: row.suite, objectID: Data(id), encryptedMetadataKey: wrapped, created: 0,
                isActive: true))
        }
        if !row.isGeneral {
            try test.sql { try $0.execute(sql: "UPDATE wrapping_key SET is_active = 0 WHERE key_id LIKE 'keyfob%'") }
        }
        let keychain = try test.reopen()
        let secret = "the secret of the JWE"
        let item = try keychain.add(GenericPassword(service: "s"), secret: SecretBytes(secret))
        let jwe = try keychain.jwe(of: item)
        #expect(jwe.contains("\"recipients\"") == row.isGeneral)
        let directory = try TemporaryDirectory()
        let jwk = "{\"kty\":\"oct\",\"alg\":\"\(row.suite)\",\"k\":\"\(Base64URL.encode(material.copyBytes()))\"}"
        let result = try run(
            "jose",
            ["jwe", "dec", "-i", directory.write(jwe.utf8, to: "jwe"), "-k", directory.write(jwk.utf8, to: "jwk")])
        #expect(result.status == 0, "\(result.stderr)")
        #expect(result.output.count == 64 && result.output.starts(with: Array(secret.utf8)))
        let other = "{\"kty\":\"oct\",\"alg\":\"\(row.suite)\",\"k\":\"\(Base64URL.encode([UInt8](repeating: 1, count: 32)))\"}"
        #expect(try run("jose", ["jwe", "dec", "-i", directory.file("jwe"), "-k", directory.write(other.utf8, to: "other")]).status != 0)
        // A process that cached the wrapping keys before finds the new one.
        #expect(try test.keychain.secret(of: item) == SecretBytes(secret))
    }
}
