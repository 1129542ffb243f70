import Foundation
import Keyfob
import KeyfobTesting
import KeyfobOpenSSL
import Synchronization
import Testing

@testable import KeychainServices

@Suite("Items")
struct ItemTests {
    /// `KEYFOB_THREAD_CALLS` is the number of calls in each thread; the default is 1,000.
    private static var calls: Int {
        ProcessInfo.processInfo.environment["KEYFOB_THREAD_CALLS"].flatMap { Int($0) } ?? 1_000
    }

    @Test("eight threads at once end in the right state")
    func threads() throws {
        let bench = try SecItemFixture()
        let keychain = bench.keychain
        let failures = Atomic(0)
        let rounds = Self.calls / 5
        let threads = (0..<8).map { thread in
            Thread.running {
                SecKeychainUse(keychain) {
                    for round in 0..<rounds {
                        let item = genp("\(thread)", "\(round)")
                        var result: CFTypeRef?
                        var statuses = [
                            SecItemAdd(item + ["v_Data": Data("old".utf8)] as CFDictionary, nil),
                            SecItemUpdate(item as CFDictionary, ["v_Data": Data("\(thread) \(round)".utf8)] as CFDictionary),
                            unsafe SecItemCopyMatching(item + wantsData as CFDictionary, &result),
                            SecItemUpdate(item as CFDictionary, ["labl": "new"] as CFDictionary),
                        ]
                        if round % 2 == 1 { statuses.append(SecItemDelete(item as CFDictionary)) }
                        let isRight = result as? Data == Data("\(thread) \(round)".utf8)
                        if !isRight || statuses.contains(where: { $0 != 0 }) { failures.add(1, ordering: .relaxed) }
                    }
                }
            }
        }
        for thread in threads { thread.wait() }
        #expect(failures.load(ordering: .relaxed) == 0)
        let left = bench.copying(["class": "genp", "labl": "new"] + wantsAttributes + wantsData + wantsAll).dictionaries
        #expect(left?.count == 8 * ((rounds + 1) / 2))
        for item in left ?? [] {
            let expected = "\(item["acct"] as? String ?? "") \(item["svce"] as? String ?? "")"
            #expect(item["v_Data"] as? Data == Data(expected.utf8))
        }
    }

