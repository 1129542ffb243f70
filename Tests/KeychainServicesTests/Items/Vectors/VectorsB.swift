import Foundation
import KeyfobOpenSSL
import KeyfobTesting
import Keyfob
import Testing

@testable import KeychainServices

/// An internet password with every primary key attribute.
var webPassword: [String: Any] {
    [
        "class": "inet", "srvr": "corn.example", "acct": "eric", "port": 80, "ptcl": "http", "atyp": "dflt",
        "sdmn": "realm", "path": "/index",
    ]
}

extension Vector {
    /// CopyMatching: matches and mismatches.
    static let groupB: [Vector] = [
        Vector(29, "nothing is found and the result is left unchanged") { bench in
            let answer = bench.copying(["class": "inet", "srvr": "x", "acct": "y"] + wantsData)
            #expect(answer.status == -25300 && !answer.isTouched)
        },
        Vector(30, "found by all attributes, without a requested result") { bench in
            bench.expect(0, bench.add(webPassword + ["v_Data": Data("pw".utf8)]))
            let answer = bench.copying(webPassword)
            #expect(answer.status == 0 && answer.value == nil)
        },
        Vector(31, "the returned attributes are a query that finds the item") { bench in
            bench.expect(0, bench.add(webPassword + ["v_Data": Data("pw".utf8)]))
            let answer = bench.copying(webPassword + wantsAttributes + ["m_Limit": "m_LimitOne"])
            var query = try #require(answer.dictionary)
            query["sha1"] = nil
            let found = bench.copying(query + ["class": "inet"] + wantsData)
            #expect(found.status == 0 && found.data == Data("pw".utf8))
        },
        Vector(33, "all data") { bench in
            bench.expect(0, bench.add(webPassword + ["v_Data": Data("pw".utf8)]))
            #expect(bench.copying(webPassword + wantsAll + wantsData).array as? [Data] == [Data("pw".utf8)])
        },
        Vector(34, "all persistent references") { bench in
            bench.expect(0, bench.add(webPassword))
            let found = bench.copying(webPassword + wantsAll + wantsPersistent).array as? [Data]
            #expect(found?.count == 1 && found?.first?.count == 20)
        },
        Vector(35, "an item without data, with its attributes") { bench in
            bench.expect(0, bench.add(genp("a", "s")))
            let found = try #require(bench.copying(genp("a", "s") + wantsAll + wantsData + wantsAttributes).dictionaries)
            #expect(found.count == 1 && found[0]["v_Data"] == nil)
            #expect(found[0]["acct"] as? String == "a" && found[0]["svce"] as? String == "s")
        },
        Vector(37, "the extra data of an internet password, with data and attributes") { bench in
            bench.expect(0, bench.add(webPassword + extraData + ["v_Data": Data("pw".utf8)]))
            let one = try #require(bench.copying(webPassword + wantsData + wantsAttributes).dictionary)
            let many = try #require(bench.copying(webPassword + wantsData + wantsAttributes + wantsAll).dictionaries?.first)
            for found in [one, many] {
                for (name, value) in extraData { #expect(found[name] as? Data == value as? Data) }
            }
            let bare = try #require(bench.copying(webPassword + wantsAttributes).dictionary)
            #expect(extraData.keys.allSatisfy { bare[$0] == nil })
        },
        Vector(38, "data alone is the password alone") { bench in
            bench.expect(0, bench.add(webPassword + extraData + ["v_Data": Data("pw".utf8)]))
            #expect(bench.copying(webPassword + wantsData).data == Data("pw".utf8))
        },
        Vector(39, "one piece of extra data is changed") { bench in
            bench.expect(0, bench.add(webPassword + extraData + ["v_Data": Data("pw".utf8)]))
            bench.expect(0, bench.update(webPassword, ["bini": Data("new".utf8)]))
            let found = try #require(bench.copying(webPassword + wantsData + wantsAttributes).dictionary)
            for (name, value) in extraData + ["bini": Data("new".utf8)] { #expect(found[name] as? Data == value as? Data) }
            #expect(found["v_Data"] as? Data == Data("pw".utf8))
        },
        Vector(41, "attributes never contain the row's identity") { bench in
            let added = bench.adding(genp("a", "s") + wantsAttributes + wantsPersistent).dictionary
            #expect(added != nil && added?["persistref"] == nil)
            let reference = try #require(added?["v_PersistentRef"] as? Data)
            let found = bench.copying(["v_PersistentRef": reference] + wantsAttributes).dictionary
            #expect(found?["acct"] as? String == "a" && found?["persistref"] == nil)
        },
        Vector(42, "every synchronizable item has a persistent reference") { bench in
            bench.expect(0, bench.add(genp("a", "s", ["sync": true])))
            let found = bench.copying(
                genp("a", "s", ["sync": "syna"]) + wantsAll + wantsAttributes + wantsPersistent
            ).dictionaries
            #expect(found?.count == 1 && found?.first?["v_PersistentRef"] is Data)
        },
        Vector(43, "both halves of a generated pair are found by label") { bench in
            let parameters: [String: Any] = [
                "type": "73", "bsiz": 256, "private": ["labl": "priv", "perm": true] as [String: Any],
                "public": ["labl": "pub", "perm": true] as [String: Any],
            ]
            let key = try bench.generating(parameters)
            let publicKey = bench.copying(["class": "keys", "labl": "pub"] + wantsReference).value as? SecKey
            let privateKey =
                bench.copying(["class": "keys", "labl": "priv", "sign": true] + wantsReference).value as? SecKey
            #expect(privateKey == key)
            #expect(publicKey != nil && publicKey == SecKeyCopyPublicKey(key))
        },
    ]

    private static var extraData: [String: Any] {
        [
            "binn": Data("notes".utf8), "bini": Data("history".utf8), "bin0": Data("0".utf8), "bin1": Data("1".utf8),
            "bin2": Data("2".utf8), "bin3": Data("3".utf8),
        ]
    }
}
