import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobTesting
import KeyfobOpenSSL
import TestSupport
import Testing

@testable import KeychainServices

extension TestPair {
    /// Another certificate for the same key, made by the openssl command.
    func anotherCertificate(_ name: String, _ options: [String] = []) throws -> Certificate {
        let directory = try TemporaryDirectory()
        try directory.write(key.pkcs8DER().copyBytes(), to: "key.der")
        let result = try run(
            "openssl",
            [
                "req", "-x509", "-key", directory.file("key.der"), "-keyform", "DER", "-subj", "/O=Keyfob/CN=\(name)",
                "-days", "30", "-outform", "DER", "-out", directory.file("cert.der"),
            ] + options)
        try #require(result.status == 0, "openssl: \(result.stderr)")
        return try Certificate(der: try Data(contentsOf: directory.url("cert.der")))
    }
}

extension Rule {
    /// The four functions.
    static let calls: [Rule] = [
        Rule("2.1", "false withdraws a requested kind of result") { bench in
            bench.expect(0, bench.add(genp("a", "s", ["v_Data": Data("x".utf8)])))
            let answer = bench.copying(genp("a", "s", ["r_Data": true, "r_Attributes": false, "r_Ref": false]))
            #expect(answer.data == Data("x".utf8))
            bench.expect(0, bench.update(genp("a", "s", ["r_Data": false]), ["labl": "l"]))
        },
        Rule("2.1", "four characters are an attribute, with any first letter") { bench in
            for name in ["fooo", "m_xx", "r_xx", "v_xx", "u_xx"] { bench.expect(-25303, bench.copy(["class": "genp", name: 1]), name) }
            for name in ["foo", "f_anything"] { bench.expect(-25300, bench.copy(["class": "genp", name: 1]), name) }
            for name in ["x", "abcde", "r_Anything", "v_Anything"] { bench.expect(-50, bench.copy(["class": "genp", name: true]), name) }
        },
        Rule("2.2", "a call that does not request them finds neither tombstones nor synchronizable items") { bench in
            bench.expect(0, bench.add(genp("gone", "s", ["labl": "l"])))
            bench.expect(0, bench.delete(genp("gone", "s", ["u_Tomb": true])))
            bench.expect(0, bench.add(genp("synced", "s", ["labl": "l", "sync": true])))
            for query in [["class": "genp"], ["class": "genp", "svce": "s"], ["class": "genp", "acct": "gone"]] {
                bench.expect(-25300, bench.copying(query + wantsAll + wantsAttributes).status)
                bench.expect(-25300, bench.update(query, ["icmt": "c"]))
                bench.expect(-25300, bench.delete(query))
            }
            bench.expect(-25300, bench.copy(["class": "genp", "tomb": false]))
            let tombstone = bench.copying(["class": "genp", "tomb": true] + wantsAttributes).dictionary
            #expect(tombstone?["acct"] as? String == "gone" && tombstone?["tomb"] as? Int == 1 && tombstone?["labl"] == nil)
            #expect(tombstone?["pdmn"] as? String == "ak" && tombstone?["cdat"] is Date)
            let synced = bench.copying(["class": "genp", "sync": "syna"] + wantsAll + wantsAttributes).dictionaries
            #expect(synced?.map { $0["acct"] as? String } == ["synced"] && synced?.first?["icmt"] == nil)
        },
        Rule("2.2", "a reference finds a synchronizable item") { bench in
            let reference = try #require(bench.adding(genp("a", "s", ["sync": true]) + wantsPersistent).data)
            bench.expect(0, bench.copy(["v_PersistentRef": reference]))
            bench.expect(0, bench.update(["v_PersistentRef": reference], ["labl": "l"]))
            bench.expect(0, bench.delete(["v_PersistentRef": reference]))
        },
        Rule("2.3", "every function applies to the named group, and finds only groups that the process has") { bench in
            bench.groups = ["one", "two"]
            bench.expect(0, bench.add(genp("a", "s", ["agrp": "two"])))
            bench.expect(0, bench.update(genp("a", "s"), ["agrp": "one"]))
            bench.expect(0, bench.copy(genp("a", "s", ["agrp": "one"])))
            bench.expect(-25300, bench.copy(genp("a", "s", ["agrp": "two"])))
            for group in ["three", "com.apple.token"] {
                bench.expect(-34018, bench.add(genp("b", "s", ["agrp": group])))
                bench.expect(-34018, bench.update(genp("a", "s", ["agrp": group]), ["labl": "l"]))
                bench.expect(-34018, bench.update(genp("a", "s"), ["agrp": group]))
                bench.expect(-34018, bench.delete(genp("a", "s", ["agrp": group])))
            }
            bench.groups = ["*"]
            bench.expect(0, bench.copy(genp("a", "s", ["agrp": "one"])))
            bench.expect(0, bench.add(genp("b", "s", ["agrp": "any"])))
            bench.groups = []
            bench.expect(-34018, bench.update(genp("a", "s"), ["labl": "l"]))
        },
        Rule("2.3", "a process without a group can read the group of tokens, and nothing else") { bench in
            bench.expect(0, bench.add(genp("a", "s")))
            let token = genp("a", "s", ["agrp": "com.apple.token"])
            for groups in [[], ["com.apple.token"]] as [[String]] {
                bench.groups = groups
                bench.expect(-25300, bench.copy(token))
                bench.expect(-34018, bench.add(token))
                bench.expect(-34018, bench.update(token, ["labl": "l"]))
                bench.expect(-34018, bench.delete(token))
                for query in [genp("a", "s"), genp("a", "s", ["agrp": ""])] { bench.expect(-34018, bench.copy(query)) }
            }
        },
        Rule("2.4", "attributes given by the caller override those of a reference") { bench in
            let pair = try TestPair()
            bench.expect(0, bench.add(["v_Ref": pair.secCertificate, "labl": "mine", "slnr": Data([7])]))
            bench.expect(0, bench.copy(["class": "cert", "labl": "mine", "slnr": Data([7])]))
            bench.expect(0, bench.add(["v_Ref": pair.secKey, "klbl": Data([7]), "atag": "mine"]))
            bench.expect(0, bench.copy(["class": "keys", "klbl": Data([7]), "atag": "mine"]))
        },
        Rule("2.4", "every class can be without data") { bench in
            for itemClass in ["genp", "inet", "cert", "keys"] {
                bench.expect(0, bench.add(["class": itemClass]))
                bench.expect(-25299, bench.add(["class": itemClass]))
                let answer = bench.copying(["class": itemClass] + wantsData)
                #expect(answer.status == 0 && answer.isTouched && answer.value == nil)
                let several = bench.copying(["class": itemClass] + wantsData + wantsAll)
                #expect(several.status == 0 && several.array?.isEmpty == true)
            }
        },
        Rule("2.4", "the result is left unchanged without a requested result, and after an error") { bench in
            #expect(!bench.adding(genp("a", "s")).isTouched)
            #expect(!bench.adding(genp("b", "s", ["r_Data": false])).isTouched)
            let answer = bench.adding(genp("a", "s") + wantsAttributes)
            #expect(answer.status == -25299 && !answer.isTouched)
            let missing = bench.copying(genp("c", "s") + wantsAttributes)
            #expect(missing.status == -25300 && !missing.isTouched)
        },
        Rule("2.4", "one half of an identity may exist already, but not both") { bench in
            let pair = try TestPair()
            let identity: [String: Any] = ["v_Ref": pair.secIdentity]
            bench.expect(0, bench.add(["v_Ref": pair.secCertificate]))
            let answer = bench.adding(identity + wantsPersistent)
            #expect(answer.status == 0 && !answer.isTouched)
            bench.expect(-25299, bench.add(identity))
            bench.expect(0, bench.delete(["v_Ref": pair.secCertificate]))
            let reference = bench.adding(identity + wantsPersistent).data
            #expect(reference?.prefix(4) == Data("idnt".utf8) && reference?.count == 20)
            #expect(bench.copying(["class": "keys"] + wantsAll + wantsAttributes).array?.count == 1)
        },
        Rule("2.4 4.7", "a key of a token without data is created there, and stays there") { bench in
            let token = bench.keychain.tokenLabel
            let item: [String: Any] = ["class": "keys", "tkid": token, "type": "73", "bsiz": 256, "labl": "made"]
            let added = bench.adding(item + wantsReference + wantsAttributes + wantsData).dictionary
            let key = try #require(added?["v_Ref"] as? SecKey)
            #expect(added?["v_Data"] as? Data == nil && added?["kcls"] as? Int == 1 && added?["tkid"] as? String == token)
            let message = Data("message".utf8)
            let signature = try #require(sign(key, .ecdsaSignatureMessageX962SHA256, message).value)
            let publicKey = try #require(SecKeyCopyPublicKey(key))
            #expect(verify(publicKey, .ecdsaSignatureMessageX962SHA256, message, signature).value)
            #expect(SecKeyCopyExternalRepresentation(key, nil) == nil)
            #expect(bench.copying(["class": "keys", "labl": "made", "tkid": token] + wantsReference).value as? SecKey == key)
            #expect(try bench.keychain.find(.keys.keyClass(.private)).count == 1)
            for (name, value) in [("type", NSNull()), ("kcls", "0"), ("type", 4711)] as [(String, Any)] {
                bench.expect(-50, bench.add(item + ["labl": "no", name: value]), name)
            }
            bench.expect(-50, bench.add(["class": "keys", "tkid": token, "type": "73"]))
            bench.expect(-50, bench.add(["class": "keys", "tkid": token, "type": "73", "bsiz": 255]))
            bench.expect(-25311, bench.add(["class": "keys", "tkid": token, "type": "73", "bsiz": 224]))
            #expect(try bench.keychain.find(.keys.keyClass(.private)).count == 1)
        },
        Rule("2.5", "a limit is a number or one of two words") { bench in
            for account in ["a", "b", "c"] { bench.expect(0, bench.add(genp(account, "s"))) }
            for (limit, status) in [
                (0, -25300), (-1, 0), (-2, -50), (2.0, 0), ("m_LimitOne", 0), ("m_Limit", -50), ("2", -50), (true, -50),
                (Data(), -50), (NSNull(), -50), (Int.max, 0),
            ] as [(Any, Int)] {
                bench.expect(OSStatus(status), bench.copy(["class": "genp", "m_Limit": limit]), "\(limit)")
            }
        },
        Rule("2.5", "a server given as bytes is in no domain, and case is significant") { bench in
            bench.expect(0, bench.add(["class": "inet", "srvr": Data("a.example.com".utf8)]))
            bench.expect(0, bench.add(["class": "inet", "acct": "x"]))
            bench.expect(-25300, bench.copy(["class": "inet", "m_HostOrSubdomainOfHost": "example.com"]))
            bench.expect(0, bench.add(["class": "inet", "srvr": "b.example.com"]))
            bench.expect(0, bench.copy(["class": "inet", "m_HostOrSubdomainOfHost": "example.com"]))
            for host in ["Example.com", "xample.com", ".example.com", "", "com.example"] {
                bench.expect(-25300, bench.copy(["class": "inet", "m_HostOrSubdomainOfHost": host]), host)
            }
        },
        Rule("2.5", "with a limit of one, the first item that passes every filter is found") { bench in
            for name in ["first", "second"] { bench.expect(0, bench.add(["v_Ref": try TestPair(name).secCertificate])) }
            let query: [String: Any] = ["class": "cert", "m_SubjectContains": "second"] + wantsAttributes
            #expect(bench.copying(query).dictionary?["labl"] as? String == "second")
            for host in ["one.example", "two.example"] { bench.expect(0, bench.add(["class": "inet", "srvr": host])) }
            let filtered = bench.copying(["class": "inet", "m_HostOrSubdomainOfHost": "two.example"] + wantsAttributes)
            #expect(filtered.dictionary?["srvr"] as? String == "two.example")
        },
        Rule("2.5", "data in a search must be data, and is otherwise ignored") { bench in
            bench.expect(0, bench.add(genp("a", "s", ["v_Data": Data("x".utf8)])))
            bench.expect(0, bench.copy(genp("a", "s", ["v_Data": Data("y".utf8)])))
            bench.expect(-50, bench.copy(genp("a", "s", ["v_Data": "x"])))
        },
        Rule("2.6", "an update changes every item that matches, and keeps unnamed attributes") { bench in
            let references = ["a", "b"].map {
                bench.adding(genp($0, "s", ["labl": "l", "v_Data": Data($0.utf8)]) + wantsPersistent).data
            }
            bench.expect(0, bench.update(["class": "genp", "svce": "s"], ["icmt": "c", "svce": "t"]))
            for (account, reference) in zip(["a", "b"], references) {
                let found = bench.copying(genp(account, "t") + wantsData + wantsAttributes + wantsPersistent).dictionary
                #expect(found?["v_Data"] as? Data == Data(account.utf8) && found?["labl"] as? String == "l")
                #expect(found?["icmt"] as? String == "c" && found?["v_PersistentRef"] as? Data == reference)
            }
        },
        Rule("2.6", "an update makes room if only a tombstone has the key") { bench in
            bench.expect(0, bench.add(genp("a", "s")))
            bench.expect(0, bench.delete(genp("a", "s", ["u_Tomb": true])))
            bench.expect(0, bench.add(genp("b", "s")))
            bench.expect(0, bench.update(genp("b", "s"), ["acct": "a"]))
            bench.expect(0, bench.copy(genp("a", "s")))
            bench.expect(-25300, bench.copy(genp("a", "s", ["tomb": true])))
        },
        Rule("2.6 2.10", "an item can become synchronizable or stop being so, unless another has the key") { bench in
            bench.expect(0, bench.add(genp("a", "s")))
            bench.expect(0, bench.update(genp("a", "s"), ["sync": true]))
            bench.expect(-25300, bench.copy(genp("a", "s")))
            bench.expect(0, bench.add(genp("a", "s")))
            bench.expect(-25299, bench.update(genp("a", "s", ["sync": true]), ["sync": false]))
            bench.expect(-50, bench.update(genp("a", "s"), ["sync": true, "accc": SecAccessControl(protection: "ak", flags: .userPresence)]))
            bench.expect(0, bench.add(genp("b", "s", ["sync": "syna"])))
            bench.expect(0, bench.copy(genp("b", "s", ["sync": false])))
            bench.expect(0, bench.add(genp("c", "s", ["sync": true, "pdmn": "aku"])))
        },
        Rule("2.6 2.7", "further attributes narrow a reference") { bench in
            let reference = try #require(bench.adding(genp("a", "s") + wantsPersistent).data)
            let query: [String: Any] = ["v_PersistentRef": reference]
            bench.expect(-25300, bench.update(query + ["acct": "b"], ["labl": "l"]))
            bench.expect(0, bench.update(query + ["acct": "a"], ["labl": "l"]))
            bench.expect(-25300, bench.delete(query + ["acct": "b"]))
            bench.expect(0, bench.delete(query + ["acct": "a"]))
            bench.expect(-25300, bench.delete(query))
        },
        Rule("2.6", "an owner may change what an item says about its object, but not its protection") { bench in
            let pair = try TestPair()
            bench.expect(0, bench.add(["v_Ref": pair.secKey]))
            bench.expect(0, bench.update(["class": "keys"], ["klbl": Data([1, 2]), "bsiz": 1024, "esiz": 100, "atag": "t"]))
            let found = bench.copying(["class": "keys", "klbl": Data([1, 2])] + wantsAttributes + wantsReference).dictionary
            #expect(found?["bsiz"] as? Int == 1024 && found?["esiz"] as? Int == 100 && found?["v_Ref"] as? SecKey == pair.secKey)
            for name in ["sens", "asen", "extr", "next"] {
                let other = try #require(bench.copying(["class": "keys"] + wantsAttributes).dictionary?[name] as? Int) == 0
                bench.expect(-25309, bench.update(["class": "keys"], [name: other]), name)
                bench.expect(0, bench.update(["class": "keys"], [name: !other]), name)
            }
            bench.expect(0, bench.add(["v_Ref": pair.secCertificate]))
            bench.expect(0, bench.update(["class": "cert"], ["slnr": Data([9])]))
            bench.expect(0, bench.copy(["class": "cert", "slnr": Data([9])]))
        },
        Rule("2.6", "the attributes of a key are written back as they were read") { bench in
            let pair = try TestPair()
            bench.expect(0, bench.add(["v_Ref": pair.secKey]))
            bench.expect(0, bench.add(["v_Ref": pair.secPublicKey, "atag": "public"]))
            let parameters: [String: Any] = ["type": "73", "bsiz": 256, "perm": true]
            _ = try bench.generating(parameters)
            _ = try bench.generating(parameters + ["tkid": "com.apple.setoken"])
            _ = try bench.generating(parameters + ["tkid": "com.apple.setoken", "atag": "elsewhere"])
            // As if a token with this name had existed before.
            try bench.keychain.update(Criteria(.key, [.applicationTag: "elsewhere"]), [.tokenID: "gone"])
            let found = bench.copying(["class": "keys"] + wantsAll + wantsAttributes + wantsPersistent).dictionaries ?? []
            // Two that were added, and three pairs.
            #expect(found.count == 8)
            for (index, one) in found.enumerated() {
                let query = ["v_PersistentRef": one["v_PersistentRef"] as Any]
                let attributes = one.filter { $0.key != "v_PersistentRef" && $0.key != "class" }
                bench.expect(0, bench.update(query, attributes + ["labl": "new \(index)"]), "\(attributes)")
                let changed = bench.copying(query + wantsAttributes).dictionary
                #expect(changed?["labl"] as? String == "new \(index)")
                for name in ["sens", "asen", "extr", "next", "tkid"] {
                    #expect("\(changed?[name] ?? "none")" == "\(attributes[name] ?? "none")", "\(name)")
                }
                if attributes["tkid"] as? String != "gone" {
                    bench.expect(-25300, bench.update(query, ["tkid": "gone"]))
                }
            }
            // A value that only some of the items have is a change.
            bench.expect(-25309, bench.update(["class": "keys", "kcls": 1], ["extr": 0]))
        },
        Rule("2.6", "an identity's reference updates both halves") { bench in
            let pair = try TestPair()
            let reference = try #require(bench.adding(["v_Ref": pair.secIdentity] + wantsPersistent).data)
            bench.expect(0, bench.update(["v_PersistentRef": reference], ["labl": "new"]))
            for itemClass in ["idnt", "cert", "keys"] { bench.expect(0, bench.copy(["class": itemClass, "labl": "new"])) }
            bench.expect(0, bench.update(["v_Ref": pair.secIdentity], ["labl": "newer"]))
            for itemClass in ["idnt", "cert", "keys"] { bench.expect(0, bench.copy(["class": itemClass, "labl": "newer"])) }
        },
        Rule("2.8", "the returned attributes find the same item again, in every class") { bench in
            let pair = try TestPair()
            bench.expect(0, bench.add(genp("a", "s", ["labl": "l", "gena": Data([1]), "v_Data": Data("x".utf8)])))
            bench.expect(0, bench.add(["class": "inet", "srvr": Data("h".utf8), "port": 1, "ptcl": "http"]))
            bench.expect(0, bench.add(["v_Ref": pair.secIdentity, "atag": "t"]))
            for itemClass in ["genp", "inet", "cert", "keys", "idnt"] {
                let first = bench.copying(["class": itemClass] + wantsAttributes + wantsPersistent).dictionary
                var query = try #require(bench.copying(["class": itemClass] + wantsAttributes).dictionary)
                query["class"] = itemClass
                let again = bench.copying(query + wantsPersistent).data
                #expect(again != nil && again == first?["v_PersistentRef"] as? Data, "\(itemClass)")
            }
        },
        Rule("2.9", "an equal item that is added again has another reference") { bench in
            let first = bench.adding(genp("a", "s") + wantsPersistent).data
            bench.expect(0, bench.delete(genp("a", "s")))
            let second = bench.adding(genp("a", "s") + wantsPersistent).data
            #expect(first?.count == 20 && second?.count == 20 && first != second)
            bench.expect(-25300, bench.copy(["v_PersistentRef": try #require(first)]))
            for (itemClass, tag) in [("inet", "inet"), ("cert", "cert"), ("keys", "keys")] {
                #expect(bench.adding(["class": itemClass] + wantsPersistent).data?.prefix(4) == Data(tag.utf8))
            }
        },
        Rule("4.6", "only data that requires confirmation is refused if the user cannot be asked") { bench in
            for (index, flags) in [
                .userPresence, .biometryAny, .biometryCurrentSet, .devicePasscode, .companion, [.biometryAny, .or, .devicePasscode],
            ].enumerated() as EnumeratedSequence<[SecAccessControlCreateFlags]> {
                let item = genp("\(index)", "s")
                let control = SecAccessControl(protection: "ak", flags: flags)
                bench.expect(0, bench.add(item + ["accc": control, "v_Data": Data("x".utf8)]))
                let answer = bench.copying(item + wantsData)
                #expect(answer.status == -25308 && !answer.isTouched)
                bench.expect(-25308, bench.copying(item + wantsData + wantsAttributes + wantsAll).status)
                #expect(bench.copying(item + wantsAttributes).dictionary?["accc"] as? SecAccessControl == control)
                bench.expect(0, bench.update(item, ["labl": "l"]))
                bench.expect(0, bench.update(item, ["accc": SecAccessControl(protection: "ak", flags: [])]))
                #expect(bench.copying(item + wantsData).data == Data("x".utf8))
                bench.expect(0, bench.delete(item))
            }
        },
    ]
}
