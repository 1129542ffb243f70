import Foundation
import Keyfob
import KeyfobTesting
import KeyfobOpenSSL
import Testing

@testable import KeychainServices

extension Rule {
    private static func constrained(_ flags: SecAccessControlCreateFlags = .userPresence) -> SecAccessControl {
        SecAccessControl(protection: "ak", flags: flags)
    }

    /// Variations of the behaviour vectors.
    static let acceptance: [Rule] = [
        Rule("A", "a service of the same account, a missing account, and each with its result") { bench in
            for service in ["s1", "s2", ""] { bench.expect(0, bench.add(genp("a", service))) }
            bench.expect(-25299, bench.add(["class": "genp", "acct": "a"]))
            for kind in [wantsData, wantsAttributes, wantsPersistent, wantsReference] {
                let again = bench.adding(genp("a", "s1") + kind)
                #expect(again.status == -25299 && !again.isTouched)
            }
            for value in ["text", 7, NSNull(), Date()] as [Any] {
                bench.expect(-50, bench.add(genp("b", "s", ["v_Data": value])))
                bench.expect(-50, bench.copy(genp("a", "s1", ["v_Data": value])))
                bench.expect(-50, bench.update(genp("a", "s1"), ["v_Data": value]))
            }
            bench.expect(-50, bench.add(genp("b", "s", ["v_PersistentRef": Data("genp".utf8) + Data(count: 16)])))
            for itemClass in ["genp", "inet"] {
                let item: [String: Any] = ["class": itemClass, "acct": "all", "v_Data": Data("x".utf8)]
                let added = bench.adding(item + wantsData + wantsAttributes + wantsReference + wantsPersistent)
                #expect(added.dictionary?["v_Data"] as? Data == Data("x".utf8) && added.dictionary?["v_Ref"] == nil)
                #expect(added.dictionary?["class"] as? String == itemClass && added.dictionary?["acct"] as? String == "all")
            }
        },
        Rule("A", "a certificate is found by every attribute that was returned, and removed by them") { bench in
            let added = bench.adding(["v_Ref": try TestPair().secCertificate] + wantsAttributes + wantsData)
            var query = try #require(added.dictionary)
            for name in ["sha1", "v_Data"] { query[name] = nil }
            bench.expect(0, bench.copy(query))
            bench.expect(0, bench.delete(query))
            bench.expect(-25300, bench.copy(["class": "cert"]))
        },
        Rule("A", "bare rows of every class are found, changed and removed by the attributes of their addition") { bench in
            for item in (0..<8).flatMap(bareItems) {
                bench.expect(0, bench.add(item), "\(item)")
                bench.expect(-25299, bench.add(item), "\(item)")
            }
            for item in (0..<8).flatMap(bareItems) {
                bench.expect(0, bench.copy(item), "\(item)")
                bench.expect(0, bench.update(item, ["labl": "new"]), "\(item)")
                bench.expect(0, bench.copy(item + ["labl": "new"]), "\(item)")
                bench.expect(0, bench.delete(item), "\(item)")
                bench.expect(-25300, bench.copy(item), "\(item)")
            }
        },
        Rule("B", "all attributes of several, and references of keys that were removed") { bench in
            for account in ["a", "b"] { bench.expect(0, bench.add(genp(account, "s", ["v_Data": Data("x".utf8)]))) }
            let found = bench.copying(["class": "genp"] + wantsAll + wantsAttributes).dictionaries
            #expect(found?.count == 2 && found?.allSatisfy { $0["v_Data"] == nil && $0["v_Ref"] == nil } == true)
            bench.expect(-50, bench.copy(genp("a", "s", ["persistref": Data(count: 16)])))
            let key = try bench.generating(["type": "73", "bsiz": 256, "perm": true, "labl": "l"])
            #expect(bench.copying(["class": "keys", "labl": "l"] + wantsAll + wantsReference).array?.count == 2)
            bench.expect(0, bench.delete(["class": "keys", "labl": "l"]))
            bench.expect(-25300, bench.copy(["v_Ref": key]))
            bench.expect(-25300, bench.copy(["class": "keys"]))
        },
        Rule("C", "filters of the wrong kind, for another class, and without matches") { bench in
            _ = try bench.sixCertificates()
            let nobody = try bench.policy(kSecPolicyAppleSMIME, "three@example.org")
            #expect(bench.copying(["class": "cert", "m_Policy": nobody] + wantsAll + wantsReference).status == -25300)
            for (name, value) in [
                ("m_Policy", "x"), ("m_ValidOnDate", 1), ("m_TrustedOnly", 1), ("m_SubjectContains", 1),
                ("m_EmailAddressIfPresent", 1),
            ] as [(String, Any)] {
                bench.expect(-50, bench.copy(["class": "cert", name: value]), name)
            }
            bench.expect(-4, bench.copy(["class": "keys", "m_Policy": SecPolicyCreateBasicX509()]))
            bench.expect(-4, bench.copy(["class": "cert", "m_HostOrSubdomainOfHost": "example.org"]))
            bench.expect(-50, bench.copy(["class": "inet", "m_HostOrSubdomainOfHost": Data("h".utf8)]))
            bench.expect(0, bench.copy(["class": "cert", "m_Issuers": "no array"]))
            let subject: [String: Any] = ["class": "cert", "m_SubjectContains": "SERVER"]
            bench.expect(-25300, bench.copy(subject))
            #expect(bench.copying(subject + ["m_CaseInsensitive": true] + wantsAll + wantsReference).array?.count == 2)
        },
        Rule("D", "a change of half of the primary key, to itself, and to nothing") { bench in
            bench.expect(0, bench.add(genp("a", "s", ["v_Data": Data("x".utf8)])))
            bench.expect(0, bench.update(genp("a", "s"), ["acct": "a", "svce": "s"]))
            bench.expect(0, bench.update(genp("a", "s"), ["acct": "b"]))
            bench.expect(0, bench.update(["class": "genp"], ["svce": "t"]))
            #expect(bench.copying(genp("b", "t") + wantsData).data == Data("x".utf8))
            bench.expect(0, bench.update(genp("b", "t"), ["v_Data": Data()]))
            #expect(bench.copying(genp("b", "t") + wantsData).data == Data())
            for limit in ["m_LimitAll", "m_LimitOne", 1] as [Any] {
                bench.expect(-50, bench.update(genp("b", "t", ["m_Limit": limit]), ["labl": "l"]))
            }
            for key in ["class", "v_Ref", "v_PersistentRef", "m_Limit", "r_Data", "u_OpPrompt"] {
                bench.expect(-25303, bench.update(genp("b", "t"), [key: "genp"]), key)
            }
            // A query without the attribute does not match synchronizable items.
            bench.expect(0, bench.add(genp("z", "s", ["sync": true])))
            bench.expect(-25300, bench.update(genp("z", "s"), ["icmt": "c"]))
            bench.expect(-25300, bench.delete(genp("z", "s")))
        },
        Rule("D E", "groups one by one") { bench in
            bench.groups = ["one", "two"]
            for group in ["one", "two"] {
                for itemClass in ["genp", "inet"] { bench.expect(0, bench.add(["class": itemClass, "agrp": group])) }
            }
            bench.expect(0, bench.delete(["class": "genp", "agrp": "one"]))
            let left = bench.copying(["class": "genp"] + wantsAll + wantsAttributes).dictionaries
            #expect(left?.map { $0["agrp"] as? String } == ["two"])
            bench.expect(-25300, bench.delete(["class": "genp", "agrp": "one"]))
            bench.expect(-34018, bench.delete(["class": "genp", "agrp": "three"]))
            bench.expect(-34018, bench.copy(["class": "genp", "agrp": "three"]))
            bench.expect(-34018, bench.update(["class": "genp"], ["agrp": "com.apple.token"]))
            bench.expect(-25299, bench.update(["class": "inet", "agrp": "one"], ["agrp": "two"]))
            #expect(bench.copying(["class": "inet"] + wantsAll + wantsAttributes).array?.count == 2)
            bench.groups = []
            bench.expect(-34018, bench.update(["class": "genp"], ["labl": "l"]))
        },
        Rule("F", "a reference with its class, with further attributes, and of a removed item") { bench in
            let reference = try #require(bench.adding(genp("a", "s") + wantsPersistent).data)
            let query: [String: Any] = ["v_PersistentRef": reference]
            bench.expect(-25306, bench.update(query + ["class": "inet"], ["labl": "l"]))
            bench.expect(-25306, bench.delete(query + ["class": "inet"]))
            let attributes: [String: Any] = ["agrp": "", "tkid": "", "labl": "l", "sync": true, "acct": "a"]
            for (name, value) in attributes { bench.expect(-50, bench.copy(query + [name: value]), name) }
            bench.expect(0, bench.copy(query + ["sync": "syna"]))
            bench.expect(0, bench.update(query + ["class": "genp", "acct": "a"], ["acct": "b"]))
            bench.expect(-25300, bench.update(query + ["acct": "a"], ["acct": "c"]))
            bench.expect(0, bench.delete(query + ["acct": "b"]))
            for status in [bench.copy(query), bench.update(query, ["labl": "l"]), bench.delete(query)] {
                bench.expect(-25300, status)
            }
            for bytes in [Data(), reference.prefix(19), Data("apls".utf8) + reference.dropFirst(4)] {
                bench.expect(-50, bench.copy(["v_PersistentRef": bytes]))
            }
        },
        Rule("G", "an identity by reference returns its reference, and removing a half removes it") { bench in
            let pair = try TestPair()
            let added = try #require(bench.adding(["v_Ref": pair.secIdentity, "labl": "L"] + wantsPersistent).data)
            #expect(bench.copying(["v_Ref": pair.secIdentity] + wantsPersistent).data == added)
            #expect(bench.copying(["v_Ref": pair.secIdentity] + wantsAll + wantsPersistent).array as? [Data] == [added])
            let certificate = bench.copying(["v_Ref": pair.secCertificate] + wantsPersistent).data
            #expect(certificate?.dropFirst(4) == added.dropFirst(4))
            bench.expect(0, bench.update(["class": "idnt", "labl": "L"], ["labl": "M"]))
            for itemClass in ["idnt", "cert", "keys"] { bench.expect(0, bench.copy(["class": itemClass, "labl": "M"])) }
            bench.expect(0, bench.update(["v_Ref": pair.secIdentity], ["labl": "N"]))
            for itemClass in ["idnt", "cert", "keys"] { bench.expect(0, bench.copy(["class": itemClass, "labl": "N"])) }
            bench.expect(0, bench.update(["v_Ref": pair.secCertificate], ["labl": "C"]))
            // By attributes, the label must match both halves.
            bench.expect(-25300, bench.delete(["class": "idnt", "labl": "N"]))
            bench.expect(0, bench.copy(["class": "keys"]))
            bench.expect(-25300, bench.copy(["class": "cert", "labl": "N"]))
            bench.expect(0, bench.delete(["v_Ref": pair.secCertificate]))
            bench.expect(-25300, bench.copy(["class": "idnt"]))
            #expect(bench.copying(["class": "keys"] + wantsReference).value as? SecKey == pair.secKey)
            bench.expect(0, bench.add(["v_Ref": pair.secIdentity]))
            bench.expect(0, bench.delete(["class": "idnt"]))
            for itemClass in ["idnt", "cert", "keys"] { bench.expect(-25300, bench.copy(["class": itemClass])) }
        },
        Rule("G", "keys sign and encrypt, in memory and after they were stored") { bench in
            let pair = try TestPair("rsa", [], key: ["-newkey", "rsa:2048"])
            bench.expect(0, bench.add(["v_Ref": pair.secKey, "labl": "l"]))
            let stored = try #require(bench.copying(["class": "keys", "labl": "l"] + wantsReference).value as? SecKey)
            for key in [pair.secKey, stored] {
                for algorithm in [SecKeyAlgorithm.rsaSignatureMessagePKCS1v15SHA256, .rsaSignatureMessagePSSSHA256] {
                    let signature = bench.use { sign(key, algorithm, Data("m".utf8)).value }
                    #expect(verify(pair.secPublicKey, algorithm, Data("m".utf8), try #require(signature)).value)
                }
                for algorithm in [
                    SecKeyAlgorithm.rsaEncryptionPKCS1, .rsaEncryptionOAEPSHA256, .rsaEncryptionOAEPSHA1AESGCM,
                ] {
                    let sealed = try #require(encrypt(pair.secPublicKey, algorithm, Data("m".utf8)).value)
                    #expect(bench.use { decrypt(key, algorithm, sealed).value } == Data("m".utf8))
                }
            }
        },
        Rule("H", "a tombstone makes room for the item, and is removed by its attributes") { bench in
            for item in (0..<2).flatMap(bareItems).map({ $0 + ["sync": true] }) {
                bench.expect(0, bench.add(item))
                bench.expect(0, bench.delete(item + ["u_Tomb": true]))
                bench.expect(-25300, bench.delete(item))
                bench.expect(-25300, bench.update(item, ["labl": "l"]))
                bench.expect(0, bench.add(item), "\(item)")
                bench.expect(-25300, bench.copy(item + ["tomb": true]), "\(item)")
                bench.expect(0, bench.delete(item + ["u_Tomb": true]))
                bench.expect(0, bench.delete(item + ["tomb": true, "u_Tomb": false]))
                bench.expect(-25300, bench.copy(item + ["tomb": true]))
            }
        },
        Rule("I", "the system's keychain and synchronizing exclude each other; naming it changes its items") { bench in
            let system: [String: Any] = ["u_SystemKeychain": true]
            bench.expect(-50, bench.add(genp("a", "s", ["sync": true]) + system))
            bench.expect(0, bench.add(genp("a", "s") + system))
            bench.expect(-25299, bench.add(genp("a", "s") + system))
            bench.expect(-25300, bench.update(genp("a", "s"), ["labl": "l"]))
            bench.expect(0, bench.update(genp("a", "s") + system, ["labl": "l"]))
            bench.expect(-25300, bench.delete(genp("a", "s")))
            let pair = try TestPair()
            bench.expect(0, bench.add(["v_Ref": pair.secIdentity] + system))
            for itemClass in ["cert", "keys", "idnt"] {
                bench.expect(-25300, bench.copy(["class": itemClass]), itemClass)
                bench.expect(0, bench.copy(["class": itemClass] + system), itemClass)
            }
            bench.expect(0, bench.delete(["v_Ref": pair.secIdentity] + system))
            bench.expect(-25300, bench.copy(["class": "keys"] + system))
        },
        Rule("J", "new data under a password needs the password; adding and removing do not") { bench in
            let password: [String: Any] = ["u_CredRef": Data("p".utf8)]
            let item = genp("a", "s")
            let control = constrained(.applicationPassword)
            bench.expect(0, bench.add(item + ["accc": control, "v_Data": Data("x".utf8)] + password))
            bench.expect(0, bench.update(item + password, ["v_Data": Data("y".utf8)]))
            #expect(bench.copying(item + wantsData + password).data == Data("y".utf8))
            bench.expect(-25293, bench.copying(item + wantsData).status)
            bench.expect(-50, bench.update(item + password, ["accc": "x"]))
            bench.expect(-50, bench.update(item, ["accc": constrained(), "sync": true]))
            bench.expect(-50, bench.update(item, ["sync": true]))
            bench.expect(0, bench.add(genp("b", "s", ["accc": constrained(), "u_AuthUI": "u_AuthUIF"])))
            let skip: [String: Any] = ["u_AuthUI": "u_AuthUIS"]
            for status in [
                bench.add(genp("c", "s", skip)), bench.update(genp("b", "s", skip), [:]), bench.delete(genp("b", "s", skip)),
            ] { bench.expect(-50, status) }
            bench.expect(0, bench.delete(genp("b", "s", ["u_NoAuthUI": true])))
            bench.expect(0, bench.add(genp("akpu", "s", ["pdmn": "akpu"])))
            bench.expect(0, bench.update(genp("akpu", "s"), ["pdmn": "ak"]))
        },
        Rule("J", "a locked keychain reveals, changes and removes nothing of any class") { bench in
            let pair = try TestPair()
            bench.expect(0, bench.add(["v_Ref": pair.secIdentity]))
            bench.expect(0, bench.add(["class": "inet", "srvr": "h"]))
            try SecKeychainUse(bench.locked()) {
                for query in [["class": "inet"], ["v_Ref": pair.secKey], ["class": "idnt"]] as [[String: Any]] {
                    #expect(SecItemCopyMatching(query as CFDictionary, nil) == -25308, "\(query)")
                    #expect(SecItemUpdate(query as CFDictionary, ["labl": "l"] as CFDictionary) == -25308, "\(query)")
                    #expect(SecItemDelete(query as CFDictionary) == -25308, "\(query)")
                }
                #expect(SecItemAdd(["v_Ref": pair.secIdentity] as CFDictionary, nil) == -25308)
            }
            bench.expect(0, bench.copy(["class": "idnt"]))
        },
        Rule("K", "a damaged row is removed by reference, and by an update that needs its place") { bench in
            let references = try ["a", "b"].map { try #require(bench.adding(genp($0, "s") + wantsPersistent).data) }
            bench.expect(0, bench.add(genp("c", "s")))
            for reference in references { try bench.damage(reference) }
            bench.expect(-25300, bench.copy(["v_PersistentRef": references[0]]))
            bench.expect(-25300, bench.update(["v_PersistentRef": references[0]], ["labl": "l"]))
            bench.expect(0, bench.update(genp("c", "s"), ["acct": "b"]))
            bench.expect(-25300, bench.copy(["v_PersistentRef": references[1]]))
            bench.expect(0, bench.delete(genp("a", "s")))
            bench.expect(0, bench.delete(["class": "genp"]))
            bench.expect(-25300, bench.delete(["class": "genp"]))
        },
    ]
}
