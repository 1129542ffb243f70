import Foundation
import GRDB
import OpenSSL
import PKCS11
import TestSupport
import Testing

@testable import Keyfob

/// An index of the token's objects that another program has changed: it is not believed, and made anew.
@Suite struct IndexTamperTests {
    /// A keychain with two certificates, one of them trusted, and a key, and with an index of them.
    private func make() throws -> (test: TestKeychain, root: Certificate, other: Certificate) {
        let test = try TestKeychain()
        let root = try Certificate(der: TestCertificate("Root").der)
        let other = try Certificate(der: TestCertificate("Other").der)
        try test.keychain.trust(root, label: "root")
        try test.keychain.add(CertificateItem(other, label: "other"))
        _ = try test.keychain.generateKey(.p256, label: "web")
        _ = try test.reopen().find(.keys)
        try #require(try isTrue(test))
        return (test, root, other)
    }

    /// Whether the vault has an index that is whole and of the token's present state.
    private func isTrue(_ test: TestKeychain) throws -> Bool {
        let keychain = test.keychain
        let keys = try keychain.keys()
        guard let state = keychain.token.changeDetector?.snapshot()?.stamp else { return false }
        return try keychain.store.read { reader in
            guard let stamp = IndexStamp(try reader.objectIndexStamp(), of: state) else { return false }
            var (openSum, keyedSum) = (IndexSum(), IndexSum())
            try reader.forEachIndexedObject { entry in
                openSum += try IndexSum(of: entry, nil)
                keyedSum += try IndexSum(of: entry, keys)
            }
            return stamp.openSum == openSum && stamp.keyedSum(keys, vault: keychain.store.identity) == keyedSum
        }
    }

    /// Checks that another process sees what is on the token, and leaves a true index behind.
    private func expectHealing(_ test: TestKeychain, _ root: Certificate, _ other: Certificate) throws {
        #expect(try !isTrue(test))
        let locked = try test.reopen().index.objects(nil).compactMap(\.certificateDER)
        #expect(Set(locked) == [root.der, other.der])
        let keychain = try test.reopen()
        #expect(try Set(keychain.find(.certificates).map(\.der)) == [root.der, other.der])
        #expect(try keychain.trustAnchors().map(\.certificate) == [root])
        #expect(try keychain.find(.keys).map(\.label).contains("web"))
        #expect(code { _ = try keychain.generateKey(.p256, label: "web", isLabelUnique: true) } == .duplicateItem)
        #expect(try isTrue(test))
    }

    /// The row of a certificate in the index, and what it says.
    private func entry(_ test: TestKeychain, _ certificate: Certificate) throws -> (key: Data, object: TokenObject) {
        let rows = try test.sql {
            try Row.fetchAll($0, sql: "SELECT key, clear FROM token_object WHERE clear NOT NULL")
        }
        for row in rows {
            let (key, clear): (Data, Data) = (row["key"], row["clear"])
            if let object = TokenObject(encoded: Array(clear)), object.certificateDER == certificate.der {
                return (key, object)
            }
        }
        throw KeychainError(.itemNotFound, "the certificate is not in the index")
    }

    @Test(arguments: [
        "UPDATE token_object SET sealed_tag = zeroblob(16) WHERE sealed_tag NOT NULL",
        "UPDATE token_object SET sealed_iv = x'' WHERE sealed_iv NOT NULL",
        "UPDATE token_object SET clear = x'' WHERE clear NOT NULL",
        "UPDATE token_object SET key = randomblob(20)",
        "DELETE FROM token_object",
        "DELETE FROM token_object WHERE rowid = (SELECT min(rowid) FROM token_object WHERE clear NOT NULL)",
        "DELETE FROM token_object WHERE clear IS NULL",
        "INSERT INTO token_object (key, clear) SELECT x'01', clear FROM token_object WHERE clear NOT NULL LIMIT 1",
        // As a version left it that knew of no sums.
        "UPDATE token_index SET stamp = substr(stamp, 1, 33)",
        "UPDATE token_index SET stamp = CAST(substr(stamp, 1, 33) || zeroblob(124) AS BLOB)",
    ])
    func `an index that was changed is no error, hides nothing, and is made anew`(statement: String) throws {
        let (test, root, other) = try make()
        try test.sql { try $0.execute(sql: statement) }
        try expectHealing(test, root, other)
    }

