import Foundation
import KeyfobOpenSSL
import Testing

@testable import KeychainServices

extension Rule {
    private static let rows = ["genp", "inet", "cert", "keys"]

    /// Protection, groups, tombstones and repeated additions, in every class.
    static let protection: [Rule] = [
        Rule("1.9", "every class accepts every accessibility, returns it, and changes it") { bench in
            for itemClass in rows {
                for protection in ["ak", "ck", "dk", "aku", "cku", "dku", "akpu"] {
                    let item: [String: Any] = ["class": itemClass, "vwht": protection]
                    bench.expect(0, bench.add(item + ["pdmn": protection]), "\(itemClass) \(protection)")
                    let found = bench.copying(item + wantsAttributes).dictionary
                    #expect(found?["pdmn"] as? String == protection, "\(itemClass) \(protection)")
                    let control = SecAccessControl(protection: protection, flags: [])
                    #expect(found?["accc"] as? SecAccessControl == control, "\(itemClass) \(protection)")
                    let other = SecAccessControl(protection: "cku", flags: [])
                    bench.expect(0, bench.update(item, ["accc": other]), "\(itemClass) \(protection)")
                    bench.expect(0, bench.copy(item + ["pdmn": "cku", "accc": control]), "\(itemClass) \(protection)")
                    bench.expect(-50, bench.update(item, ["accc": other, "pdmn": "ck"]), "\(itemClass) \(protection)")
                }
                for value in ["f", "", "zz", "AK", 1, NSNull()] as [Any] {
                    bench.expect(-50, bench.add(["class": itemClass, "vwht": "x", "pdmn": value]), "\(itemClass) \(value)")
                    bench.expect(-50, bench.copy(["class": itemClass, "pdmn": value]), "\(itemClass) \(value)")
                }
                for value in ["ak", 1, NSNull(), Data()] as [Any] {
                    bench.expect(-50, bench.delete(["class": itemClass, "accc": value]), "\(itemClass) \(value)")
                }
            }
        },
        Rule("2.5 4.6", "an item that needs confirmation is listed, and its bytes are returned to no caller without it") { bench in
            let control = SecAccessControl(protection: "cku", flags: .userPresence)
            for itemClass in rows {
                let item: [String: Any] = ["class": itemClass]
                bench.expect(0, bench.add(item + ["accc": control, "v_Data": Data("x".utf8)]), itemClass)
                for shape in [wantsData, wantsData + wantsAll, wantsData + wantsPersistent] {
                    let answer = bench.copying(item + shape)
                    #expect(answer.status == -25308 && !answer.isTouched, "\(itemClass) \(shape.keys)")
                }
                #expect(bench.copying(item + wantsPersistent).data?.count == 20, "\(itemClass)")
                #expect(bench.copying(item + wantsAttributes).dictionary?["accc"] as? SecAccessControl == control, "\(itemClass)")
                bench.expect(-25308, bench.copy(item + ["u_AuthUI": "u_AuthUIF"]), itemClass)
                bench.expect(-25308, bench.copy(item + ["u_NoAuthUI": true]), itemClass)
                bench.expect(-25300, bench.copy(item + ["u_AuthUI": "u_AuthUIS"]), itemClass)
                bench.expect(-25299, bench.add(item + ["pdmn": "ak"]), itemClass)
                bench.expect(0, bench.update(item + ["u_AuthUI": "u_AuthUIF"], ["labl": "l"]), itemClass)
                bench.expect(0, bench.delete(item + ["u_AuthUI": "u_AuthUIF"]), itemClass)
            }
        },
        Rule("2.10", "a tombstone of every class is found by name, has no data, and is removed or replaced") { bench in
            let pair = try TestPair()
            for (itemClass, item) in [
                ("genp", genp("a", "s")), ("inet", ["class": "inet", "srvr": "h"]), ("cert", ["v_Ref": pair.secCertificate]),
                ("keys", ["v_Ref": pair.secKey]),
            ] as [(String, [String: Any])] {
                let tombstone: [String: Any] = ["class": itemClass, "tomb": true]
                let reference = try #require(bench.adding(item + ["labl": "l"] + wantsPersistent).data)
                bench.expect(0, bench.delete(item + ["u_Tomb": true]), itemClass)
                for query in [item, ["class": itemClass], ["v_PersistentRef": reference]] as [[String: Any]] {
                    bench.expect(-25300, bench.copy(query), itemClass)
                    bench.expect(-25300, bench.update(query, ["labl": "x"]), itemClass)
                    bench.expect(-25300, bench.delete(query), itemClass)
                }
                let found = bench.copying(tombstone + wantsAttributes + wantsData + wantsReference).dictionary
                #expect(found?["tomb"] as? Int == 1 && found?["labl"] == nil && found?["v_Data"] == nil, "\(itemClass)")
                bench.expect(0, bench.add(item), itemClass)
                bench.expect(-25300, bench.copy(tombstone), itemClass)
                bench.expect(0, bench.delete(item + ["u_Tomb": true]), itemClass)
                bench.expect(0, bench.delete(tombstone), itemClass)
                bench.expect(-25300, bench.delete(tombstone), itemClass)
                for value in [1, "x", NSNull()] as [Any] { bench.expect(-50, bench.delete(item + ["u_Tomb": value]), itemClass) }
            }
        },
        Rule("2.3", "the group that an item gets, and the groups that may be named") { bench in
            for (groups, first, readable, refused) in [
                (["one"], "one", ["one"], ["", "*", "One", "other"]), (["com.apple.token", "one"], "one", ["one"], [""]),
                (["", "one"], "", ["", "one"], ["two"]), (["A", "a"], "A", ["A", "a"], ["b"]), (["*"], "", ["x", ""], []),
                (["ü"], "ü", ["ü"], ["u", "u\u{308}"]),
            ] as [([String], String, [String], [String])] {
                bench.groups = groups
                let item = genp("\(groups)", "s")
                #expect(bench.adding(item + wantsAttributes).dictionary?["agrp"] as? String == first, "\(groups)")
                for group in readable {
                    let status: OSStatus = group == first ? 0 : -25300
                    bench.expect(status, bench.copy(item + ["agrp": group]), "\(groups) \(group)")
                    bench.expect(status, bench.copy(item + ["agrp": Data(group.utf8)]), "\(groups) \(group)")
                }
                bench.expect(-25300, bench.copy(item + ["agrp": "com.apple.token"]), "\(groups)")
                for group in refused + ["com.apple.token"] {
                    bench.expect(-34018, bench.add(genp("x", "s", ["agrp": group])), "\(groups) \(group)")
                    bench.expect(-34018, bench.update(item, ["agrp": group]), "\(groups) \(group)")
                    bench.expect(-34018, bench.delete(item + ["agrp": group]), "\(groups) \(group)")
                }
                for group in refused { bench.expect(-34018, bench.copy(item + ["agrp": group]), "\(groups) \(group)") }
                bench.expect(0, bench.delete(item), "\(groups)")
            }
        },
        Rule("2.8", "a dictionary with its data makes the item again after the item is removed") { bench in
            let pair = try TestPair()
            bench.expect(0, bench.add(genp("a", "s", ["icmt": "c", "gena": Data([1]), "v_Data": Data("x".utf8)])))
            bench.expect(0, bench.add(["class": "inet", "srvr": "h", "port": 80, "bini": Data([2]), "v_Data": Data("x".utf8)]))
            bench.expect(0, bench.add(["v_Ref": pair.secCertificate]))
            bench.expect(0, bench.add(["v_Ref": pair.secKey, "atag": "t"]))
            for itemClass in rows {
                let shape = wantsAttributes + wantsData
                var first = try #require(bench.copying(["class": itemClass] + shape).dictionary)
                bench.expect(-25299, bench.add(first), itemClass)
                bench.expect(0, bench.delete(["class": itemClass]), itemClass)
                bench.expect(0, bench.add(first), itemClass)
                var second = try #require(bench.copying(["class": itemClass] + shape).dictionary)
                for name in ["cdat", "mdat", "sha1"] { (first[name], second[name]) = (nil, nil) }
                #expect(first as NSDictionary == second as NSDictionary, "\(itemClass)")
            }
            #expect(bench.copying(["class": "idnt"] + wantsReference).value as? SecIdentity == pair.secIdentity)
        },
        Rule("1.6", "certificates with one issuer and serial number are one item, numbered as in DER") { bench in
            let pairs = try (0..<2).map { _ in try TestPair("same", ["-set_serial", "0x80"]) }
            bench.expect(0, bench.add(["v_Ref": pairs[0].secCertificate]))
            bench.expect(-25299, bench.add(["v_Ref": pairs[1].secCertificate]))
            bench.expect(-25299, bench.add(["class": "cert", "v_Data": pairs[1].certificate.der]))
            #expect(bench.copying(["class": "cert"] + wantsAll + wantsReference).array as? [SecCertificate] == [pairs[0].secCertificate])
            #expect(bench.copying(["class": "cert"] + wantsAttributes).dictionary?["slnr"] as? Data == Data([0, 0x80]))
            bench.expect(-25300, bench.copy(["class": "cert", "slnr": Data([0x80])]))
        },
        Rule("1.7 2.4", "bytes are the key that their attributes describe, or plain bytes") { bench in
            let pair = try TestPair()
            let data = try pair.secKey.externalRepresentation()
            for (index, (attributes, isKey)) in [
                (["type": "73", "kcls": "1"], true), (["type": 73, "kcls": 1], true), (["type": "73", "kcls": "1", "bsiz": 384], true),
                ([:], false), (["type": "73"], false), (["kcls": "1"], false), (["type": "42", "kcls": "1"], false),
                (["type": "73", "kcls": "2"], false), (["type": "73", "kcls": "0"], false),
            ].enumerated() as EnumeratedSequence<[([String: Any], Bool)]> {
                let item: [String: Any] = ["class": "keys", "atag": "\(index)"]
                let added = bench.adding(item + attributes + ["v_Data": data] + wantsReference)
                #expect(added.status == 0 && added.value as? SecKey == (isKey ? pair.secKey : nil), "\(attributes)")
                #expect(bench.copying(item + wantsData).data == data, "\(attributes)")
                #expect(bench.copying(item + wantsReference).value as? SecKey == (isKey ? pair.secKey : nil), "\(attributes)")
            }
        },
    ]
}
