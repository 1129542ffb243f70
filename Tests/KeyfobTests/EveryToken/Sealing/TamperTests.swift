import Foundation
import GRDB
import KeyfobPrimitives
import KeyfobTesting
import KeyfobOpenSSL
import PKCS11
import TestSupport
import Testing

@testable import Keyfob

extension EveryToken {
    /// The information that an attacker with the file and no key can find, and the changes that they can make.
    @Suite struct TamperTests {
        @Test func `no name, secret or hash of one is in the file or its journal`() throws {
            let test = try TestKeychain()
            let texts = ["service", "account", "label", "comment", "secret"].map { $0 + "-" + UUID().uuidString }
            var item = GenericPassword(service: texts[0], account: texts[1], label: texts[2])
            item.comment = texts[3]
            let added = try test.keychain.add(item, secret: SecretBytes(texts[4]))
            try test.keychain.find(.genericPassword(service: texts[0])).forEach { _ = try test.keychain.secret(of: $0) }
            var written = added
            written.comment = texts[3] + "!"
            try test.keychain.write(written)
            var looked = 0
            for path in test.vaultFiles where FileManager.default.fileExists(atPath: path) {
                let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
                looked += 1
                let attributes = try FileManager.default.attributesOfItem(atPath: path)
                #expect(attributes[.posixPermissions] as? Int == 0o600, "\(path)")
                for text in texts {
                    let clear = Data(text.utf8)
                    for hash in [Digest.sha1(clear), Digest.sha256(clear)] {
                        #expect(bytes.range(of: hash) == nil)
                        #expect(bytes.range(of: Data(hash.hexadecimal.utf8)) == nil)
                        #expect(bytes.range(of: Data(hash.hexadecimal.uppercased().utf8)) == nil)
                    }
                    #expect(bytes.range(of: clear) == nil)
                    #expect(bytes.range(of: Data(clear.base64EncodedString().utf8)) == nil)
                }
            }
            #expect(looked == 2)
        }

        /// The visible items: never a wrong secret. `nil` stands for an error or an item that is not found.
        private func observe(_ keychain: Keychain, _ service: String) throws -> [String?] {
            do {
                return try keychain.find(.genericPassword(service: service)).map {
                    #expect($0.service == service && $0.comment == "comment-" + service)
                    return try keychain.secret(of: $0)?.copyString()
                }
            } catch let error as KeychainError {
                #expect([.vaultDamaged, .wrappingKeyMissing].contains(error.code), "\(error.code)")
                return [nil]
            }
        }

        private func makePair(_ test: TestKeychain) throws {
            for name in ["one", "two"] {
                var item = GenericPassword(service: name, account: "a")
                item.comment = "comment-" + name
                try test.keychain.add(item, secret: SecretBytes("secret-" + name))
            }
        }

        @Test(arguments: [
            "identity", "class", "primary_key", "version", "created", "modified", "attributes_iv", "attributes_ciphertext",
            "attributes_tag", "secret_iv", "secret_ciphertext", "secret_tag",
        ])
        func `a changed byte in a column of an item is an error or not found, never a wrong secret`(column: String) throws {
            let test = try TestKeychain()
            try makePair(test)
            let bound = !["primary_key", "created", "modified"].contains(column)
            let original = try #require(
                test.sql { try DatabaseValue.fetchOne($0, sql: "SELECT \(column) FROM item ORDER BY id LIMIT 1") })
            var values: [DatabaseValue] = []
            if case .blob(let data) = original.storage {
                for index in stride(from: 0, to: data.count, by: max(1, data.count / 12)) {
                    var changed = data
                    changed[index] ^= 1 << UInt8.random(in: 0...7)
                    values.append(changed.databaseValue)
                }
                values += [data.dropLast().databaseValue, (data + [0]).databaseValue, Data().databaseValue, "text".databaseValue, 5.databaseValue]
            } else if case .int64(let number) = original.storage {
                values = [(number ^ 1).databaseValue, (number ^ 256).databaseValue, (-number).databaseValue, Int64.max.databaseValue,
                    "text".databaseValue, Data([1, 2]).databaseValue]
            }
            for value in values {
                try test.sql { db in
                    try db.execute(
                        sql: "UPDATE item SET \(column) = ? WHERE id = (SELECT MIN(id) FROM item)", arguments: [value])
                }
                let seen = try observe(test.keychain, "one")
                let isAllowed = seen == [] || seen == [nil] || (!bound && seen == ["secret-one"])
                #expect(isAllowed, "\(column) \(value): \(seen)")
                #expect(try observe(test.keychain, "two") == ["secret-two"])
                try test.sql { db in
                    try db.execute(
                        sql: "UPDATE item SET \(column) = ? WHERE id = (SELECT MIN(id) FROM item)", arguments: [original])
                }
            }
            #expect(try observe(test.keychain, "one") == ["secret-one"])
        }

