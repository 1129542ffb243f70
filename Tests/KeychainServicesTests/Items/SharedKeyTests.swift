import Foundation
import Keyfob
import KeyfobOpenSSL
import Testing

@testable import KeychainServices

/// The token holds a key once, even if several items refer to it.
@Suite struct SharedKeyTests {
    private func exported(_ key: SecKey) -> Data? { SecKeyCopyExternalRepresentation(key, nil) as Data? }

    @Test(arguments: [["extr": false], ["tkid": "com.apple.setoken"]] as [[String: any Sendable]])
    func `a key that must not leave the token is not an item of one that may`(more: [String: any Sendable]) throws {
        let bench = try SecItemFixture()
        let key = try TestPair("one").secKey
        bench.expect(0, bench.add(["v_Ref": key, "atag": "first"]))
        bench.expect(-25299, bench.add(["v_Ref": key, "atag": "second"].merging(more) { $1 }))
        bench.expect(-25300, bench.copy(["class": "keys", "atag": "second"]))
        // Without the first item there is no conflict.
        bench.expect(0, bench.delete(["class": "keys", "atag": "first"]))
        bench.expect(0, bench.add(["v_Ref": key, "atag": "second"].merging(more) { $1 }))
        let stored = bench.copying(["class": "keys", "atag": "second"] + wantsReference).value
        let reference = try #require(stored as? SecKey)
        #expect(bench.use { exported(reference) } == nil)
    }

    @Test(arguments: [["extr": false], ["tkid": "com.apple.setoken"]] as [[String: any Sendable]])
    func `the same applies to a key by its reference, and in an identity`(more: [String: any Sendable]) throws {
        let bench = try SecItemFixture()
        let pair = try TestPair("one")
        bench.expect(0, bench.add(["v_Ref": pair.secKey, "atag": "first"]))
        let stored = bench.copying(["class": "keys", "atag": "first"] + wantsReference).value
        let found = try #require(stored as? SecKey)
        let identity = SecIdentity(certificate: pair.secCertificate, privateKey: found)
        for reference in [found, identity, pair.secIdentity] as [Any] {
            bench.expect(-25299, bench.add(["v_Ref": reference, "atag": "second"].merging(more) { $1 }))
        }
        bench.expect(-25300, bench.copy(["class": "keys", "atag": "second"]))
        bench.expect(-25300, bench.copy(["class": "cert"]))
    }

    /// A key on the token, by the reference from a search.
    private func found(_ pair: TestPair, _ attributes: [String: Any], in bench: SecItemFixture) throws -> SecKey {
        bench.expect(0, bench.add(attributes + ["v_Ref": pair.secKey, "atag": "first"]))
        let stored = bench.copying(["class": "keys", "atag": "first", "sync": "syna"] + wantsReference).value
        return try #require(stored as? SecKey)
    }

    @Test func `a key from a search is added without the attributes of its item`() throws {
        let bench = try SecItemFixture()
        let key = try found(TestPair("one"), ["sync": true, "vwht": "v", "labl": "first", "crtr": 7], in: bench)
        bench.expect(0, bench.add(["v_Ref": key, "atag": "second"]))
        let second = try #require(bench.copying(["class": "keys", "atag": "second"] + wantsAttributes).dictionary)
        #expect(second["sync"] as? Bool == false && second["crtr"] as? Int == 0)
        #expect(second["vwht"] == nil && second["labl"] == nil)
        // Without a tag it is another item, which can be added once.
        bench.expect(0, bench.add(["v_Ref": key]))
        bench.expect(-25299, bench.add(["v_Ref": key]))
        #expect(bench.copying(["class": "keys", "sync": "syna"] + wantsAll + wantsReference).array?.count == 3)
    }

    @Test func `an identity of a synchronizable key and a new certificate is found`() throws {
        let bench = try SecItemFixture()
        let pair = try TestPair("one")
        let key = try found(pair, ["sync": true], in: bench)
        bench.expect(0, bench.add(["v_Ref": SecIdentity(certificate: pair.secCertificate, privateKey: key)]))
        #expect(bench.copying(["class": "idnt"] + wantsReference).value as? SecIdentity == pair.secIdentity)
    }

