import Foundation
import Keyfob
import KeyfobTesting
import KeyfobOpenSSL
import Testing

@testable import KeychainServices

extension SecItemFixture {
    /// The result of SecKeyCreateRandomKey for a dictionary.
    func generation(_ parameters: [String: Any]) -> Outcome<SecKey?> {
        use { unsafe outcome { unsafe SecKeyCreateRandomKey(parameters as CFDictionary, $0) } }
    }

    /// The result of SecIdentityCreateWithCertificate.
    func identity(of certificate: SecCertificate) -> (status: OSStatus, identity: SecIdentity?) {
        var identity: SecIdentity?
        let status = use { unsafe SecIdentityCreateWithCertificate(nil, certificate, &identity) }
        return (status, identity)
    }
}

extension Rule {
    private static var pair: [String: Any] { ["type": "73", "bsiz": 256] }
    private static func control(_ flags: SecAccessControlCreateFlags) -> SecAccessControl {
        SecAccessControl(protection: "ak", flags: flags)
    }

    /// The attributes for the operations of a key.
    private static let usages = [
        "perm", "priv", "modi", "encr", "decr", "drve", "sign", "vrfy", "snrc", "vyrc", "wrap", "unwp",
    ]

    /// Combinations of two rules.
    static let edges: [Rule] = [
        Rule("1.7 4.1", "Keyfob's own attributes of a key are not attributes of its reference") { bench in
            let parameters = pair + ["labl": "key", "private": ["perm": true]]
            let key = try bench.generating(parameters)
            try bench.keychain.update(Criteria(.key), [.comment: "c"])
            let reference = bench.copying(["class": "keys", "kcls": "1", "labl": "key"] + wantsReference).value as? SecKey
            let found = try #require(reference)
            let attributes = try #require(SecKeyCopyAttributes(found) as? [String: Any])
            #expect(found.isEqual(key) && attributes["icmt"] == nil && attributes["labl"] as? String == "key")
            // The attributes are a query that finds the item, except those that are created for each call.
            let query = attributes.filter { !["accc", "v_Data"].contains($0.key) }
            bench.expect(0, bench.copy(query), "\(query.keys)")
        },
        Rule("4.1 4.7", "a key of a token is created on that token and stays there, or is not created") { bench in
            for (parameters, status) in [
                (["private": ["tkid": bench.keychain.tokenLabel, "perm": false]], -4),
                (["tkid": "nowhere:1"], -25300), (["private": ["tkid": "nowhere:1", "perm": true]], -25300),
                (["tkid": "nowhere:1", "private": ["perm": false]], -25300), (["tkid": 7], -50),
            ] as [([String: Any], OSStatus)] {
                #expect(bench.generation(pair + parameters) == Outcome(value: nil, status: status), "\(parameters)")
            }
            bench.expect(-25300, bench.copy(["class": "keys", "sync": "syna"]))
            #expect(bench.generation(pair + ["tkid": "", "private": ["perm": false]]).value != nil)
            #expect(bench.generation(pair + ["tkid": bench.keychain.tokenLabel]).value != nil)
            #expect(bench.copying(["class": "keys"] + wantsAll + wantsAttributes).array?.count == 1)
        },
        Rule("4.1 2.4", "the items of a generated pair are added by the rules of every item") { bench in
            for half in ["private", "public"] {
                for (attributes, status) in [
                    (["pdmn": "bogus"], -50), (["pdmn": 7], -50), (["sync": "x"], -50), (["svce": "s"], -25303), (["clip": true], -50),
                    (["accc": "x"], -50), (["accc": control(.userPresence), "pdmn": "ck"], -50),
                    (["accc": control(.userPresence), "sync": true], -50), (["agrp": "other"], -34018), (["labl": Date()], -50),
                ] as [([String: Any], OSStatus)] {
                    let outcome = bench.generation(pair + [half: attributes + ["perm": true]])
                    #expect(outcome == Outcome(value: nil, status: status), "\(half) \(attributes)")
                }
            }
            bench.expect(-25300, bench.copy(["class": "keys"]))
            // The attributes of a key that is not stored are not checked.
            #expect(bench.generation(pair + ["private": ["pdmn": "bogus", "svce": "s"]]).value != nil)
            #expect(bench.generation(pair + ["perm": true, "pdmn": "cku", "sync": true, "nleg": true]).value != nil)
            let found = bench.copying(["class": "keys", "sync": "syna"] + wantsAll + wantsAttributes).dictionaries
            #expect(found?.map { $0["pdmn"] as? String } == ["cku", "cku"] && found?.map { $0["sync"] as? Bool } == [true, true])
        },
        Rule("1.7", "a generated key has the same operations as the key in memory") { bench in
            for (index, kind) in [["type": "42", "bsiz": 2048], ["type": "73", "bsiz": 256], ["type": "105", "bsiz": 256]].enumerated() {
                let stored = try bench.generating(kind + ["perm": true, "labl": "\(index)", "extr": true])
                let memory = try bench.generating(kind)
                for (half, pair) in [("1", (stored, memory)), ("0", (SecKeyCopyPublicKey(stored), SecKeyCopyPublicKey(memory)))] {
                    let query: [String: Any] = ["class": "keys", "labl": "\(index)", "kcls": half]
                    let key = try #require(bench.copying(query + wantsReference).value as? SecKey)
                    let item = try #require(bench.copying(query + wantsAttributes).dictionary)
                    let ofMemory = try #require(pair.1.flatMap { SecKeyCopyAttributes($0) } as? [String: Any])
                    for other in [pair.0, key] {
                        let attributes = try #require(other.flatMap { SecKeyCopyAttributes($0) } as? [String: Any])
                        for name in usages { #expect(attributes[name] as? Bool == ofMemory[name] as? Bool, "\(index) \(half) \(name)") }
                    }
                    for name in usages {
                        let truth = try #require(ofMemory[name] as? Bool)
                        #expect(item[name] as? Int == (truth ? 1 : 0), "\(index) \(half) \(name)")
                        bench.expect(0, bench.copy(query + [name: truth]), "\(index) \(half) \(name)")
                    }
                }
            }
            let item: [String: Any] = ["class": "keys", "tkid": bench.keychain.tokenLabel, "type": "73", "bsiz": 256, "labl": "added"]
            bench.expect(0, bench.add(item))
            let memory = SecKeyCopyAttributes(try bench.generating(pair))
            let ofMemory = try #require(memory as? [String: Any])
            let added = try #require(bench.copying(["class": "keys", "labl": "added"] + wantsAttributes).dictionary)
            for name in usages { #expect(added[name] as? Bool == ofMemory[name] as? Bool, "\(name)") }
        },
        Rule("4.5", "the identity of a certificate has a visible key, synchronizable or not") { bench in
            let one = try TestPair()
            bench.groups = ["one", "two"]
            bench.expect(0, bench.add(["v_Ref": one.secKey, "agrp": "one", "sync": true]))
            for (groups, status) in [(["two"], -25300), ([], -34018), (["two", "one"], 0), (["*"], 0)] as [([String], OSStatus)] {
                bench.groups = groups
                let found = bench.identity(of: one.secCertificate)
                #expect(found.status == status && (found.identity == one.secIdentity) == (status == 0), "\(groups)")
            }
            bench.groups = ["one"]
            let other = try TestPair()
            bench.expect(0, bench.add(["v_Ref": other.secKey, "u_SystemKeychain": true]))
            #expect(bench.identity(of: other.secCertificate).status == -25300)
            bench.expect(0, bench.add(["class": "keys", "kcls": "1", "klbl": other.certificate.publicKey.identifier]))
            #expect(bench.identity(of: other.secCertificate).status == -25300)
        },
        Rule("4.1 4.5", "a key added as bytes has attributes, and makes an identity of its certificate") { bench in
            let one = try TestPair()
            let data = try one.secKey.externalRepresentation()
            bench.expect(0, bench.add(["class": "keys", "type": "73", "kcls": "1", "atag": "t", "v_Data": data]))
            #expect(bench.identity(of: one.secCertificate).identity == one.secIdentity)
            #expect(bench.identity(of: try TestPair().secCertificate).status == -25300)
            let key = try #require(bench.copying(["class": "keys", "atag": "t"] + wantsReference).value as? SecKey)
            let attributes = try #require(SecKeyCopyAttributes(key) as? [String: Any])
            #expect(attributes["klbl"] as? Data == one.certificate.publicKey.identifier && attributes["bsiz"] as? Int == 256)
            #expect(attributes["esiz"] as? Int == 256 && attributes["kcls"] as? String == "1" && attributes["atag"] as? String == "t")
        },
        Rule("1.7 2.8", "the bytes of an added Ed25519 key are read again, unless they may not be") { bench in
            let key = SecKey(.memory(try PrivateKey.generate(.ed25519)))
            let data = try key.externalRepresentation()
            let item: [String: Any] = ["class": "keys", "type": "105", "kcls": "1", "v_Data": data]
            let added = bench.adding(item + ["atag": "t"] + wantsData)
            #expect(added.status == 0 && added.data == data)
            let query: [String: Any] = ["class": "keys", "type": "105", "atag": "t"]
            #expect(bench.copying(query + wantsData).data == data)
            #expect(bench.copying(query + wantsReference).value as? SecKey == key)
            let listed = try #require(bench.copying(query + wantsReference).value)
            bench.expect(0, bench.copy(["class": "keys", "m_ItemList": [listed]]))
            bench.expect(-25300, bench.copy(["class": "keys", "m_ItemList": [SecKeyCopyPublicKey(key) as Any]]))
            bench.expect(0, bench.add(item + ["atag": "kept", "extr": false]))
            let kept = bench.copying(["class": "keys", "atag": "kept"] + wantsData)
            #expect(kept.status == 0 && kept.data == nil)
        },
        Rule("2.5", "a limit is a whole number in range") { bench in
            bench.expect(0, bench.add(genp("a", "s")))
            for limit in [0.5, 1.5, -0.5, Double.nan, Double.infinity, Float(2.5), UInt64.max, true, "1", NSNull(), Data()] as [Any] {
                let found = bench.copying(genp("a", "s", ["m_Limit": limit]) + wantsAttributes)
                #expect(found.status == -50 && !found.isTouched, "\(limit)")
            }
            for limit in [1.0, UInt8(1)] as [Any] {
                #expect(bench.copying(genp("a", "s", ["m_Limit": limit]) + wantsAttributes).dictionary != nil, "\(limit)")
            }
            for limit in [2.0, Float(2), Int.max, -1, -1.0] as [Any] {
                #expect(bench.copying(genp("a", "s", ["m_Limit": limit]) + wantsAttributes).array?.count == 1, "\(limit)")
            }
        },
        Rule("4.1 2.8", "bytes that a token does not export are not exported by the other way either") { bench in
            // SoftHSM does not wrap Ed25519 keys, whatever their attributes.
            for (index, kind) in [["type": "42", "bsiz": 2048], ["type": "73", "bsiz": 384], ["type": "105", "bsiz": 256]].enumerated() {
                let key = try bench.generating(kind + ["perm": true, "extr": true, "labl": "\(index)"])
                let data = bench.copying(["class": "keys", "labl": "\(index)", "kcls": "1"] + wantsData)
                let exported = bench.use { representation(of: key) }
                #expect(data.status == 0 && data.isTouched && data.data == exported.value, "\(index)")
                #expect(exported.status == (exported.value == nil ? errSecUnimplemented : nil), "\(index)")
                #expect((SecKeyCopyAttributes(key) as? [String: Any])?["v_Data"] as? Data == exported.value, "\(index)")
                #expect(index == 2 || exported.value != nil, "\(index)")
            }
        },
        Rule("2.5 4.6", "if the user may not be asked, only items that need it are refused") { bench in
            let key = try TestPair()
            bench.expect(0, bench.add(["v_Ref": key.secKey, "accc": control(.privateKeyUsage)]))
            let credential: [String: Any] = ["u_CredRef": Data("pass".utf8)]
            let sealed = genp("sealed", "s")
            bench.expect(0, bench.add(sealed + credential + ["accc": control(.applicationPassword), "v_Data": Data("x".utf8)]))
            for mode in ["u_AuthUIF", "u_AuthUIS"] {
                let silent = ["u_AuthUI": mode]
                bench.expect(0, bench.copying(["class": "keys"] + silent + wantsReference).status, mode)
                #expect(bench.copying(sealed + silent + credential + wantsData).data == Data("x".utf8))
                let wrong = bench.copying(sealed + silent + ["u_CredRef": Data("other".utf8)] + wantsData)
                #expect(wrong.status == -25293 && !wrong.isTouched)
                bench.expect(mode == "u_AuthUIF" ? -25308 : -25300, bench.copying(sealed + silent + wantsData).status, mode)
            }
            let both = genp("both", "s", ["accc": control([.applicationPassword, .userPresence])])
            bench.expect(0, bench.add(both + credential))
            bench.expect(-25308, bench.copy(genp("both", "s", ["u_AuthUI": "u_AuthUIF"]) + credential))
        },
        Rule("2.5", "an item past the limit refuses nothing") { bench in
            for (account, flags) in [("1", []), ("2", .userPresence), ("3", [])] as [(String, SecAccessControlCreateFlags)] {
                bench.expect(0, bench.add(genp(account, "s", ["accc": control(flags), "v_Data": Data(account.utf8)])))
            }
            let all: [String: Any] = ["class": "genp", "svce": "s", "u_AuthUI": "u_AuthUIF"]
            #expect(bench.copying(all + wantsAttributes).dictionary?["acct"] as? String == "1")
            #expect(bench.copying(all + wantsData).data == Data("1".utf8))
            for limit in [2, -1] { bench.expect(-25308, bench.copy(all + ["m_Limit": limit]), "\(limit)") }
            let silent = bench.copying(all + ["u_AuthUI": "u_AuthUIS", "m_Limit": 2] + wantsAttributes).dictionaries
            #expect(silent?.map { $0["acct"] as? String } == ["1", "3"])
        },
        Rule("2.10", "no change makes an item both synchronizable and constrained") { bench in
            let key = try TestPair()
            let identity: [String: Any] = ["v_Ref": try TestPair().secIdentity]
            bench.expect(0, bench.add(identity + ["labl": "identity"]))
            for (index, item) in [genp("a", "s"), ["class": "keys", "atag": "t"], ["class": "cert", "slnr": Data([1])]].enumerated() {
                let reference = index == 1 ? ["v_Ref": key.secKey] : [:]
                bench.expect(0, bench.add(item + reference + ["accc": control(.userPresence)]))
                bench.expect(-50, bench.update(item, ["sync": true]))
                bench.expect(-50, bench.update(item, ["sync": true, "labl": "x"]))
                bench.expect(-25300, bench.copy(item + ["sync": true]))
                bench.expect(-25300, bench.copy(item + ["labl": "x"]))
                bench.expect(0, bench.update(item, ["sync": true, "pdmn": "ck"]))
                for query in [item + ["sync": true], item + ["sync": "syna"]] {
                    bench.expect(-50, bench.update(query, ["accc": control(.userPresence)]))
                }
                bench.expect(0, bench.update(item + ["sync": true], ["accc": control([]), "labl": "y"]))
                bench.expect(0, bench.update(item + ["sync": true], ["accc": control(.userPresence), "sync": false]))
                bench.expect(0, bench.copy(item + ["labl": "y", "pdmn": "ak"]))
            }
            bench.expect(0, bench.update(["class": "idnt", "labl": "identity"], ["accc": control(.userPresence)]))
            bench.expect(-50, bench.update(identity, ["sync": true]))
            // Items under a password are processed one by one.
            let sealed = genp("b", "s", ["sync": true])
            bench.expect(0, bench.add(sealed + ["v_Data": Data("x".utf8)]))
            let change: [String: Any] = ["accc": control(.applicationPassword)]
            bench.expect(-50, bench.update(sealed + ["u_CredRef": Data("pass".utf8)], change))
        },
        Rule("1.9 2.4", "a protection of an identity applies to both halves") { bench in
            for (said, certificate, key) in [
                ([:], "dk", "ak"), (["pdmn": "ak"], "ak", "ak"), (["pdmn": "ck"], "ck", "ck"), (["accc": control([])], "ak", "ak"),
            ] as [([String: Any], String, String)] {
                let identity: [String: Any] = ["v_Ref": try TestPair().secIdentity]
                bench.expect(0, bench.add(identity + said))
                for (itemClass, protection) in [("cert", certificate), ("keys", key)] {
                    let found = bench.copying(["class": itemClass] + wantsAttributes).dictionary
                    #expect(found?["pdmn"] as? String == protection, "\(said) \(itemClass)")
                }
                bench.expect(0, bench.delete(identity))
            }
        },
        Rule("2.7", "a reference of the old form accepts no attribute") { bench in
            let old: [String: Any] = ["v_PersistentRef": Data("genp".utf8) + Data(count: 8)]
            for (name, value) in [("labl", "x"), ("accc", control([])), ("sha1", Data(count: 20)), ("sync", true)] as [(String, Any)] {
                bench.expect(-50, bench.delete(old + [name: value]), name)
                bench.expect(-50, bench.update(old + [name: value], ["icmt": "c"]), name)
                bench.expect(-50, bench.copy(old + [name: value]), name)
            }
            for query in [old, old + ["sync": "syna"], old + ["class": "genp"]] {
                bench.expect(-25300, bench.delete(query))
                bench.expect(-25300, bench.update(query, ["icmt": "c"]))
            }
        },
    ]
}