    @Test("text and bytes are the same key, and are returned in the given form")
    func blobs() throws {
        let bench = try SecItemFixture()
        bench.expect(0, bench.add(genp("a", "s", ["gena": Data("g".utf8), "icmt": "c"])))
        bench.expect(-25299, bench.add(["class": "genp", "acct": Data("a".utf8), "svce": Data("s".utf8)]))
        let found = try #require(
            bench.copying(["class": "genp", "acct": Data("a".utf8), "gena": "g"] + wantsAttributes).dictionary)
        #expect(found["gena"] as? Data == Data("g".utf8) && found["acct"] as? String == "a")
        #expect(found["sync"] as? Bool == false && found["cdat"] is Date && found["mdat"] is Date)
        #expect(found["agrp"] as? String == "" && found["pdmn"] as? String == "ak" && found["class"] as? String == "genp")
    }

    @Test("attributes outside the primary key do not make two items")
    func primaryKeys() throws {
        let bench = try SecItemFixture()
        bench.expect(0, bench.add(genp("a", "s", ["gena": "1", "labl": "1", "pdmn": "ak"])))
        bench.expect(-25299, bench.add(genp("a", "s", ["gena": "2", "labl": "2", "pdmn": "ck"])))
        bench.expect(0, bench.add(genp("a", "s", ["sync": true])))
        bench.expect(0, bench.add(["class": "genp", "acct": "", "svce": "t"]))
        bench.expect(-25299, bench.add(["class": "genp", "svce": "t"]))
    }

    @Test("the shapes of results", arguments: [0, 1])
    func shapes(_ isSeveral: Int) throws {
        let bench = try SecItemFixture()
        bench.expect(0, bench.add(genp("a", "s", ["v_Data": Data("x".utf8)])))
        bench.expect(0, bench.add(genp("b", "s")))
        let kinds = ["r_Data", "r_Attributes", "r_Ref", "r_PersistentRef"]
        for mask in 0..<16 {
            let wanted = kinds.indices.filter { mask & 1 << $0 != 0 }.map { kinds[$0] }
            let query = genp("a", "s") + Dictionary(uniqueKeysWithValues: wanted.map { ($0, true) })
            let answer = bench.copying(query + (isSeveral == 1 ? wantsAll : [:]))
            #expect(answer.status == 0 && answer.isTouched)
            let value: Any? = isSeveral == 1 ? answer.array?.first : answer.value
            switch wanted {
            case [], ["r_Ref"]: #expect(value == nil && (isSeveral == 0 || answer.array?.isEmpty == true))
            case ["r_Data"]: #expect(value as? Data == Data("x".utf8))
            case ["r_PersistentRef"]: #expect((value as? Data)?.count == 20)
            default:
                let found = try #require(value as? [String: Any])
                #expect((found["v_Data"] != nil) == wanted.contains("r_Data"))
                #expect((found["v_PersistentRef"] != nil) == wanted.contains("r_PersistentRef"))
                #expect((found["acct"] != nil) == wanted.contains("r_Attributes"))
                #expect(found["class"] as? String == "genp" && found["v_Ref"] == nil)
            }
        }
        // An item without data gives nothing in a search, is left out of an array, and gives empty data when it is
        // added.
        #expect(bench.copying(genp("b", "s") + wantsData).value == nil)
        #expect(bench.copying(["class": "genp", "svce": "s"] + wantsData + wantsAll).array?.count == 1)
        #expect(bench.adding(genp("c", "s") + wantsData).data == Data())
    }

    @Test("limits count the items that pass all filters")
    func limits() throws {
        let bench = try SecItemFixture()
        for account in ["a", "b", "c"] { bench.expect(0, bench.add(genp(account, "s"))) }
        func count(_ limit: Any) -> Int? { bench.copying(["class": "genp", "m_Limit": limit] + wantsAttributes).array?.count }
        #expect(count(2) == 2 && count(10) == 3 && count(-1) == 3 && count("m_LimitAll") == 3)
        #expect(bench.copying(["class": "genp", "m_Limit": 1] + wantsAttributes).dictionary != nil)
        let reference = try #require(bench.copying(genp("c", "s") + wantsPersistent).data)
        let listed = bench.copying(["class": "genp", "m_ItemList": [reference], "m_Limit": 2] + wantsAttributes)
        #expect(listed.dictionaries?.map { $0["acct"] as? String } == ["c"])
        #expect(bench.copying(["class": "genp", "m_ItemList": [reference]] + wantsPersistent).data == reference)
    }

    @Test("a subject is searched by part, case and whole")
    func subjects() throws {
        let bench = try SecItemFixture()
        bench.expect(0, bench.add(["v_Ref": try TestPair("Alpha Beta").secCertificate]))
        for (key, text, ignoresCase, status) in [
            ("Contains", "ha B", false, 0), ("Contains", "HA B", false, -25300), ("Contains", "HA B", true, 0),
            ("StartsWith", "Alpha", false, 0), ("StartsWith", "Beta", false, -25300), ("StartsWith", "alpha", true, 0),
            ("EndsWith", "Beta", false, 0), ("EndsWith", "Alpha", false, -25300), ("EndsWith", "BETA", true, 0),
            ("WholeString", "Alpha Beta", false, 0), ("WholeString", "Alpha", false, -25300),
            ("WholeString", "ALPHA beta", true, 0),
        ] {
            let query: [String: Any] = ["class": "cert", "m_Subject\(key)": text, "m_CaseInsensitive": ignoresCase]
            bench.expect(OSStatus(status), bench.copy(query), "\(key) \(text)")
        }
    }

    @Test("one certificate can be an item of two groups")
    func sharedCertificate() throws {
        let bench = try SecItemFixture()
        bench.groups = ["1", "2"]
        let certificate = try TestPair().secCertificate
        bench.expect(0, bench.add(["v_Ref": certificate]))
        bench.expect(0, bench.add(["v_Ref": certificate, "agrp": "2"]))
        bench.expect(-25299, bench.add(["v_Ref": certificate, "agrp": "2"]))
        bench.expect(0, bench.delete(["v_Ref": certificate, "agrp": "1"]))
        bench.expect(-25300, bench.copy(["v_Ref": certificate, "agrp": "1"]))
        bench.expect(0, bench.copy(["v_Ref": certificate, "agrp": "2"]))
        bench.expect(0, bench.delete(["v_Ref": certificate]))
        #expect(try bench.keychain.find(.certificates).isEmpty)
    }

    @Test("a key that is given as data is used on the token, and its data can be replaced")
    func keyData() throws {
        let bench = try SecItemFixture()
        let keys = try (0..<2).map { _ in try PrivateKey.generate(.ec(.p256)) }
        let data = try keys.map { try SecKey(.memory($0)).externalRepresentation() }
        let item: [String: Any] = ["class": "keys", "type": "73", "kcls": "1", "atag": "tag"]
        let reference = bench.adding(item + ["v_Data": data[0]] + wantsPersistent).data
        // As with Apple, the bytes do not distinguish two items.
        bench.expect(-25299, bench.add(item + ["v_Data": data[1]]))
        #expect(bench.copying(item + wantsReference).value as? SecKey == SecKey(.memory(keys[0])))
        bench.expect(0, bench.update(item, ["v_Data": data[1], "labl": "new"]))
        let found = bench.copying(item + ["labl": "new"] + wantsData + wantsReference + wantsPersistent).dictionary
        #expect(found?["v_Data"] as? Data == data[1])
        #expect(found?["v_Ref"] as? SecKey == SecKey(.memory(keys[1])))
        #expect(found?["v_PersistentRef"] as? Data == reference)
        // The private key and its public half; the old pair is gone.
        #expect(try bench.keychain.find(.keys).count == 2)
        bench.expect(0, bench.delete(item))
        #expect(try bench.keychain.find(.keys).isEmpty)
    }

    @Test("bytes that are not a key are stored unchanged")
    func symmetricKey() throws {
        let bench = try SecItemFixture()
        let item: [String: Any] = ["class": "keys", "atag": Data("tag".utf8)]
        bench.expect(0, bench.add(item + ["v_Data": Data(count: 32)]))
        #expect(bench.copying(item + wantsData).data == Data(count: 32))
        bench.expect(0, bench.update(item, ["v_Data": Data(count: 16)]))
        #expect(bench.copying(item + wantsData).data == Data(count: 16))
        let answer = bench.copying(item + wantsReference)
        #expect(answer.status == 0 && answer.value == nil)
    }

    @Test("a key that may not leave the token gives no data")
    func sensitiveKey() throws {
        let bench = try SecItemFixture()
        let pair = try TestPair()
        bench.expect(0, bench.add(["v_Ref": pair.secKey, "extr": false]))
        let answer = bench.copying(["v_Ref": pair.secKey] + wantsData + wantsReference)
        #expect(answer.dictionary?["v_Data"] == nil && answer.dictionary?["v_Ref"] as? SecKey == pair.secKey)
    }

    @Test("items of the Swift API and the command are found, and the other way round")
    func otherSide() throws {
        let bench = try SecItemFixture()
        try bench.keychain.add(GenericPassword(service: "s", account: "a"), secret: nil)
        bench.expect(-25299, bench.add(genp("a", "s")))
        bench.expect(0, bench.copy(genp("a", "s", ["pdmn": "ak", "agrp": ""])))
        bench.expect(0, bench.add(genp("b", "s")))
        #expect(try bench.keychain.find(.genericPassword(service: "s")).count == 2)
    }

    @Test("an update changes the modification date and no other date")
    func dates() throws {
        let bench = try SecItemFixture()
        bench.expect(0, bench.add(genp("a", "s", ["labl": "l", "cdat": Date(timeIntervalSince1970: 0)])))
        let before = try #require(bench.copying(genp("a", "s") + wantsAttributes).dictionary)
        #expect(before["cdat"] as? Date != Date(timeIntervalSince1970: 0))
        bench.expect(0, bench.update(genp("a", "s"), [:]))
        let after = try #require(bench.copying(genp("a", "s") + wantsAttributes).dictionary)
        #expect(try #require(after["mdat"] as? Date) > #require(before["mdat"] as? Date))
        #expect(after["cdat"] as? Date == before["cdat"] as? Date && after["labl"] as? String == "l")
    }

    @Test("an update that fails for one item changes none")
    func rollback() throws {
        let bench = try SecItemFixture()
        for account in ["a", "b"] { bench.expect(0, bench.add(genp(account, "s", ["labl": "l"]))) }
        bench.expect(-25299, bench.update(["class": "genp", "labl": "l"], ["acct": "same", "labl": "new"]))
        #expect(bench.copying(["class": "genp", "labl": "l"] + wantsAttributes + wantsAll).array?.count == 2)
    }

    @Test("a digest comes with data, changes with the item and finds it")
    func digests() throws {
        let bench = try SecItemFixture()
        let item = genp("a", "s")
        let added = bench.adding(item + ["v_Data": Data("1".utf8)] + wantsAttributes).dictionary?["sha1"] as? Data
        #expect(added?.count == 20)
        #expect(bench.copying(item + wantsAttributes).dictionary?["sha1"] == nil)
        #expect(bench.copying(item + wantsAttributes + wantsData).dictionary?["sha1"] as? Data == added)
        bench.expect(0, bench.copy(item + ["sha1": try #require(added)]))
        bench.expect(0, bench.update(item, ["v_Data": Data("2".utf8)]))
        bench.expect(-25300, bench.copy(item + ["sha1": try #require(added)]))
    }
}
