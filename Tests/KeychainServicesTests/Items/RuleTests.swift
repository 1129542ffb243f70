import Foundation
import Keyfob
import KeyfobTesting
import KeyfobOpenSSL
import Testing

@testable import KeychainServices

/// A rule of Apple's functions that no behaviour vector covers.
struct Rule: Sendable, CustomTestStringConvertible {
    let section: String
    let name: String
    let run: @Sendable (SecItemFixture) throws -> Void
    var testDescription: String { "\(section) \(name)" }

    init(_ section: String, _ name: String, _ run: @escaping @Sendable (SecItemFixture) throws -> Void) {
        (self.section, self.name, self.run) = (section, name, run)
    }
}

@Suite("Rules of the four functions")
struct RuleTests {
    static let all: [[Rule]] = [
        Rule.attributes, Rule.calls, Rule.further, Rule.edges, Rule.labels, Rule.sharedLabels, Rule.acceptance,
        Rule.secondLooks, Rule.applicationPasswords, Rule.values, Rule.shapes, Rule.filters, Rule.combined,
        Rule.protection,
    ]

    @Test("a rule", arguments: all.flatMap { $0 })
    func rule(_ rule: Rule) throws { try rule.run(SecItemFixture()) }
}

extension Rule {
    /// Attributes of both password classes, each with a value and its returned form.
    private static var passwordAttributes: [(String, Any, Any)] { [
        ("desc", "d", "d"), ("icmt", Data([0, 255]), Data([0, 255])), ("crtr", 7, 7), ("crtr", "7", 7), ("crtr", "abcd", "abcd"),
        ("type", 1_701_605_478, 1_701_605_478), ("scrp", 3, 3), ("alis", "a", "a"), ("invi", true, 1), ("invi", false, 0),
        ("nega", true, 1), ("cusi", 1, 1), ("prot", "p", "p"), ("labl", "l", "l"), ("labl", 5, 5), ("sysb", 1, 1),
        ("pcss", 4, 4), ("pcsk", Data([1]), Data([1])), ("pcsi", "i", "i"),
    ] }