    @Test func `a key with access control has it in each of its items, unless an item is added with another`() throws {
        let bench = try SecItemFixture()
        let pair = try TestPair("one")
        let control = SecAccessControl(protection: "aku", flags: .userPresence)
        let free = SecAccessControl(protection: "ck", flags: [])
        let key = try found(pair, ["accc": control], in: bench)
        let identity = SecIdentity(certificate: pair.secCertificate, privateKey: key)
        for reference in [key, identity] as [Any] {
            for said in [["sync": true], ["pdmn": "ck"]] as [[String: Any]] {
                bench.expect(-50, bench.add(["v_Ref": reference, "atag": "second"] + said))
            }
        }
        bench.expect(-25300, bench.copy(["class": "cert"]))
        let rows: [([String: Any], SecAccessControl)] = [([:], control), (["accc": free], free)]
        for (index, (said, expected)) in rows.enumerated() {
            let item: [String: Any] = ["class": "keys", "atag": "\(index)"]
            bench.expect(0, bench.add(item + said + ["v_Ref": key]))
            let added = try #require(bench.copying(item + wantsAttributes).dictionary)
            #expect(added["accc"] as? SecAccessControl == expected)
            #expect(added["pdmn"] as? String == expected.protection)
        }
    }

    @Test func `bytes are read again, also of a key that stays on the token`() throws {
        let bench = try SecItemFixture()
        let pair = try TestPair("one")
        let bytes = try #require(exported(pair.secKey))
        bench.expect(0, bench.add(["v_Ref": pair.secIdentity]))
        let query: [String: Any] = ["class": "keys", "atag": "mine"]
        let added = bench.adding(query + ["v_Data": bytes, "type": "73", "kcls": "1"] + wantsData)
        #expect(added.status == 0 && added.data == bytes)
        #expect(bench.copying(query + wantsData).data == bytes)
        // The identity's own key stays.
        bench.expect(0, bench.delete(query))
        #expect(bench.copying(["class": "idnt"] + wantsReference).value as? SecIdentity == pair.secIdentity)
        let stored = try #require(bench.copying(["class": "idnt"] + wantsReference).value as? SecIdentity)
        #expect(bench.use { exported(stored.privateKey) } == nil)
    }

    @Test func `an Ed25519 key that is added by reference does not claim to be extractable`() throws {
        let bench = try SecItemFixture()
        let key = SecKey(.memory(try PrivateKey.generate(.ed25519)))
        bench.expect(0, bench.add(["v_Ref": key, "atag": "ed"]))
        let query: [String: Any] = ["class": "keys", "atag": "ed"]
        let attributes = try #require(bench.copying(query + ["r_Attributes": true]).dictionary)
        #expect((attributes["extr"] as? NSNumber)?.boolValue == false)
        bench.expect(-25299, bench.add(["v_Ref": key, "atag": "ed"]))
    }

    @Test func `importing an identity again adds no item of its key`() throws {
        let bench = try SecItemFixture()
        let pair = try TestPair("one")
        bench.groups = ["one", "two"]
        bench.expect(0, bench.add(["v_Ref": pair.secIdentity, "agrp": "two"]))
        for isReplacing in [false, true, true] {
            _ = try bench.keychain.identities.importKeyPair(
                key: pair.key, certificate: pair.certificate, label: "web", isReplacing: isReplacing)
        }
        #expect(bench.copying(["class": "keys"] + wantsAll + wantsReference).array?.count == 1)
        bench.expect(0, bench.delete(["class": "idnt"]))
        #expect(try bench.keychain.find(.keys).isEmpty)
    }

    @Test(arguments: [1, 2]) func `an identity remains if the earlier item of its key is removed`(imports: Int) throws {
        let bench = try SecItemFixture()
        let pair = try TestPair("one")
        bench.expect(0, bench.add(["v_Ref": pair.secKey, "atag": "first", "labl": "first"]))
        for _ in 0..<imports {
            _ = try bench.keychain.identities.importKeyPair(key: pair.key, certificate: pair.certificate, label: "web")
        }
        #expect(bench.copying(["class": "keys"] + wantsAll + wantsReference).array?.count == 2)
        bench.expect(0, bench.delete(["class": "keys", "atag": "first"]))
        #expect(bench.copying(["class": "idnt"] + wantsReference).value as? SecIdentity == pair.secIdentity)
        #expect(try bench.keychain.find(.identity(label: "web")).count == 1)
    }
}
