import Foundation
import GRDB
import Keyfob
import KeyfobTesting
import KeyfobOpenSSL
import Testing

@testable import KeychainServices

extension Rule {
    /// Further calls in the situations of the vectors.
    static let further: [Rule] = [
        Rule("A", "an attribute of another class is refused in changes and in updates too") { bench in
            bench.expect(0, bench.add(["v_Ref": try TestPair().secCertificate]))
            bench.expect(-25303, bench.update(["class": "cert", "atag": "t"], ["labl": "l"]))
            bench.expect(-25303, bench.update(["class": "cert"], ["atag": "t"]))
            bench.expect(-25303, bench.copy(["class": "cert", "atag": "t"]))
            bench.expect(0, bench.copy(["class": "cert"]))
        },
        Rule("A", "a certificate in every shape") { bench in
            let certificate = try TestPair().secCertificate
            let added = bench.adding(["v_Ref": certificate] + wantsAttributes)
            #expect(added.dictionary?["ctyp"] as? Int == 3 && added.dictionary?["v_Data"] == nil && added.dictionary?["sha1"] is Data)
            let found = bench.copying(["v_Ref": certificate] + wantsData + wantsReference + wantsPersistent + wantsAll).dictionaries
            #expect(found?.count == 1 && found?.first?["v_Data"] as? Data == certificate.certificate.der)
            #expect(found?.first?["v_Ref"] as? SecCertificate == certificate)
            let reference = try #require(found?.first?["v_PersistentRef"] as? Data)
            #expect(bench.copying(["v_PersistentRef": reference] + wantsData).data == certificate.certificate.der)
        },
        Rule("B", "items without data are in arrays of everything but data") { bench in
            bench.expect(0, bench.add(genp("a", "s")))
            bench.expect(0, bench.add(genp("b", "s", ["v_Data": Data()])))
            let query: [String: Any] = ["class": "genp", "svce": "s"]
            #expect(bench.copying(query + wantsAll + wantsData).array as? [Data] == [Data()])
            #expect(bench.copying(query + wantsAll + wantsPersistent).array?.count == 2)
            let both = bench.copying(query + wantsAll + wantsData + wantsPersistent).dictionaries
            #expect(both?.map { $0["v_Data"] as? Data } == [nil, Data()])
            #expect(bench.copying(query + wantsAll).array?.isEmpty == true)
        },
        Rule("C", "an issuer is found at any height") { bench in
            for name in ["root", "intermediate", "leaf", "own"] {
                bench.expect(0, bench.add(["v_Ref": try Authority.certificate(name)]))
            }
            for (name, count) in [("root", 3), ("intermediate", 1), ("own", 1)] {
                let subject = try Authority.certificate(name).certificate.subject
                for form in [subject.der, subject.normalized] {
                    let found = bench.copying(["class": "cert", "m_Issuers": [form]] + wantsAll + wantsReference)
                    #expect(found.array?.count == count, "\(name)")
                }
            }
            bench.expect(-25300, bench.copy(["class": "cert", "m_Issuers": [Data([1])]]))
            bench.expect(0, bench.copy(["class": "cert", "m_Issuers": ["text", 1] as [Any]]))
        },
        Rule("C", "an issuer is found above each of the certificates of an authority") { bench in
            for name in ["intermediate", "twin", "leaf"] {
                bench.expect(0, bench.add(["v_Ref": try Authority.certificate(name)]))
            }
            for name in ["root", "own"] {
                let subject = try Authority.certificate(name).certificate.subject
                let found = bench.copying(["class": "cert", "m_Issuers": [subject.der]] + wantsAll + wantsReference)
                #expect(found.array?.count == 2, "\(name)")
            }
        },
        Rule("C", "an address is found in any case") { bench in
            bench.expect(0, bench.add(["v_Ref": try Authority.certificate("leaf")]))
            for (address, status) in [("web@example.org", 0), ("WEB@Example.ORG", 0), ("post@example.org", 0), ("eb@example.org", -25300)] {
                bench.expect(OSStatus(status), bench.copy(["class": "cert", "m_EmailAddressIfPresent": address]), address)
            }
        },
        Rule("D", "a call for any synchronizing changes synchronizable items") { bench in
            bench.expect(0, bench.add(genp("a", "s")))
            bench.expect(0, bench.add(genp("a", "s", ["sync": true])))
            bench.expect(0, bench.update(genp("a", "s", ["sync": "syna"]), ["icmt": "both"]))
            #expect(bench.copying(["class": "genp", "icmt": "both", "sync": "syna"] + wantsAll + wantsAttributes).array?.count == 2)
            bench.expect(0, bench.delete(genp("a", "s", ["sync": "syna"])))
            bench.expect(-25300, bench.copy(["class": "genp", "sync": "syna"]))
            bench.expect(-25300, bench.copy(["class": "genp", "tomb": true, "sync": "syna"]))
        },
        Rule("D", "an access control set by an update applies from then on") { bench in
            bench.expect(0, bench.add(genp("a", "s", ["v_Data": Data("x".utf8)])))
            let control = SecAccessControl(protection: "cku", flags: .devicePasscode)
            bench.expect(0, bench.update(genp("a", "s"), ["accc": control]))
            bench.expect(-25308, bench.copy(genp("a", "s", ["u_AuthUI": "u_AuthUIF"])))
            bench.expect(-25300, bench.copy(genp("a", "s", ["u_AuthUI": "u_AuthUIS"])))
            bench.expect(0, bench.copy(genp("a", "s", ["pdmn": "cku"])))
            bench.expect(-50, bench.update(genp("a", "s"), ["accc": control, "pdmn": "ak"]))
            bench.expect(0, bench.update(genp("a", "s"), ["pdmn": "ak"]))
            #expect(bench.copying(genp("a", "s") + wantsData).data == Data("x".utf8))
        },
        Rule("E", "a removed item is not removed again") { bench in
            bench.expect(0, bench.add(genp("a", "s")))
            bench.expect(0, bench.delete(genp("a", "s")))
            bench.expect(-25300, bench.delete(genp("a", "s")))
            for itemClass in ["genp", "inet", "cert", "keys", "idnt"] { bench.expect(-25300, bench.delete(["class": itemClass])) }
        },
        Rule("F", "a reference of every class finds its item in every shape") { bench in
            bench.expect(0, bench.add(genp("a", "s", ["v_Data": Data("x".utf8)])))
            bench.expect(0, bench.add(["class": "inet", "srvr": "h", "v_Data": Data("x".utf8)]))
            bench.expect(0, bench.add(["v_Ref": try TestPair().secIdentity]))
            for itemClass in ["genp", "inet", "cert", "keys", "idnt"] {
                let reference = try #require(bench.copying(["class": itemClass] + wantsPersistent).data)
                #expect(reference.prefix(4) == Data(itemClass.utf8) && reference.count == 20)
                let query: [String: Any] = ["v_PersistentRef": reference]
                bench.expect(0, bench.copy(query), itemClass)
                bench.expect(0, bench.copy(query + ["class": itemClass]), itemClass)
                #expect(bench.copying(query + wantsAll + wantsPersistent).array as? [Data] == [reference])
                #expect(bench.copying(query + wantsAttributes).dictionary?["persistref"] == nil)
                for other in ["genp", "inet", "cert", "keys", "idnt"] where other != itemClass {
                    bench.expect(-25306, bench.copy(query + ["class": other]), other)
                }
            }
        },
        Rule("G", "a public half that becomes an item has its own label") { bench in
            let pair = try TestPair()
            bench.expect(0, bench.add(["v_Ref": pair.secKey, "labl": "private"]))
            bench.expect(0, bench.add(["v_Ref": pair.secPublicKey, "labl": "public"]))
            bench.expect(-25299, bench.add(["v_Ref": pair.secPublicKey, "labl": "again"]))
            #expect(bench.copying(["class": "keys", "labl": "private"] + wantsReference).value as? SecKey == pair.secKey)
            #expect(bench.copying(["class": "keys", "labl": "public"] + wantsReference).value as? SecKey == pair.secPublicKey)
            bench.expect(0, bench.update(["v_Ref": pair.secKey], ["labl": "new"]))
            for label in ["new", "public"] { bench.expect(0, bench.copy(["class": "keys", "labl": label]), label) }
        },
        Rule("H", "a removal leaves no tombstone unless one is requested") { bench in
            for sync in [true, false] {
                bench.expect(0, bench.add(genp("a", "s", ["sync": sync])))
                bench.expect(0, bench.delete(genp("a", "s", ["sync": sync])))
                bench.expect(-25300, bench.copy(genp("a", "s", ["sync": sync, "tomb": true])))
            }
        },
        Rule("J", "a locked keychain changes and removes nothing") { bench in
            bench.expect(0, bench.add(genp("a", "s")))
            try SecKeychainUse(bench.locked()) {
                #expect(SecItemUpdate(genp("a", "s") as CFDictionary, ["labl": "l"] as CFDictionary) == -25308)
                #expect(SecItemDelete(genp("a", "s") as CFDictionary) == -25308)
                #expect(SecItemAdd(["class": "genp", "srvr": "h"] as CFDictionary, nil) == -25303)
            }
            bench.expect(0, bench.delete(genp("a", "s")))
        },
        Rule("K", "a damaged item is not changed, blocks nothing, and can be removed") { bench in
            for port in [80, 81] { bench.expect(0, bench.add(["class": "inet", "srvr": "h", "port": port])) }
            try bench.sql("UPDATE item SET attributes_ciphertext = X'12345678'")
            bench.expect(-25300, bench.update(["class": "inet", "srvr": "h", "port": 81], ["port": 80]))
            bench.expect(-25300, bench.copying(["class": "inet"] + wantsAll + wantsAttributes).status)
            bench.expect(0, bench.add(["class": "inet", "srvr": "h", "port": 81]))
            // Which program stored a damaged item cannot be read, so the group has to be named.
            bench.expect(-25300, bench.delete(["class": "inet", "srvr": "h", "port": 80]))
            bench.expect(0, bench.delete(["class": "inet", "srvr": "h", "port": 80, "agrp": ""]))
            #expect(bench.copying(["class": "inet"] + wantsAll + wantsAttributes).array?.count == 1)
        },
        Rule("4.1", "the calls that a key on the token refuses, and their errors") { bench in
            let key = try bench.generating(["type": "73", "bsiz": 256, "private": ["perm": true, "tkid": bench.keychain.tokenLabel]])
            let exported = unsafe outcome { unsafe SecKeyCopyExternalRepresentation(key, $0) as Data? }
            #expect(exported == Outcome(value: nil, status: errSecUnimplemented))
            let symmetric = unsafe outcome {
                unsafe SecKeyCreateWithData(Data(count: 32) as CFData, ["type": "73", "kcls": "2"] as CFDictionary, $0)
            }
            #expect(symmetric.value == nil && symmetric.status == errSecUnimplemented)
            let publicKey = try #require(SecKeyCopyPublicKey(key))
            let false1 = verify(publicKey, .ecdsaSignatureMessageX962SHA256, Data("m".utf8), Data([0x30, 0]))
            #expect(!false1.value && false1.status == errSecVerifyFailed)
            let short = sign(key, .ecdsaSignatureDigestX962SHA256, Data(count: 31))
            #expect(short.value == nil && short.status == errSecParam)
            let other = sign(key, .rsaSignatureMessagePSSSHA256, Data())
            #expect(other.value == nil && other.status == errSecParam)
        },
    ]
}