    /// Classes and attributes.
    static let attributes: [Rule] = [
        Rule("1.4", "every attribute of a password is stored, returned and searched") { bench in
            for itemClass in ["genp", "inet"] {
                for (index, (name, value, back)) in passwordAttributes.enumerated() {
                    let item: [String: Any] = ["class": itemClass, "acct": "\(index)"]
                    bench.expect(0, bench.add(item + [name: value]), name)
                    let found = bench.copying(item + [name: value] + wantsAttributes).dictionary?[name]
                    #expect((found as? NSObject) == (back as? NSObject), "\(itemClass) \(name)")
                    bench.expect(-25300, bench.copy(item + [name: 99]), name)
                }
            }
        },
        Rule("1.5", "every attribute of an internet password is part of its primary key, or is not") { bench in
            let item: [String: Any] = ["class": "inet", "acct": "a", "srvr": "h"]
            bench.expect(0, bench.add(item))
            for (name, value) in [
                ("sdmn", "d"), ("ptcl", "http"), ("atyp", "dflt"), ("port", 443), ("path", "/p"), ("vwht", "v"),
            ] as [(String, Any)] {
                bench.expect(0, bench.add(item + [name: value]), name)
                bench.expect(-25299, bench.add(item + [name: value, "labl": "x"]), name)
                #expect(bench.copying(item + [name: value] + wantsAll + wantsAttributes).array?.count == 1, "\(name)")
            }
            for name in ["labl", "desc", "icmt", "prot"] { bench.expect(-25299, bench.add(item + [name: "x"]), name) }
            // A missing port equals port 0, and a missing protocol 0.
            #expect(bench.copying(item + ["port": 0, "ptcl": 0, "path": ""] + wantsAll + wantsAttributes).array?.count == 4)
        },
        Rule("1.5", "the extra data comes with data and attributes together, and with neither alone") { bench in
            let extras = Dictionary(
                uniqueKeysWithValues: ["binn", "bini", "bin0", "bin1", "bin2", "bin3"].map { ($0, Data($0.utf8)) })
            let item: [String: Any] = ["class": "inet", "srvr": "h"]
            bench.expect(0, bench.add(item + extras + ["v_Data": Data("x".utf8)]))
            let both = bench.copying(item + wantsData + wantsAttributes).dictionary
            let alone = bench.copying(item + wantsAttributes).dictionary
            for (name, value) in extras {
                #expect(both?[name] as? Data == value && alone?[name] == nil, "\(name)")
            }
        },
        Rule("1.3", "a view hint and a token make another item") { bench in
            bench.expect(0, bench.add(genp("a", "s")))
            bench.expect(0, bench.add(genp("a", "s", ["vwht": "hint"])))
            bench.expect(0, bench.add(genp("a", "s", ["tkid": bench.keychain.tokenLabel])))
            bench.expect(-25299, bench.add(genp("a", "s", ["tkid": ""])))
            bench.expect(0, bench.add(genp("a", "s", ["ggrp": "g"])))
        },
        Rule("1.3", "an addition sets its own dates, and the creation date can be changed later") { bench in
            let then = Date(timeIntervalSinceReferenceDate: 1000)
            bench.expect(0, bench.add(genp("a", "s", ["cdat": then, "mdat": then])))
            bench.expect(-25300, bench.copy(genp("a", "s", ["cdat": then])))
            bench.expect(0, bench.update(genp("a", "s"), ["cdat": then, "mdat": then]))
            let found = bench.copying(genp("a", "s", ["cdat": then]) + wantsAttributes).dictionary
            #expect(found?["cdat"] as? Date == then && (found?["mdat"] as? Date ?? then) > then)
        },
        Rule("1.3", "a missing attribute of the sync engine counts as no") { bench in
            bench.expect(0, bench.add(genp("a", "s")))
            for name in ["sysb", "tomb", "sync"] {
                bench.expect(0, bench.copy(genp("a", "s", [name: 0])), name)
                bench.expect(-25300, bench.copy(genp("a", "s", [name: 1])), name)
            }
            bench.expect(0, bench.copy(genp("a", "s", ["sync": false, "musr": Data()])))
        },
        Rule("1.3", "an access control in a query does not filter, and is returned with an item") { bench in
            let control = SecAccessControl(protection: "cku", flags: .applicationPassword)
            bench.expect(0, bench.add(genp("a", "s", ["accc": control])))
            bench.expect(0, bench.add(genp("b", "s", ["pdmn": "ck"])))
            for account in ["a", "b"] { bench.expect(0, bench.copy(genp(account, "s", ["accc": control]))) }
            let found = bench.copying(genp("a", "s") + wantsAttributes).dictionary
            #expect(found?["accc"] as? SecAccessControl == control && found?["pdmn"] as? String == "cku")
            let other = bench.copying(genp("b", "s") + wantsAttributes).dictionary
            #expect(other?["accc"] as? SecAccessControl == SecAccessControl(protection: "ck", flags: []))
        },
        Rule("1.6", "a certificate has the attributes of its reference") { bench in
            let pair = try TestPair("Some  Name", ["-set_serial", "0x1234"])
            bench.expect(0, bench.add(["v_Ref": pair.secCertificate]))
            let found = try #require(bench.copying(["class": "cert"] + wantsAttributes).dictionary)
            #expect(found["ctyp"] as? Int == 3 && found["cenc"] as? Int == 3)
            #expect(found["slnr"] as? Data == Data([0x12, 0x34]))
            #expect(found["pkhh"] as? Data == pair.certificate.publicKey.identifier)
            #expect(found["subj"] as? Data == pair.certificate.subject.normalized)
            #expect(found["issr"] as? Data == pair.certificate.issuer.normalized)
            #expect((found["skid"] as? Data)?.count == 20)
            #expect(found["labl"] as? String == "Some  Name" && found["pdmn"] as? String == "dk")
            for name in ["ctyp", "cenc", "slnr", "pkhh", "subj", "issr", "skid", "labl", "pdmn"] {
                let value = try #require(found[name])
                bench.expect(0, bench.copy(["class": "cert", name: value]), name)
            }
            for (name, value) in [("issr", pair.certificate.issuer), ("subj", pair.certificate.subject)] {
                for sequence in [value.der, value.normalizedSequence] {
                    bench.expect(0, bench.copy(["class": "cert", name: sequence]), name)
                    bench.expect(-25300, bench.copy(["class": "cert", name: sequence.dropLast()]), name)
                }
            }
            let subject = try #require(SecCertificateCopyNormalizedSubjectSequence(pair.secCertificate))
            bench.expect(0, bench.update(["class": "cert", "subj": subject], ["labl": "Some  Name"]))
            for name in ["acct", "svce", "crtr", "type", "desc", "icmt", "srvr", "atag", "klbl"] {
                bench.expect(-25303, bench.copy(["class": "cert", name: "x"]), name)
            }
        },
        Rule("1.6", "neither label nor data makes another certificate") { bench in
            let item: [String: Any] = ["class": "cert", "issr": Data([1]), "slnr": Data([2]), "ctyp": 3]
            bench.expect(0, bench.add(item + ["labl": "l"]))
            bench.expect(-25299, bench.add(item + ["labl": "m", "v_Data": Data([9])]))
            for (name, value) in [("issr", Data([3])), ("slnr", Data([3])), ("ctyp", 1)] as [(String, Any)] {
                bench.expect(0, bench.add(item + [name: value]), name)
            }
        },
        Rule("1.7", "a key has the attributes of its reference") { bench in
            let pair = try TestPair()
            bench.expect(0, bench.add(["v_Ref": pair.secKey, "labl": "private"]))
            bench.expect(0, bench.add(["v_Ref": pair.secPublicKey, "labl": "public"]))
            for (label, half) in [("private", 1), ("public", 0)] {
                let found = try #require(bench.copying(["class": "keys", "labl": label] + wantsAttributes).dictionary, "\(label)")
                #expect(found["kcls"] as? Int == half && found["type"] as? Int == 73 && found["bsiz"] as? Int == 256)
                #expect(found["esiz"] as? Int == 256 && found["klbl"] as? Data == pair.certificate.publicKey.identifier)
                #expect(found["perm"] as? Int == 1 && found["priv"] as? Int == 1 && found["modi"] as? Int == 1)
                #expect(found["sign"] as? Int == half && found["vrfy"] as? Int == 1 - half && found["drve"] as? Int == half)
            }
            // The reference matches by class, hash, type and size.
            bench.expect(0, bench.copy(["v_Ref": pair.secKey, "labl": "private"]))
            bench.expect(-25300, bench.copy(["v_Ref": pair.secKey, "labl": "public"]))
            bench.expect(0, bench.copy(["class": "keys", "kcls": "1", "type": "73", "sign": true]))
            bench.expect(-25300, bench.copy(["class": "keys", "kcls": "1", "type": "73", "sign": false]))
        },
        Rule("1.7", "the halves of RSA have the same operations as Apple's") { bench in
            let pair = try TestPair("rsa", [], key: ["-newkey", "rsa:2048"])
            bench.expect(0, bench.add(["v_Ref": pair.secKey]))
            bench.expect(0, bench.add(["v_Ref": pair.secPublicKey]))
            for (half, able, unable) in [
                ("1", ["decr", "sign", "unwp"], ["encr", "vrfy", "wrap", "drve", "vyrc"]),
                ("0", ["encr", "decr", "vrfy", "vyrc", "wrap"], ["sign", "unwp", "drve"]),
            ] {
                let found = try #require(bench.copying(["class": "keys", "kcls": half] + wantsAttributes).dictionary)
                for name in able { #expect(found[name] as? Int == 1, "\(half) \(name)") }
                for name in unable { #expect(found[name] as? Int == 0, "\(half) \(name)") }
            }
        },
        Rule("1.7", "every part of a key's primary key makes another item, and the label does not") { bench in
            let item: [String: Any] = ["class": "keys", "atag": "t"]
            bench.expect(0, bench.add(item))
            bench.expect(-25299, bench.add(item + ["labl": "l"]))
            let date = Date(timeIntervalSinceReferenceDate: 5)
            for (name, value) in [
                ("kcls", "2"), ("klbl", Data([1])), ("atag", "u"), ("crtr", 1), ("type", "42"), ("bsiz", 128), ("esiz", 128),
                ("sdat", date), ("edat", date),
            ] as [(String, Any)] {
                bench.expect(0, bench.add(item + [name: value]), name)
                bench.expect(-25299, bench.add(item + [name: value, "labl": "l"]), name)
            }
            // In a primary key, an absent value equals an empty one.
            bench.expect(-25299, bench.add(item + ["sdat": Date(timeIntervalSinceReferenceDate: 0), "bsiz": 0, "klbl": Data()]))
        },
        Rule("1.7", "numbers that no key type has are returned unchanged") { bench in
            for type in [2_147_483_678, 4_000_000_000, 110] {
                let item: [String: Any] = ["class": "keys", "type": type, "atag": "\(type)"]
                bench.expect(0, bench.add(item))
                #expect(bench.copying(item + wantsAttributes).dictionary?["type"] as? Int == type)
                #expect(bench.copying(["class": "keys", "type": "\(type)"] + wantsAttributes).dictionary?["type"] as? Int == type)
            }
        },
        Rule("1.8", "an identity is filtered by the attributes of both halves") { bench in
            let pair = try TestPair()
            bench.expect(0, bench.add(["v_Ref": pair.secCertificate, "labl": "of the certificate"]))
            bench.expect(0, bench.add(["v_Ref": pair.secKey, "labl": "of the key", "atag": "tag"]))
            let hash = pair.certificate.publicKey.identifier
            for (name, value, status) in [
                ("labl", "of the certificate", 0), ("labl", "of the key", -25300), ("atag", "tag", 0), ("klbl", hash, 0),
                ("pkhh", hash, 0), ("subj", pair.certificate.subject.normalized, 0), ("kcls", "1", 0), ("type", "73", 0),
                ("slnr", pair.certificate.serialNumber, 0), ("atag", "other", -25300),
            ] as [(String, Any, Int)] {
                bench.expect(OSStatus(status), bench.copy(["class": "idnt", name: value]), name)
            }
            let found = try #require(bench.copying(["class": "idnt"] + wantsAttributes).dictionary)
            #expect(found["labl"] as? String == "of the certificate" && found["atag"] as? String == "tag")
            #expect(found["kcls"] as? Int == 1 && found["ctyp"] as? Int == 3)
            bench.expect(0, bench.delete(["v_Ref": pair.secKey]))
            bench.expect(-25300, bench.copy(["class": "idnt"]))
        },
        Rule("1.8", "two certificates for one key are two identities, and removing the last removes the key") { bench in
            let pair = try TestPair("one")
            let request = try pair.anotherCertificate("two")
            bench.expect(0, bench.add(["v_Ref": pair.secIdentity]))
            bench.expect(0, bench.add(["v_Ref": SecCertificate(request)]))
            #expect(bench.copying(["class": "idnt"] + wantsAll + wantsReference).array?.count == 2)
            bench.expect(0, bench.delete(["v_Ref": pair.secIdentity]))
            #expect(bench.copying(["class": "idnt"] + wantsAll + wantsReference).array?.count == 1)
            let last = try #require(bench.copying(["class": "idnt"] + wantsReference).value as? SecIdentity)
            bench.expect(0, bench.delete(["v_Ref": last]))
            bench.expect(-25300, bench.copy(["class": "keys"]))
        },
        Rule("1.9", "accessibility has defaults, and an access control must agree with it") { bench in
            bench.expect(0, bench.add(genp("a", "s")))
            bench.expect(0, bench.add(genp("b", "s", ["agrp": ""])))
            #expect(bench.copying(genp("a", "s") + wantsAttributes).dictionary?["pdmn"] as? String == "ak")
            let control = SecAccessControl(protection: "ck", flags: [])
            bench.expect(-50, bench.add(genp("c", "s", ["accc": control, "pdmn": "ak"])))
            bench.expect(0, bench.add(genp("c", "s", ["accc": control, "pdmn": "ck"])))
            for value in ["ak", "ck", "dk", "aku", "cku", "dku", "akpu"] {
                bench.expect(0, bench.add(genp("each", value, ["pdmn": value])), value)
                bench.expect(0, bench.copy(["class": "genp", "acct": "each", "pdmn": value]), value)
            }
            for value in ["f", "", "AK", 1] as [Any] { bench.expect(-50, bench.add(genp("z", "s", ["pdmn": value]))) }
            bench.groups = ["com.apple.apsd"]
            bench.expect(0, bench.add(genp("a", "s")))
            #expect(bench.copying(genp("a", "s") + wantsAttributes).dictionary?["pdmn"] as? String == "dku")
        },
        Rule("1.10", "a value of a wrong kind is refused in every place") { bench in
            for (itemClass, name, value) in [
                ("genp", "cdat", "2001-01-01"), ("genp", "cdat", 0), ("genp", "acct", Date()), ("genp", "acct", ["a"]),
                ("genp", "acct", NSNull()), ("inet", "port", Data([80])), ("genp", "agrp", 7), ("genp", "musr", Data([1])),
                ("genp", "sync", "x"), ("keys", "klbl", Date()), ("genp", "sha1", Data([1])), ("keys", "sdat", "x"),
                ("inet", "port", Date()), ("cert", "slnr", Date()),
            ] as [(String, String, Any)] {
                let query: [String: Any] = ["class": itemClass, name: value]
                bench.expect(-50, bench.add(query), "add \(name)")
                bench.expect(-50, bench.copy(query), "copy \(name)")
                bench.expect(-50, bench.update(query, [:]), "update \(name)")
                bench.expect(-50, bench.delete(query), "delete \(name)")
            }
        },
        Rule("1.10", "data accepts text and numbers, text accepts bytes") { bench in
            bench.expect(0, bench.add(["class": "keys", "klbl": "abc"]))
            #expect(bench.copying(["class": "keys"] + wantsAttributes).dictionary?["klbl"] as? Data == Data("abc".utf8))
            bench.expect(0, bench.copy(["class": "keys", "klbl": Data("abc".utf8)]))
            bench.expect(0, bench.add(["class": "keys", "klbl": 0x0102_0304]))
            #expect((bench.copying(["class": "keys", "klbl": 0x0102_0304] + wantsAttributes).dictionary?["klbl"] as? Data)?.count == 4)
            bench.expect(0, bench.add(genp("a", "s", ["agrp": Data()])))
            bench.expect(0, bench.copy(genp("a", "s", ["agrp": ""])))
        },
    ]
}
