import Foundation
import KeyfobOpenSSL
import Testing

@testable import KeychainServices

/// An item and its expected results.
private struct Shaped {
    let name: String
    let query: [String: Any]
    var data: Data?
    var reference: NSObject?
    let attribute: String

    /// The keys that request some of the four kinds of results.
    static func wants(_ kinds: Int) -> [String: Any] {
        var wants: [String: Any] = [:]
        for (bit, name) in ["r_Data", "r_Attributes", "r_Ref", "r_PersistentRef"].enumerated() where kinds & 1 << bit != 0 {
            wants[name] = true
        }
        return wants
    }

    /// Checks the shape of a result for some of the four kinds: data 1, attributes 2, reference 4, persistent reference
    /// 8.
    func check(_ value: Any?, _ kinds: Int, _ what: String) throws {
        switch kinds {
        case 0: #expect(value == nil, "\(what)")
        case 1: #expect(value as? Data == data, "\(what)")
        case 4: #expect(value as? NSObject == reference, "\(what)")
        case 8: #expect((value as? Data)?.count == 20, "\(what)")
        default:
            let found = try #require(value as? [String: Any], "\(what)")
            #expect(found["class"] is String && found["persistref"] == nil && found["UUID"] == nil, "\(what)")
            #expect(found["v_Data"] as? Data == (kinds & 1 == 0 ? nil : data), "\(what)")
            #expect((found[attribute] != nil && found["mdat"] is Date) == (kinds & 2 != 0), "\(what)")
            // The digest is returned only together with the data.
            #expect((found["sha1"] as? Data)?.count == (kinds & 3 == 3 ? 20 : nil), "\(what)")
            #expect(found["v_Ref"] as? NSObject == (kinds & 4 == 0 ? nil : reference), "\(what)")
            #expect((found["v_PersistentRef"] as? Data)?.count == (kinds & 8 == 0 ? nil : 20), "\(what)")
        }
    }

    /// Whether an array omits the item because it has no result.
    func isOmitted(_ kinds: Int) -> Bool {
        kinds == 0 || kinds == 1 && data == nil || kinds == 4 && reference == nil
    }
}

extension SecItemFixture {
    /// Adds an item of each class, with and without data, and returns them with queries that find them.
    fileprivate func shaped() throws -> [Shaped] {
        let pair = try TestPair()
        let rsa = try TestPair("rsa", [], key: ["-newkey", "rsa:2048"])
        let secret = Data("secret".utf8)
        expect(0, add(genp("a", "s", ["v_Data": secret])))
        expect(0, add(genp("b", "s")))
        expect(0, add(["class": "inet", "srvr": "h", "v_Data": secret]))
        expect(0, add(["class": "inet", "srvr": "i"]))
        expect(0, add(["v_Ref": pair.secIdentity, "extr": true, "atag": "pair"]))
        expect(0, add(["v_Ref": rsa.secPublicKey]))
        expect(0, add(["class": "cert", "slnr": Data([1])]))
        expect(0, add(["class": "keys", "atag": "bare"]))
        expect(0, add(["class": "keys", "atag": "bytes", "v_Data": secret]))
        return [
            Shaped(name: "genp", query: genp("a", "s"), data: secret, attribute: "acct"),
            Shaped(name: "genp without data", query: genp("b", "s"), attribute: "acct"),
            Shaped(name: "inet", query: ["class": "inet", "srvr": "h"], data: secret, attribute: "srvr"),
            Shaped(name: "inet without data", query: ["class": "inet", "srvr": "i"], attribute: "srvr"),
            Shaped(
                name: "cert", query: ["v_Ref": pair.secCertificate], data: pair.certificate.der, reference: pair.secCertificate,
                attribute: "issr"),
            Shaped(name: "cert without data", query: ["class": "cert", "slnr": Data([1])], attribute: "slnr"),
            Shaped(
                name: "private key", query: ["class": "keys", "atag": "pair"], data: try pair.secKey.externalRepresentation(),
                reference: pair.secKey, attribute: "klbl"),
            Shaped(
                name: "public key", query: ["v_Ref": rsa.secPublicKey], data: try rsa.secPublicKey.externalRepresentation(),
                reference: rsa.secPublicKey, attribute: "klbl"),
            Shaped(name: "key without data", query: ["class": "keys", "atag": "bare"], attribute: "atag"),
            Shaped(name: "key of other bytes", query: ["class": "keys", "atag": "bytes"], data: secret, attribute: "atag"),
            Shaped(name: "identity", query: ["class": "idnt"], reference: pair.secIdentity, attribute: "slnr"),
        ]
    }
}