    @Test(arguments: [false, true])
    func `another certificate in the place of one is not believed`(hasItsOwnFingerprint: Bool) throws {
        let (test, root, other) = try make()
        let (key, known) = try entry(test, root)
        var object = known
        let foreign = try TestCertificate("Evil").der
        object.certificateDER = foreign
        if hasItsOwnFingerprint {
            object.fingerprint = Digest.sha256(NewObject.classBytes(.certificate) + foreign)
        } else {
            #expect(TokenObject(encoded: object.encoded) == nil)
        }
        let clear = Data(object.encoded)
        try test.sql {
            try $0.execute(sql: "UPDATE token_object SET clear = ? WHERE key = ?", arguments: [clear, key])
        }
        try expectHealing(test, root, other)
    }

    @Test func `whoever makes the sum that needs no keys is not believed by those who have them`() throws {
        let (test, root, other) = try make()
        let (key, known) = try entry(test, root)
        var object = known
        object.label = .string("forged")
        let clear = Data(object.encoded)
        try test.sql { try $0.execute(sql: "UPDATE token_object SET clear = ? WHERE key = ?", arguments: [clear, key]) }
        var sum = IndexSum()
        try test.keychain.store.read { reader in
            try reader.forEachIndexedObject { sum += try IndexSum(of: $0, nil) }
        }
        let written = try #require(try test.keychain.store.read { try $0.objectIndexStamp() })
        var stamp = Array(written)
        stamp.replaceSubrange(33..<65, with: sum.bytes)
        let bytes = Data(stamp)
        try test.sql { try $0.execute(sql: "UPDATE token_index SET stamp = ?", arguments: [bytes]) }
        #expect(try test.reopen().index.objects(nil).contains { $0.label == .string("forged") })
        try expectHealing(test, root, other)
        #expect(try test.reopen().find(.certificates).allSatisfy { $0.label != "forged" })
    }

    @Test func `a certificate that was removed does not come back by a row that was kept aside`() throws {
        let (test, root, other) = try make()
        let keychain = test.keychain
        let (key, object) = try entry(test, other)
        let clear = Data(object.encoded)
        let item = try #require(try keychain.find(.certificates).first { $0.der == other.der })
        try test.sql { try $0.execute(sql: "DELETE FROM token_object WHERE key = ?", arguments: [key]) }
        // This process remembers the objects, and has no need of the index.
        try keychain.delete(item)
        try test.sql {
            try $0.execute(sql: "INSERT INTO token_object (key, clear) VALUES (?, ?)", arguments: [key, clear])
        }
        #expect(try test.reopen().find(.certificates).map(\.der) == [root.der])
    }

    @Test func `adding and removing keep the index true without making it anew`() throws {
        let (test, root, _) = try make()
        let keychain = test.keychain
        let added = try keychain.add(CertificateItem(Certificate(der: TestCertificate("Third").der), label: "third"))
        #expect(try isTrue(test))
        try keychain.delete(added)
        #expect(try isTrue(test))
        // Nobody else looks at the index before it is changed again.
        _ = try keychain.generateKey(.aes(bits: 256), label: "secret")
        #expect(try isTrue(test))
        #expect(try test.reopen().trustAnchors().map(\.certificate) == [root])
    }

    @Test func `a sum does not depend on the order, and counts what is there twice`() throws {
        let entries = (0..<3).map { IndexedObject(key: Data([$0]), content: .clear([$0, 1])) }
        let digests = try entries.map { try IndexSum(of: $0, nil) }
        var (forward, backward) = (IndexSum(), IndexSum())
        for digest in digests { forward += digest }
        for digest in digests.reversed() { backward += digest }
        #expect(forward == backward && IndexSum(forward.bytes) == forward)
        var twice = forward
        twice += digests[0]
        twice += digests[0]
        #expect(twice != forward)
        twice -= digests[0]
        twice -= digests[0]
        #expect(twice == forward)
        // Where one part of an entry ends and the next begins is part of it.
        let moved = IndexedObject(key: Data([0, 0]), content: .clear([1]))
        #expect(try IndexSum(of: moved, nil) != digests[0])
    }
}