        @Test func `a changed byte in a wrapped key is an error, and ends no other login`() throws {
            let test = try TestKeychain()
            try makePair(test)
            // With a public wrapping key, this is the first login.
            #expect(try observe(test.keychain, "two") == ["secret-two"])
            let epoch = try test.keychain.token.pool().loginEpoch
            for column in ["encrypted_key", "code"] {
                let original = try #require(
                    test.sql { try Data.fetchOne($0, sql: "SELECT \(column) FROM recipient ORDER BY item") })
                for index in stride(from: 0, to: original.count, by: 7) {
                    var changed = original
                    changed[index] ^= 0x40
                    try setFirst(column, changed, in: test)
                    #expect(try observe(test.keychain, "one") == [nil])
                    #expect(try observe(test.keychain, "two") == ["secret-two"])
                }
                for changed in [Data(), original.dropLast(), original + [0]] {
                    try setFirst(column, changed, in: test)
                    #expect(try observe(test.keychain, "one") == [nil])
                }
                try setFirst(column, original, in: test)
                #expect(try observe(test.keychain, "one") == ["secret-one"])
            }
            // A damaged row must not make the whole process initialise the module again.
            #expect(try test.keychain.token.pool().loginEpoch == epoch)
            try test.sql { try $0.execute(sql: "UPDATE wrapping_key SET encrypted_metadata_key = zeroblob(60)") }
            #expect(code { try test.reopen().unlock() } == .vaultDamaged)
            try test.sql { try $0.execute(sql: "UPDATE wrapping_key SET object_id = zeroblob(20)") }
            // The configuration names the private key of a pair, so another name in the vault is damage.
            let isPair = try test.keychain.vaultRows.wrappingKeyRows().contains { $0.publicKey != nil }
            #expect(code { try test.reopen().unlock() } == (isPair ? .vaultDamaged : .wrappingKeyMissing))
        }

        /// Sets a column of the first item's recipient.
        private func setFirst(_ column: String, _ value: Data, in test: TestKeychain) throws {
            try test.sql {
                try $0.execute(
                    sql: "UPDATE recipient SET \(column) = ? WHERE item = (SELECT MIN(id) FROM item)",
                    arguments: [value])
            }
        }

        /// The software TPM answers a wrong RSA block with the code of a TPM that has failed.
        @Test(.needs(.otherPrograms)) func `after an attempt with a changed wrapped key, another process opens secrets`() throws {
            let test = try TestKeychain()
            try makePair(test)
            let original = try #require(
                test.sql { try Data.fetchOne($0, sql: "SELECT encrypted_key FROM recipient ORDER BY item") })
            for changed in [Data(repeating: 0, count: original.count), Data(repeating: 255, count: original.count)] {
                try setFirst("encrypted_key", changed, in: test)
                #expect(try observe(test.keychain, "one") == [nil])
            }
            try setFirst("encrypted_key", original, in: test)
            let end = try Child(test, ["secrets", "2"]).waitForEnd()
            #expect(end.status == 0)
            #expect(end.lines == ["ready", "2", "2", "secret-one", "secret-two"])
        }

        @Test func `a changed wrapped key is an error without a call of the token`() throws {
            let test = try TestKeychain()
            try makePair(test)
            let keys = try test.keychain.vaultKeys()
            let pin = test.keychain.lockState.withLock { $0.pin }
            try test.sql { try $0.execute(sql: "UPDATE recipient SET encrypted_key = zeroblob(length(encrypted_key))") }
            // As for a command after another one has unlocked: it need not unwrap the metadata key.
            let keychain = try test.reopen()
            keychain.lockState.withLock { ($0.keys, $0.pin) = (keys, pin) }
            let item = try keychain.only(.genericPassword(service: "one"))
            #expect(code { _ = try keychain.secret(of: item) } == .vaultDamaged)
            #expect(code { _ = try keychain.jwe(of: item) } == .vaultDamaged)
            #expect(keychain.token.loadedModule == nil)
        }

        @Test(arguments: [
            "attributes_iv = (SELECT attributes_iv FROM item ORDER BY id DESC), attributes_ciphertext = (SELECT attributes_ciphertext FROM item ORDER BY id DESC), attributes_tag = (SELECT attributes_tag FROM item ORDER BY id DESC)",
            "secret_iv = (SELECT secret_iv FROM item ORDER BY id DESC), secret_ciphertext = (SELECT secret_ciphertext FROM item ORDER BY id DESC), secret_tag = (SELECT secret_tag FROM item ORDER BY id DESC)",
            "version = 2",
        ])
        func `a value from another row does not open in this one`(assignment: String) throws {
            let test = try TestKeychain()
            try makePair(test)
            try test.sql { db in
                try db.execute(sql: "UPDATE item SET \(assignment) WHERE id = (SELECT MIN(id) FROM item)")
                if assignment.contains("secret") {
                    // With its key, so that only the binding can reveal it.
                    try db.execute(sql: """
                        UPDATE recipient SET (encrypted_key, code) =
                            (SELECT encrypted_key, code FROM recipient ORDER BY item DESC)
                        WHERE item = (SELECT MIN(id) FROM item)
                        """)
                }
            }
            #expect(try observe(test.keychain, "one") == [nil])
            #expect(try observe(test.keychain, "two") == ["secret-two"])
        }

        @Test(arguments: ["secret", "attributes"])
        func `an old version's ciphertext does not open in the newer row`(part: String) throws {
            let test = try TestKeychain()
            try makePair(test)
            let columns = ["iv", "ciphertext", "tag"].map { "\(part)_\($0)" }
            let old = try #require(test.sql { try Row.fetchOne($0, sql: "SELECT \(columns.joined(separator: ", ")), encrypted_key, code FROM item JOIN recipient ON item = id ORDER BY id") })
            try test.keychain.update(.genericPassword(service: "one"), [.label: "new"], secret: SecretBytes("newer"))
            #expect(try observe(test.keychain, "one") == ["newer"])
            try test.sql { db in
                let id = try #require(try Int64.fetchOne(db, sql: "SELECT MIN(id) FROM item"))
                try db.execute(
                    sql: "UPDATE item SET \(columns.map { "\($0) = ?" }.joined(separator: ", ")) WHERE id = ?",
                    arguments: [old[0] as Data, old[1] as Data, old[2] as Data, id])
                if part == "secret" {
                    try db.execute(
                        sql: "UPDATE recipient SET encrypted_key = ?, code = ? WHERE item = ?",
                        arguments: [old[3] as Data, old[4] as Data, id])
                }
            }
            #expect(try observe(test.keychain, "one") == [nil])
        }

        @Test(.needs(.wrapsWithAES)) func `rows do not open in a vault of another identity, even with the same keys`() throws {
            let test = try TestKeychain()
            try makePair(test)
            try test.sql { try $0.execute(sql: "UPDATE vault SET value = zeroblob(16) WHERE name = 'identity'") }
            let other = try test.reopen()
            #expect(try other.find(.genericPasswords).isEmpty)
            let reference = try #require(test.keychain.find(.genericPasswords).first?.reference)
            #expect(code { _ = try other.item(reference) } == .vaultDamaged)
        }

        @Test func `a damaged row does not hide the others, and can be removed by its reference`() throws {
            let test = try TestKeychain()
            try makePair(test)
            let reference = try #require(test.keychain.find(.genericPassword(service: "one")).first?.reference)
            try test.sql {
                try $0.execute(sql: "UPDATE item SET attributes_tag = zeroblob(16) WHERE id = (SELECT MIN(id) FROM item)")
            }
            #expect(code { _ = try test.keychain.find(.genericPasswords) } == .vaultDamaged)
            var seen: [String] = []
            var damaged = 0
            try test.keychain.forEach(.genericPasswords, damaged: { _ in damaged += 1 }) { item in
                seen.append(item.service)
                return true
            }
            #expect(seen == ["two"] && damaged == 1)
            try test.keychain.delete(Criteria(reference))
            #expect(try test.keychain.find(.genericPasswords).count == 1)
        }

        @Test(arguments: ["attributes_tag", "secret_tag", "attributes_ciphertext"])
        func `the error of a damaged row names the row, and that name removes it`(column: String) throws {
            let test = try TestKeychain()
            try makePair(test)
            let reference = try #require(test.keychain.find(.genericPassword(service: "one")).first?.reference)
            let before = try #require(test.keychain.find(.genericPassword(service: "one")).first)
            try test.sql {
                try $0.execute(sql: "UPDATE item SET \(column) = zeroblob(16) WHERE id = (SELECT MIN(id) FROM item)")
            }
            do {
                _ = try test.keychain.secret(of: before)
                Issue.record("a damaged row gave its secret")
            } catch let error as KeychainError {
                #expect(error.code == .vaultDamaged)
                #expect(error.details["item"] == reference.identity.hexadecimal)
                let bytes = try #require(Data(base64Encoded: error.details["reference"] ?? ""))
                #expect(bytes == reference.data)
                #expect(try test.keychain.delete(Criteria(PersistentReference(bytes))) == 1)
            }
            #expect(try test.keychain.find(.genericPasswords).map(\.service) == ["two"])
        }

        @Test func `a row whose class is damaged can be removed by its reference`() throws {
            let test = try TestKeychain()
            try makePair(test)
            let item = try test.keychain.only(.genericPassword(service: "one"))
            try test.sql {
                try $0.execute(sql: "UPDATE item SET class = zeroblob(8) WHERE id = (SELECT MIN(id) FROM item)")
            }
            #expect(code { _ = try test.keychain.secret(of: item) } == .vaultDamaged)
            try test.keychain.delete(item)
            #expect(try test.keychain.store.read { try $0.rowCount() } == 1)
        }
    }
}