extension Rule {
    /// The shapes of results.
    static let shapes: [Rule] = [
        Rule("2.8", "every combination of results, for every class and every limit") { bench in
            for item in try bench.shaped() {
                for kinds in 0..<16 {
                    let query = item.query + Shaped.wants(kinds)
                    for limit in [nil, "m_LimitOne", 1] as [Any?] {
                        let answer = bench.copying(query + (limit.map { ["m_Limit": $0] } ?? [:]))
                        let what = "\(item.name) \(kinds) \(limit ?? "")"
                        #expect(answer.status == 0 && answer.isTouched, "\(what)")
                        try item.check(answer.value, kinds, what)
                    }
                    for limit in ["m_LimitAll", 2, -1, 0x7FFF] as [Any] {
                        let answer = bench.copying(query + ["m_Limit": limit])
                        let what = "\(item.name) \(kinds) \(limit)"
                        let array = try #require(answer.array, "\(what)")
                        #expect(answer.status == 0 && array.count == (item.isOmitted(kinds) ? 0 : 1), "\(what)")
                        if let first = array.first { try item.check(first, kinds, what) }
                    }
                    let none = bench.copying(query + ["m_Limit": 0])
                    #expect(none.status == -25300 && !none.isTouched, "\(item.name) \(kinds)")
                }
            }
        },
        Rule("2.8", "every combination of results by a persistent reference, with no class and with its own") { bench in
            for item in try bench.shaped() {
                let reference = try #require(bench.copying(item.query + wantsPersistent).data)
                for kinds in 0..<16 {
                    for more in [[:], ["class": String(decoding: reference.prefix(4), as: UTF8.self)], ["sync": "syna"]] {
                        let query: [String: Any] = ["v_PersistentRef": reference] + Shaped.wants(kinds) + more
                        try item.check(bench.copying(query).value, kinds, "\(item.name) \(kinds)")
                        let array = try #require(bench.copying(query + wantsAll).array, "\(item.name) \(kinds)")
                        #expect(array.count == (item.isOmitted(kinds) ? 0 : 1), "\(item.name) \(kinds)")
                        if let first = array.first { try item.check(first, kinds, "\(item.name) \(kinds)") }
                    }
                }
            }
        },
        Rule("2.4 2.8", "every combination of results of an addition") { bench in
            let pair = try TestPair()
            for kinds in 1..<16 {
                for (name, item, reference) in [
                    ("genp", genp("a", "s", ["v_Data": Data("x".utf8)]), nil),
                    ("inet", ["class": "inet", "srvr": "h", "v_Data": Data("x".utf8)], nil),
                    ("cert", ["v_Ref": pair.secCertificate], pair.secCertificate), ("keys", ["v_Ref": pair.secKey], pair.secKey),
                    ("public", ["v_Ref": pair.secPublicKey], pair.secPublicKey),
                ] as [(String, [String: Any], NSObject?)] {
                    let what = "\(name) \(kinds)"
                    let answer = bench.adding(item + Shaped.wants(kinds))
                    #expect(answer.status == 0 && answer.isTouched, "\(what)")
                    var stored = item
                    stored["v_Data"] = nil
                    let found = bench.copying(stored + Shaped.wants(kinds))
                    switch kinds {
                    case 1: #expect(answer.data == found.data && answer.data != nil, "\(what)")
                    case 4: #expect(answer.value as? NSObject == reference, "\(what)")
                    case 8: #expect(answer.data == found.data && answer.data?.count == 20, "\(what)")
                    default:
                        var (added, copied) = (try #require(answer.dictionary, "\(what)"), try #require(found.dictionary, "\(what)"))
                        // An addition returns the digest with the attributes, with or without data.
                        #expect((added["sha1"] as? Data)?.count == (kinds & 2 == 0 ? nil : 20), "\(what)")
                        (added["sha1"], copied["sha1"]) = (nil, nil)
                        #expect(added as NSDictionary == copied as NSDictionary, "\(what)")
                    }
                    bench.expect(0, bench.delete(stored), what)
                }
                // Adding an identity returns only its persistent reference.
                let identity = bench.adding(["v_Ref": pair.secIdentity] + Shaped.wants(kinds))
                #expect(identity.status == 0 && identity.isTouched == (kinds & 8 != 0), "\(kinds)")
                #expect(identity.data?.prefix(4) == (kinds & 8 == 0 ? nil : Data("idnt".utf8)), "\(kinds)")
                bench.expect(0, bench.delete(["v_Ref": pair.secIdentity]))
            }
        },
        Rule("2.8", "an array has an element for each item with the requested results, in one order") { bench in
            for (index, account) in ["c", "a", "d", "b"].enumerated() {
                let data: [String: Any] = index == 2 ? [:] : ["v_Data": Data(account.utf8)]
                bench.expect(0, bench.add(genp(account, "s") + data))
            }
            bench.expect(0, bench.update(genp("a", "s"), ["labl": "changed"]))
            let all: [String: Any] = ["class": "genp", "svce": "s"]
            let accounts = bench.copying(all + wantsAll + wantsAttributes).dictionaries?.map { $0["acct"] as? String }
            #expect(accounts?.count == 4 && Set(accounts ?? []).count == 4)
            for _ in 0..<3 {
                let again = bench.copying(all + wantsAll + wantsAttributes + wantsData).dictionaries
                #expect(again?.map { $0["acct"] as? String } == accounts)
            }
            // One result is the first of all, and two are the first two.
            #expect(bench.copying(all + wantsAttributes).dictionary?["acct"] as? String == accounts?.first)
            let two = bench.copying(all + ["m_Limit": 2] + wantsAttributes).dictionaries
            #expect(two?.map { $0["acct"] as? String } == accounts.map { Array($0.prefix(2)) })
            #expect(bench.copying(all + wantsAll + wantsData).array?.count == 3)
            #expect(bench.copying(all + wantsAll + wantsReference).array?.isEmpty == true)
            #expect(bench.copying(all + wantsAll + wantsReference + wantsData).array?.count == 4)
            for limit in [3, 4, 5] {
                #expect(bench.copying(all + ["m_Limit": limit] + wantsPersistent).array?.count == min(limit, 4))
            }
        },
    ]
}
