import Foundation
import KeyfobOpenSSL
import Testing

@testable import KeychainServices

extension SecItemFixture {
    /// The number of matches; `nil` for a query that is refused.
    fileprivate func count(_ query: [String: Any]) -> Int? {
        let answer = copying(query + wantsAll + wantsPersistent)
        return answer.status == -25300 && !answer.isTouched ? 0 : answer.array?.count
    }
}

extension Rule {
    /// Match filters, and references as filters.
    static let filters: [Rule] = [
        Rule("2.5", "only certificates pass filters of certificates") { bench in
            let pair = try TestPair()
            bench.expect(0, bench.add(genp("a", "s")))
            bench.expect(0, bench.add(["class": "inet", "srvr": "h"]))
            bench.expect(0, bench.add(["v_Ref": pair.secIdentity]))
            bench.expect(0, bench.add(["class": "cert", "labl": "bare"]))
            for (filter, value) in [
                ("m_ValidOnDate", Date()), ("m_ValidOnDate", NSNull()), ("m_EmailAddressIfPresent", ""), ("m_TrustedOnly", true),
            ] as [(String, Any)] {
                for query in [["class": "genp"], ["class": "inet"], ["class": "keys"], ["class": "cert", "labl": "bare"]] as [[String: Any]] {
                    for shape in [[:], wantsData, wantsAll + wantsAttributes] {
                        let answer = bench.copying(query + [filter: value] + shape)
                        #expect(answer.status == -25300 && !answer.isTouched, "\(query) \(filter)")
                    }
                }
            }
            // Filters with neutral values, and filters that the data-protection keychain ignores, match every class.
            for itemClass in ["genp", "inet", "keys", "cert", "idnt"] {
                for (filter, value) in [
                    ("m_TrustedOnly", false), ("m_CaseInsensitive", true), ("m_DiacriticInsensitive", true),
                    ("m_WidthInsensitive", true), ("m_SearchList", [Any]()), ("m_Unknown", 1),
                ] as [(String, Any)] {
                    bench.expect(0, bench.copy(["class": itemClass, filter: value]), "\(itemClass) \(filter)")
                }
            }
            // A value of the wrong type is an error for every class.
            for itemClass in ["genp", "keys", "cert", "idnt"] {
                for (filter, value) in [
                    ("m_ValidOnDate", "now"), ("m_ValidOnDate", 0), ("m_TrustedOnly", 1), ("m_TrustedOnly", NSNull()),
                    ("m_EmailAddressIfPresent", Data()), ("m_SubjectContains", 1), ("m_ItemList", "x"),
                ] as [(String, Any)] {
                    bench.expect(-50, bench.copy(["class": itemClass, filter: value]), "\(itemClass) \(filter)")
                }
            }
        },
        Rule("2.5", "at an invalid date, or beyond all calendars, nothing is valid") { bench in
            bench.expect(0, bench.add(["v_Ref": try TestPair().secIdentity]))
            for itemClass in ["cert", "idnt"] {
                for seconds in [Double.nan, .infinity, -.infinity, 1e300, -1e300, 1e12, -1e12] {
                    let date = Date(timeIntervalSinceReferenceDate: seconds)
                    bench.expect(-25300, bench.copy(["class": itemClass, "m_ValidOnDate": date]), "\(seconds)")
                }
                for date in [Date.distantPast, .distantFuture] { #expect(bench.count(["class": itemClass, "m_ValidOnDate": date]) == 0) }
                #expect(bench.count(["class": itemClass, "m_ValidOnDate": NSDate()]) == 1)
            }
        },
        Rule("2.5", "a subject is compared by the flags: case, marks and width, each by itself") { bench in
            for name in ["Ärger Süd", "arger sud", "ＦＵＬＬ Ｗｉｄｅ"] {
                bench.expect(0, bench.add(["v_Ref": try TestPair(name, ["-utf8"]).secCertificate]))
            }
            for (text, flags, count) in [
                ("Ärger", "", 1), ("Arger", "", 0), ("arger", "", 1), ("ärger", "", 0), ("ＦＵＬＬ", "", 1), ("FULL", "", 0),
                ("ärger", "C", 1), ("ARGER", "C", 1), ("Arger", "C", 1), ("full", "C", 0),
                ("Arger", "D", 1), ("arger", "D", 1), ("ärger", "D", 1), ("ARGER", "D", 0),
                ("arger", "CD", 2), ("ÄRGER SÜD", "CD", 2), ("FULL", "W", 1), ("full", "W", 0), ("full wide", "CW", 1),
                ("Arger", "W", 0), ("ÀRGER", "CDW", 2), ("", "", 3),
            ] {
                var query: [String: Any] = ["class": "cert", "m_SubjectContains": text]
                for (letter, key) in [("C", "m_CaseInsensitive"), ("D", "m_DiacriticInsensitive"), ("W", "m_WidthInsensitive")] {
                    if flags.contains(letter) { query[key] = true } else if flags.isEmpty { query[key] = false }
                }
                #expect(bench.count(query) == count, "\(text) \(flags)")
            }
            for (key, text) in [("StartsWith", "ARG"), ("EndsWith", "SUD"), ("WholeString", "ARGER SUD")] {
                let query: [String: Any] = ["class": "cert", "m_Subject\(key)": text, "m_CaseInsensitive": true]
                #expect(bench.count(query) == 1 && bench.count(query + ["m_DiacriticInsensitive": true]) == 2, "\(key)")
            }
        },
        Rule("2.5", "a list of items narrows the rest of the query, with any contents") { bench in
            let pair = try TestPair("one")
            bench.expect(0, bench.add(["v_Ref": pair.secIdentity, "labl": "one"]))
            bench.expect(0, bench.add(["v_Ref": try TestPair("two").secIdentity, "labl": "two"]))
            for account in ["a", "b"] { bench.expect(0, bench.add(genp(account, "s"))) }
            let references = try ["genp", "cert", "keys", "idnt"].map { itemClass in
                try #require(bench.copying(["class": itemClass] + wantsPersistent).data)
            }
            for (itemClass, list, count) in [
                ("genp", [references[0]], 1), ("genp", [], 0), ("genp", [references[1]], 0), ("genp", references, 1),
                ("cert", [references[1]], 1), ("cert", [pair.secCertificate], 1), ("cert", [pair.secIdentity], 1),
                ("cert", [references[1], pair.secCertificate, references[1]], 1), ("cert", [pair.secKey], 0),
                ("keys", [pair.secKey], 1), ("keys", [pair.secPublicKey], 0), ("keys", [references[2]], 1),
                ("idnt", [pair.secIdentity], 1), ("idnt", [references[3]], 1), ("idnt", [try TestPair().secIdentity], 0),
                // An identity is named by either half, and names both.
                ("idnt", [pair.secKey], 1), ("idnt", [pair.secPublicKey], 0), ("idnt", [try TestPair().secKey], 0),
                ("idnt", [pair.secCertificate], 1), ("keys", [pair.secIdentity], 1), ("keys", [pair.secCertificate], 0),
                ("idnt", [references[1]], 1), ("cert", [references[3]], 1), ("keys", [references[3]], 0),
                ("cert", ["x", NSNull(), 7, Data([1]), [1]], 0), ("cert", ["x", NSNull(), pair.secCertificate], 1),
            ] as [(String, [Any], Int)] {
                #expect(bench.count(["class": itemClass, "m_ItemList": list]) == count, "\(itemClass) \(list)")
            }
            #expect(bench.count(["class": "cert", "labl": "two", "m_ItemList": [pair.secCertificate]]) == 0)
            #expect(bench.count(["class": "cert", "labl": "one", "m_ItemList": [pair.secCertificate]]) == 1)
            #expect(bench.count(["v_Ref": pair.secCertificate, "m_ItemList": [references[1]]]) == 1)
            #expect(bench.count(["v_PersistentRef": references[0], "m_ItemList": [references[0]]]) == 1)
            #expect(bench.count(["v_PersistentRef": references[0], "m_ItemList": [references[1]]]) == 0)
            bench.expect(-50, bench.copy(["m_ItemList": [references[0]]]))
            // All four functions refuse kSecUseItemList.
            for query in [["class": "cert", "u_ItemList": [pair.secCertificate]], ["class": "genp", "u_ItemList": [Any]()]] as [[String: Any]] {
                bench.expect(-50, bench.add(query))
                bench.expect(-50, bench.copy(query))
                bench.expect(-50, bench.update(query, [:]))
                bench.expect(-50, bench.delete(query))
            }
            for key in ["m_ItemList", "m_SubjectContains", "m_Issuers", "m_ValidOnDate", "m_SearchList", "m_Unknown"] {
                let value: Any = key == "m_ItemList" ? [pair.secCertificate] : key == "m_ValidOnDate" ? NSNull() : "x"
                let status: OSStatus = -50
                // Updates and deletions accept the list, which another rule tests.
                if key != "m_ItemList" {
                    bench.expect(status, bench.update(["class": "cert", key: value], [:]), key)
                    bench.expect(status, bench.delete(["class": "cert", key: value]), key)
                }
                bench.expect(status, bench.add(["class": "cert", "labl": key, key: value]), key)
            }
            #expect(bench.count(["class": "cert"]) == 2)
        },
        Rule("2.6 2.7", "a list of items selects the items to change and to remove") { bench in
            let pairs = try ["one", "two", "three"].map { try TestPair($0) }
            for pair in pairs { bench.expect(0, bench.add(["v_Ref": pair.secIdentity])) }
            let passwords = try ["a", "b", "c"].map { account in
                try #require(bench.adding(genp(account, "s") + wantsPersistent).data)
            }
            func count(_ itemClass: String, _ more: [String: Any] = [:]) -> Int? { bench.count(["class": itemClass] + more) }
            bench.expect(0, bench.update(["class": "genp", "m_ItemList": [passwords[0], passwords[2]]], ["labl": "l"]))
            #expect(count("genp", ["labl": "l"]) == 2 && count("genp", ["labl": "l", "acct": "b"]) == 0)
            bench.expect(0, bench.update(["class": "genp", "acct": "a", "m_ItemList": passwords], ["svce": "t"]))
            #expect(count("genp", ["svce": "t"]) == 1)
            // Malformed references and references to other items match nothing, and a repeated reference counts once.
            let list: [Any] = ["x", NSNull(), 7, passwords[1], passwords[1], pairs[0].secCertificate]
            bench.expect(0, bench.delete(["class": "genp", "m_ItemList": list]))
            bench.expect(-25300, bench.delete(["class": "genp", "m_ItemList": list]))
            bench.expect(-25300, bench.update(["class": "genp", "m_ItemList": list], ["labl": "l"]))
            #expect(count("genp") == 2 && count("cert") == 3)
            // A limit of one is allowed beside a list of one, and only in a deletion.
            let one: [String: Any] = ["m_Limit": "m_LimitOne"]
            bench.expect(-50, bench.delete(["class": "genp", "m_ItemList": passwords] + one))
            bench.expect(-50, bench.delete(["class": "genp", "m_ItemList": [Any]()] + one))
            bench.expect(-50, bench.update(["class": "genp", "m_ItemList": [passwords[0]]] + one, ["labl": "m"]))
            bench.expect(0, bench.delete(["class": "genp", "m_ItemList": [passwords[0]]] + one))
            // The class may come from the references.
            bench.expect(-50, bench.delete(["m_ItemList": [passwords[2], pairs[0].secCertificate]]))
            bench.expect(0, bench.delete(["m_ItemList": [passwords[2]]] + wantsAll))
            #expect(count("genp") == 0)
            bench.expect(0, bench.update(["m_ItemList": [pairs[0].secCertificate]], ["labl": "first"]))
            #expect(count("cert", ["labl": "first"]) == 1 && count("keys", ["labl": "first"]) == 0)
            bench.expect(0, bench.update(["class": "keys", "m_ItemList": pairs.map(\.secKey)], ["atag": "t"]))
            #expect(count("keys", ["atag": "t"]) == 3)
            bench.expect(0, bench.delete(["class": "cert", "m_ItemList": [pairs[0].secCertificate]]))
            #expect(count("cert") == 2 && count("keys") == 3 && count("idnt") == 2)
            bench.expect(0, bench.delete(["m_ItemList": [pairs[0].secKey]]))
            #expect(count("keys") == 2)
            // Naming an identity or either half removes both halves.
            bench.expect(0, bench.update(["m_ItemList": [pairs[1].secIdentity]], ["labl": "second"]))
            #expect(count("cert", ["labl": "second"]) == 1 && count("keys", ["labl": "second"]) == 1)
            bench.expect(0, bench.delete(["class": "idnt", "m_ItemList": [pairs[1].secIdentity, pairs[2].secKey]]))
            for itemClass in ["cert", "keys", "idnt"] { #expect(count(itemClass) == 0, "\(itemClass)") }
        },
        Rule("2.5", "an identity passes the filters that its certificate passes") { bench in
            let pair = try TestPair("Alpha", ["-addext", "subjectAltName=email:alpha@example.org"])
            bench.expect(0, bench.add(["v_Ref": pair.secIdentity]))
            bench.expect(0, bench.add(["v_Ref": try TestPair("Beta").secIdentity]))
            let reference = try #require(bench.copying(["v_Ref": pair.secIdentity] + wantsPersistent).data)
            for (filters, count) in [
                (["m_SubjectContains": "lph"], 1), (["m_SubjectContains": "lph", "m_SubjectEndsWith": "eta"], 0),
                (["m_SubjectStartsWith": "BET", "m_CaseInsensitive": true], 1), (["m_SubjectWholeString": "Alph"], 0),
                (["m_EmailAddressIfPresent": "ALPHA@example.org"], 1), (["m_EmailAddressIfPresent": ""], 0),
                (["m_ValidOnDate": NSNull()], 2), (["m_TrustedOnly": true], 0), (["m_TrustedOnly": false], 2),
                (["m_Issuers": [pair.certificate.issuer.der]], 1), (["m_Issuers": [pair.certificate.issuer.normalized]], 1),
                (["m_Issuers": [Data([0x30, 0])]], 0), (["m_Issuers": [Data([9]), pair.certificate.issuer.der]], 1),
                (["m_Issuers": NSNull()], 2), (["m_Issuers": []], 2), (["m_Issuers": [NSNull(), "x", Data()]], 2),
                (["m_Policy": SecPolicyCreateBasicX509()], 2),
            ] as [([String: Any], Int)] {
                for itemClass in ["idnt", "cert"] {
                    #expect(bench.count(["class": itemClass] + filters) == count, "\(itemClass) \(filters)")
                }
                #expect(bench.count(["v_PersistentRef": reference] + filters) == (bench.count(["v_Ref": pair.secIdentity] + filters)))
            }
            for (filter, value) in [("m_HostOrSubdomainOfHost", "x"), ("m_HostOrSubdomainOfHost", NSNull())] as [(String, Any)] {
                #expect([-4, -50].contains(bench.copy(["class": "idnt", filter: value])), "\(filter)")
            }
            for value in [[SecPolicyCreateBasicX509()], NSNull(), "x"] as [Any] {
                bench.expect(-50, bench.copy(["class": "idnt", "m_Policy": value]), "\(value)")
            }
        },
        Rule("2.5", "a limit of any number") { bench in
            for account in ["a", "b", "c"] { bench.expect(0, bench.add(genp(account, "s"))) }
            for (limit, count) in [
                (2, 2), (Int8(2), 2), (2.0, 2), (NSDecimalNumber(string: "2"), 2), (-1, 3), (Int.max, 3), (UInt32.max, 3),
                ("m_LimitAll", 3), (NSMutableString(string: "m_LimitAll"), 3),
            ] as [(Any, Int)] {
                #expect(bench.copying(["class": "genp", "m_Limit": limit] + wantsPersistent).array?.count == count, "\(limit)")
            }
            for limit in [true, false, NSNumber(value: true), "", "m_Limit", "all", [1], Date(), NSNull()] as [Any] {
                bench.expect(-50, bench.copy(["class": "genp", "m_Limit": limit]), "\(limit)")
            }
        },
    ]
}
