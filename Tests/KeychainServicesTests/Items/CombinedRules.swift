import Foundation
import KeyfobOpenSSL
import Testing

@testable import KeychainServices

extension SecItemFixture {
    /// The values of an attribute in all matches, in any order.
    fileprivate func values(_ name: String, _ query: [String: Any]) -> [String] {
        let found = copying(query + wantsAll + wantsAttributes).dictionaries ?? []
        return found.map { $0[name] as? String ?? "" }.sorted()
    }
}

extension Rule {
    private static let classes = ["genp", "inet", "cert", "keys"]

    /// An item of a class with a value in one primary key attribute.
    private static func keyed(_ itemClass: String, _ value: String) -> [String: Any] {
        let name = ["genp": "acct", "inet": "path", "cert": "slnr", "keys": "atag"][itemClass] ?? ""
        return ["class": itemClass, name: Data(value.utf8)]
    }

    /// Combinations of collisions, groups, synchronization and references.
    static let combined: [Rule] = [
        Rule("1.2 2.6", "no change takes another item's key, in any class, and a refused change changes nothing") { bench in
            bench.groups = ["one", "two"]
            for itemClass in classes {
                let (a, b) = (keyed(itemClass, "a"), keyed(itemClass, "b"))
                let reference = try #require(bench.adding(a + ["labl": "a"] + wantsPersistent).data)
                for more in [[:], ["agrp": "two"], ["sync": true], ["vwht": "v"]] as [[String: Any]] {
                    bench.expect(0, bench.add(b + more), itemClass)
                    bench.expect(-25299, bench.add(b + more + ["labl": "x", "pdmn": "cku"]), itemClass)
                }
                var move = b
                move["class"] = nil
                for more in [[:], ["agrp": "two"], ["sync": true], ["vwht": "v"]] as [[String: Any]] {
                    bench.expect(-25299, bench.update(a, move + more + ["labl": "moved"]), itemClass)
                    bench.expect(-25299, bench.update(["v_PersistentRef": reference], move + more + ["labl": "moved"]), itemClass)
                }
                // Moves all items of a class to one primary key, which would be free for each of them alone.
                bench.expect(-25299, bench.update(["class": itemClass], keyed(itemClass, "c").filter { $0.key != "class" } + ["vwht": ""]))
                bench.expect(-25300, bench.copy(["class": itemClass, "labl": "moved", "sync": "syna"]), itemClass)
                bench.expect(-25300, bench.copy(keyed(itemClass, "c") + ["sync": "syna"]), itemClass)
                // An item may keep its own primary key, and move to a free one.
                bench.expect(0, bench.update(a, a.filter { $0.key != "class" }), itemClass)
                bench.expect(0, bench.update(a, move + ["vwht": "free"]), itemClass)
                let found = bench.copying(b + ["vwht": "free"] + wantsPersistent + wantsAttributes).dictionary
                #expect(found?["v_PersistentRef"] as? Data == reference && found?["labl"] as? String == "a", "\(itemClass)")
                bench.expect(-25300, bench.copy(a), itemClass)
            }
        },
        Rule("2.6 2.9", "a reference stays through every change, in every class") { bench in
            bench.groups = ["one", "two"]
            let control = SecAccessControl(protection: "cku", flags: [])
            for itemClass in classes {
                let added = bench.adding(keyed(itemClass, "a") + wantsPersistent + wantsAttributes).dictionary
                let reference = try #require(added?["v_PersistentRef"] as? Data)
                let query: [String: Any] = ["v_PersistentRef": reference]
                for changes in [
                    ["labl": "l"], keyed(itemClass, "z").filter { $0.key != "class" }, ["agrp": "two"], ["sync": true], ["sync": false],
                    ["pdmn": "ck"], ["accc": control], ["v_Data": Data("new".utf8)], ["v_Data": Data()], [:], ["vwht": "v"],
                    ["cdat": added?["cdat"] as Any],
                ] as [[String: Any]] {
                    let before = try #require(bench.copying(query + wantsAttributes).dictionary?["mdat"] as? Date)
                    bench.expect(0, bench.update(query, changes), "\(itemClass) \(changes.keys)")
                    let found = bench.copying(query + wantsAttributes + wantsPersistent).dictionary
                    #expect(found?["v_PersistentRef"] as? Data == reference, "\(itemClass) \(changes.keys)")
                    #expect(found?["cdat"] as? Date == added?["cdat"] as? Date, "\(itemClass) \(changes.keys)")
                    #expect(try #require(found?["mdat"] as? Date) > before, "\(itemClass) \(changes.keys)")
                    for (name, value) in changes where !["v_Data", "accc", "sync"].contains(name) {
                        #expect(found?[name] as? NSObject == value as? NSObject, "\(itemClass) \(name)")
                    }
                }
                #expect(bench.copying(query + wantsAttributes).dictionary?["pdmn"] as? String == "cku", "\(itemClass)")
                bench.groups = ["one"]
                bench.expect(-25300, bench.copy(query), itemClass)
                bench.expect(-25300, bench.update(query, ["labl": "x"]), itemClass)
                bench.expect(-25300, bench.delete(query), itemClass)
                bench.groups = ["one", "two"]
                bench.expect(-34018, bench.update(query, ["agrp": "three"]), itemClass)
                bench.expect(0, bench.delete(query), itemClass)
                bench.expect(-25300, bench.copy(query), itemClass)
            }
        },
        Rule("2.2 2.3", "items of two groups, synchronizable and not: each call finds those that it names") { bench in
            bench.groups = ["one", "two"]
            for itemClass in classes {
                func all(_ more: [String: Any] = [:]) -> [String] { bench.values("labl", ["class": itemClass] + more) }
                for (label, more) in [
                    ("1", ["agrp": "one"]), ("2", ["agrp": "two"]), ("1s", ["agrp": "one", "sync": true]),
                    ("2s", ["agrp": "two", "sync": true]),
                ] as [(String, [String: Any])] { bench.expect(0, bench.add(keyed(itemClass, "a") + more + ["labl": label])) }
                #expect(all() == ["1", "2"] && all(["sync": true]) == ["1s", "2s"] && all(["sync": "syna"]).count == 4, "\(itemClass)")
                #expect(all(["agrp": "two", "sync": "syna"]) == ["2", "2s"] && all(["agrp": "one", "sync": 1]) == ["1s"], "\(itemClass)")
                bench.expect(-34018, bench.copy(["class": itemClass, "agrp": "*"]), itemClass)
                for (query, changes) in [
                    (["agrp": "one", "sync": "syna"], ["agrp": "two"]), (["agrp": "one", "sync": "syna"], ["sync": true]),
                    (["sync": true], ["sync": false]), ([:], ["agrp": "one"]),
                ] as [([String: Any], [String: Any])] {
                    bench.expect(-25299, bench.update(["class": itemClass] + query, changes), "\(itemClass) \(query)")
                }
                bench.expect(0, bench.update(["class": itemClass, "sync": "syna", "agrp": "two"], ["labl": "new"]))
                #expect(all(["sync": "syna"]) == ["1", "1s", "new", "new"], "\(itemClass)")
                bench.groups = ["two"]
                #expect(all() == ["new"], "\(itemClass)")
                bench.expect(0, bench.delete(["class": itemClass]), itemClass)
                bench.groups = ["one", "two"]
                #expect(all(["sync": "syna"]) == ["1", "1s", "new"], "\(itemClass)")
                bench.expect(0, bench.delete(["class": itemClass, "sync": true]), itemClass)
                bench.expect(-25300, bench.delete(["class": itemClass, "sync": true]), itemClass)
                bench.expect(0, bench.delete(["class": itemClass, "sync": "syna"]), itemClass)
                bench.expect(-25300, bench.copy(["class": itemClass, "sync": "syna"]), itemClass)
            }
        },
        Rule("2.3 2.4", "a refused group adds neither half") { bench in
            bench.groups = ["one", "two"]
            let pair = try TestPair()
            bench.expect(-34018, bench.add(["v_Ref": pair.secIdentity, "agrp": "three"]))
            bench.expect(-25303, bench.add(["v_Ref": pair.secIdentity, "acct": "x"]))
            bench.expect(-50, bench.add(["v_Ref": pair.secIdentity, "pdmn": "x"]))
            for itemClass in ["cert", "keys", "idnt"] { bench.expect(-25300, bench.copy(["class": itemClass, "sync": "syna"])) }
            bench.expect(0, bench.add(["v_Ref": pair.secIdentity, "sync": true, "agrp": "two"]))
            for itemClass in ["cert", "keys", "idnt"] {
                bench.expect(-25300, bench.copy(["class": itemClass]), itemClass)
                bench.expect(0, bench.copy(["class": itemClass, "sync": true, "agrp": "two"]), itemClass)
            }
            // An identity is in the group of its key, and is visible only if both halves are.
            bench.expect(0, bench.update(["class": "keys", "sync": true], ["agrp": "one", "sync": false]))
            bench.expect(0, bench.copy(["class": "idnt", "agrp": "one"]))
            bench.expect(-25300, bench.copy(["class": "idnt", "agrp": "two"]))
            for group in ["one", "two"] {
                bench.groups = [group]
                bench.expect(-25300, bench.copy(["class": "idnt", "sync": "syna"]), group)
            }
        },
        Rule("2.2 2.6 2.7", "an identity of two groups, synchronizable and not, is changed and removed by name") { bench in
            bench.groups = ["one", "two"]
            let identity: [String: Any] = ["v_Ref": try TestPair().secIdentity]
            func count(_ itemClass: String, _ more: [String: Any] = [:]) -> Int {
                bench.copying(["class": itemClass] + more + wantsAll + wantsPersistent).array?.count ?? 0
            }
            for (mark, other) in [(["agrp": "one"], ["agrp": "two"]), (["sync": true], ["sync": false])] as [([String: Any], [String: Any])] {
                for more in [mark, other] { bench.expect(0, bench.add(identity + more)) }
                bench.expect(0, bench.update(identity + mark, ["labl": "new"]))
                for itemClass in ["cert", "keys"] {
                    #expect(count(itemClass, mark + ["labl": "new"]) == 1 && count(itemClass, other + ["labl": "new"]) == 0, "\(itemClass) \(mark)")
                }
                bench.expect(0, bench.delete(identity + mark))
                #expect(count("cert", mark) == 0 && count("cert", other) == 1, "\(mark)")
                // Another certificate needs the key.
                #expect(count("keys", mark) == 1 && count("keys", other) == 1, "\(mark)")
                bench.expect(0, bench.delete(identity + other))
                #expect(count("cert", other) == 0 && count("keys", other) == 0, "\(mark)")
                bench.expect(0, bench.delete(["class": "keys", "sync": "syna"]))
            }
        },
        Rule("2.4 2.5", "an object finds the items made of it, and further attributes narrow the search") { bench in
            let (pair, other) = (try TestPair("one"), try TestPair("two"))
            for tag in ["1", "2"] { bench.expect(0, bench.add(["v_Ref": pair.secKey, "atag": tag, "labl": "key"])) }
            bench.expect(0, bench.add(["v_Ref": pair.secCertificate]))
            let key: [String: Any] = ["v_Ref": pair.secKey]
            #expect(bench.values("atag", key) == ["1", "2"] && bench.values("atag", key + ["atag": "2"]) == ["2"])
            #expect(bench.values("atag", ["class": "idnt"]) == ["1", "2"] && bench.values("atag", ["class": "idnt", "atag": "1"]) == ["1"])
            for (query, status) in [
                (key + ["class": "keys"], 0), (key + ["class": "cert"], -50), (key + ["class": "genp"], -50), (key + ["sync": true], -25300),
                (key + ["sync": "syna"], 0), (key + ["atag": "3"], -25300), (key + ["kcls": "0"], -25300), (key + ["labl": "x"], -25300),
                (["v_Ref": pair.secPublicKey], -25300), (["v_Ref": other.secKey], -25300), (["v_Ref": other.secIdentity], -25300),
                (["v_Ref": pair.secIdentity, "labl": "one"], 0), (["v_Ref": pair.secIdentity, "labl": "key"], -25300),
                (["v_Ref": pair.secCertificate, "acct": "x"], -25303), (["v_Ref": pair.secCertificate, "pdmn": "dk"], 0),
                (["v_Ref": pair.secCertificate, "slnr": Data([1])], -25300), (["v_Ref": NSNull()], -50), (["v_Ref": "x"], -50),
                (["v_Ref": [pair.secKey]], -50), (["class": "keys", "v_Ref": SecAccessControl(protection: "ak", flags: [])], -50),
            ] as [([String: Any], OSStatus)] { bench.expect(status, bench.copy(query), "\(query)") }
            bench.expect(0, bench.update(key, ["labl": "both"]))
            #expect(bench.values("atag", ["class": "keys", "labl": "both"]) == ["1", "2"])
            bench.expect(-25299, bench.update(key, ["atag": "same"]))
            #expect(bench.values("atag", key) == ["1", "2"])
            bench.expect(0, bench.delete(key + ["atag": "1"]))
            #expect(bench.values("atag", ["class": "idnt"]) == ["2"])
            bench.expect(0, bench.delete(key))
            bench.expect(-25300, bench.delete(key))
            bench.expect(0, bench.copy(["class": "cert"]))
        },
        Rule("2.4 1.6", "a certificate or key by data and by reference is one item if the primary key is the same") { bench in
            let pair = try TestPair()
            let certificate: [String: Any] = ["class": "cert", "v_Data": pair.certificate.der]
            bench.expect(0, bench.add(["v_Ref": pair.secCertificate]))
            bench.expect(-25299, bench.add(certificate))
            bench.expect(0, bench.add(certificate + ["vwht": "another"]))
            let found = try #require(bench.copying(["class": "cert"] + wantsAttributes).dictionary)
            let primaryKey: [String: Any] = found.filter { ["class", "ctyp", "issr", "slnr"].contains($0.key) }
            bench.expect(-25299, bench.add(primaryKey))
            bench.expect(-25299, bench.add(primaryKey + ["v_Data": Data("other".utf8)]))
            bench.expect(0, bench.add(["v_Ref": pair.secKey]))
            let key = try #require(bench.copying(["class": "keys"] + wantsAttributes).dictionary)
            let names = ["class", "kcls", "klbl", "type", "bsiz", "esiz"]
            bench.expect(-25299, bench.add(key.filter { names.contains($0.key) }))
            for name in names.dropFirst() {
                var other = key.filter { names.contains($0.key) }
                other[name] = nil
                bench.expect(0, bench.add(other), name)
            }
        },
        Rule("2.1 2.7", "nothing is removed, changed or found without a class or a reference") { bench in
            bench.expect(0, bench.add(genp("a", "s")))
            for query in [
                [:], ["acct": "a"], ["agrp": ""], ["sync": "syna"], ["r_Data": true], wantsAll, ["nleg": true], ["u_OpPrompt": "x"],
                ["class": NSNull()], ["class": 7], ["class": Data("genp".utf8)], ["class": ["genp"]],
            ] as [[String: Any]] {
                bench.expect(-50, bench.copy(query), "\(query)")
                bench.expect(-50, bench.delete(query), "\(query)")
                bench.expect(-50, bench.update(query, ["labl": "x"]), "\(query)")
                bench.expect(-50, bench.add(query), "\(query)")
            }
            for name in ["Genp", "genp ", "GENP", "", "apls", "g\0np"] {
                bench.expect(-25306, bench.delete(["class": name]), name)
                bench.expect(-25306, bench.copy(["class": name]), name)
            }
            bench.expect(0, bench.copy(genp("a", "s")))
        },
        Rule("2.6", "an error in the changes is reported before the items are searched") { bench in
            for (changes, status) in [
                (["srvr": "h"], -25303), (["zzzz": 1], -25303), (["v_Data": "x"], -50), (["v_Data": NSNull()], -50), (["labl": 1], -25300),
                (["agrp": "other"], -34018), (["pdmn": "x"], -50), (["class": "genp"], -25303), (["clip": 1], -50), ([:], -25300),
                (["u_OpPrompt": "x"], -25303), (["foo": 1], -25303), (["": 1], -25303), (["nleg": 1], -25300),
            ] as [([String: Any], OSStatus)] { bench.expect(status, bench.update(genp("no", "body"), changes), "\(changes)") }
            bench.expect(-25303, bench.update(["class": "idnt"], ["acct": "x"]))
            // One half has the attribute, the other does not.
            bench.expect(-25303, bench.update(["class": "idnt"], ["atag": "x"]))
            bench.expect(-25303, bench.update(["class": "idnt"], ["subj": Data([1])]))
        },
    ]
}
