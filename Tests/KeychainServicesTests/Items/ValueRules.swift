import Foundation
import KeyfobOpenSSL
import Testing

@testable import KeychainServices

extension SecItemFixture {
    /// The returned form of an added value; `nil` if it was refused with -50.
    fileprivate func back(
        _ value: Any, as name: String, of item: [String: Any], sourceLocation: SourceLocation = #_sourceLocation
    ) -> NSObject? {
        let status = add(item + [name: value])
        guard status == 0 else {
            #expect(status == -50, "\(name) \(value)", sourceLocation: sourceLocation)
            expect(-50, copy(item + [name: value]), "\(name) \(value)", sourceLocation: sourceLocation)
            expect(-50, delete(item + [name: value]), "\(name) \(value)", sourceLocation: sourceLocation)
            return nil
        }
        // Both the given and the returned value must find the item.
        expect(0, copy(item + [name: value]), "\(name) \(value)", sourceLocation: sourceLocation)
        let found = copying(item + wantsAttributes).dictionary?[name]
        if let found { expect(0, copy(item + [name: found]), "\(name) \(found)", sourceLocation: sourceLocation) }
        return found as? NSObject
    }
}

extension Rule {
    /// Objects that only date attributes accept.
    private static var strangers: [Any] { [
        Date(), NSDate(), ["a"], ["a": 1], Set(["a"]), NSNull(), [UInt8(1)], NSAttributedString(string: "x"),
        NSObject(), URL(fileURLWithPath: "/tmp"), CharacterSet.decimalDigits,
    ] }

    /// The types of the members of every returned dictionary, by default.
    private static let common: [String: any Any.Type] = [
        "accc": SecAccessControl.self, "agrp": String.self, "cdat": Date.self, "mdat": Date.self, "class": String.self,
        "musr": Data.self, "pdmn": String.self, "sync": NSNumber.self, "tomb": NSNumber.self,
    ]
    private static var zero: Date { Date(timeIntervalSinceReferenceDate: 0) }

    /// The accepted values and their returned forms.
    static let values: [Rule] = [
        Rule("2.4", "data beside a reference is the data of its object") { bench in
            let (pair, other) = (try TestPair(), try TestPair("other"))
            let references: [(value: Any, data: Data, others: Data)] = [
                (pair.secCertificate, pair.certificate.der, other.certificate.der),
                (pair.secKey, try pair.secKey.externalRepresentation(), try other.secKey.externalRepresentation()),
                (pair.secPublicKey, pair.key.publicKey.bits, try pair.secKey.externalRepresentation()),
            ]
            for (value, data, others) in references {
                for wrong in [others, Data("x".utf8), Data()] {
                    bench.expect(-50, bench.add(["v_Ref": value, "v_Data": wrong]))
                }
                bench.expect(0, bench.add(["v_Ref": value, "v_Data": data]))
            }
            bench.expect(-50, bench.add(["v_Ref": other.secIdentity, "v_Data": other.certificate.der]))
            bench.expect(-25300, bench.copy(["v_Ref": other.secKey]))
        },
        Rule("1.10", "a number is a number, a boolean or decimal text, and other text is kept") { bench in
            for (index, (value, expected)) in [
                (443, 443), (UInt16(443), 443), (Int8(-1), -1), (443.0, 443), (NSDecimalNumber(string: "443"), 443),
                ("443", 443), (NSMutableString(string: "443"), 443), ("-1", -1), ("4000000000", 4_000_000_000),
                (4_000_000_000, 4_000_000_000), (true, 1), (false, 0), (NSNumber(value: true), 1), ("htps", "htps"),
                ("ftp ", "ftp "), ("", ""), ("99999999999999999999", "99999999999999999999"), ("abc".prefix(2), "ab"),
            ].enumerated() as EnumeratedSequence<[(Any, Any)]> {
                let item: [String: Any] = ["class": "inet", "acct": "\(index)"]
                for name in ["port", "ptcl", "crtr"] {
                    #expect(bench.back(value, as: name, of: item + ["path": name]) == expected as? NSObject, "\(name) \(value)")
                }
            }
            for value in strangers + [Data([1]), UUID()] {
                #expect(bench.back(value, as: "port", of: ["class": "inet", "acct": "refused"]) == nil, "\(value)")
            }
        },
        Rule("1.10", "numbers out of range are stored and found, or refused, without a crash") { bench in
            for value in [Double.nan, Double.infinity, -Double.infinity, 1e300, 0.5, UInt64.max, NSDecimalNumber.notANumber] as [Any] {
                for name in ["port", "acct", "tomb", "sysb"] {
                    let item: [String: Any] = ["class": "inet", "srvr": "\(value)", "path": name, name: value]
                    #expect([0, -50].contains(bench.add(item)), "\(name) \(value)")
                    #expect([0, -50, -25300].contains(bench.copy(item)), "\(name) \(value)")
                }
                #expect([0, -50, -25300].contains(bench.copy(["class": "inet", "m_Limit": value])), "\(value)")
                #expect([0, -50].contains(bench.add(genp("\(value)", "s", ["sync": value]))), "\(value)")
            }
        },
        Rule("1.10", "text, bytes and numbers are kept in their kind, and booleans are none of them") { bench in
            for (index, value) in [
                "text", "", "0443", Data([0, 255]), Data(), 7, -7, "a\0b", "👩‍👩‍👧‍👦", NSMutableString(string: "m"),
            ].enumerated() as EnumeratedSequence<[Any]> {
                for (itemClass, name) in [("genp", "acct"), ("genp", "labl"), ("inet", "srvr"), ("keys", "atag"), ("cert", "labl")] {
                    let key = itemClass == "cert" ? "slnr" : itemClass == "keys" ? "klbl" : "path"
                    let own: [String: Any] = itemClass == "genp" ? ["svce": "\(name)\(index)"] : [key: "\(name)\(index)"]
                    #expect(bench.back(value, as: name, of: ["class": itemClass] + own) == value as? NSObject, "\(name) \(value)")
                }
            }
            for value in strangers + [true, NSNumber(value: false), UUID()] {
                #expect(bench.back(value, as: "acct", of: ["class": "genp", "svce": "refused"]) == nil, "\(value)")
            }
        },
        Rule("1.10", "bytes are made of text, or of a number in its native four bytes") { bench in
            for (index, (value, bytes)) in [
                ("abc", [97, 98, 99]), (Data([1]), [1]), ("", []), (Data(), []), ("é", [0xC3, 0xA9]),
                (0x0102_0304, [4, 3, 2, 1]), (-1, [255, 255, 255, 255]),
            ].enumerated() as EnumeratedSequence<[(Any, [UInt8])]> {
                let key: [String: Any] = ["class": "keys", "atag": "\(index)"]
                #expect(bench.back(value, as: "klbl", of: key) == Data(bytes) as NSData, "\(value)")
                let certificate: [String: Any] = ["class": "cert", "slnr": Data([UInt8(index)])]
                #expect(bench.back(value, as: "skid", of: certificate) == Data(bytes) as NSData, "\(value)")
            }
            for value in strangers + [true, UUID()] {
                #expect(bench.back(value, as: "klbl", of: ["class": "keys", "atag": "refused"]) == nil, "\(value)")
            }
        },
        Rule("1.10", "text is text, its bytes or a UUID") { bench in
            let id = UUID()
            for (index, (value, text)) in [
                ("hint", "hint"), (Data("hint".utf8), "hint"), (id, id.uuidString), (NSString("x"), "x"),
            ].enumerated() as EnumeratedSequence<[(Any, String)]> {
                #expect(bench.back(value, as: "vwht", of: genp("\(index)", "s")) == text as NSString, "\(value)")
            }
            for value in strangers + [true, 7, Data([0xFF])] {
                #expect(bench.back(value, as: "vwht", of: genp("refused", "s")) == nil, "\(value)")
            }
        },
        Rule("1.10", "dates are dates, at any time") { bench in
            for (index, seconds) in [0, -1, 1e12, -1e12, 1e300, .infinity].enumerated() as EnumeratedSequence<[Double]> {
                let date = Date(timeIntervalSinceReferenceDate: seconds)
                #expect(bench.back(date, as: "sdat", of: ["class": "keys", "atag": "\(index)"]) == date as NSDate, "\(seconds)")
                bench.expect(0, bench.add(genp("\(index)", "s")))
                bench.expect(0, bench.update(genp("\(index)", "s"), ["cdat": date]))
                bench.expect(0, bench.copy(genp("\(index)", "s", ["cdat": date])), "\(seconds)")
            }
            for value in [0, "2001-01-01", Data(), true, NSNull()] as [Any] {
                #expect(bench.back(value, as: "edat", of: ["class": "keys", "atag": "refused"]) == nil, "\(value)")
                bench.expect(-50, bench.update(genp("0", "s"), ["mdat": value]), "\(value)")
            }
        },
        Rule("2.1", "booleans are accepted in every form that Swift has for them") { bench in
            bench.expect(0, bench.add(genp("a", "s", ["v_Data": Data("x".utf8)])))
            for value in [true, NSNumber(value: true), NSNumber(booleanLiteral: true), kCFBooleanTrue as Any] {
                #expect(bench.copying(genp("a", "s", ["r_Data": value])).data == Data("x".utf8), "\(value)")
            }
            for value in [false, NSNumber(value: false), kCFBooleanFalse as Any] {
                let answer = bench.copying(genp("a", "s", ["r_Data": value]))
                #expect(answer.status == 0 && answer.value == nil, "\(value)")
            }
            for name in ["r_Data", "r_Attributes", "r_Ref", "r_PersistentRef"] {
                for value in [NSNumber(value: 1), NSNumber(value: 0), 1.0, "1", Data([1])] as [Any] {
                    bench.expect(-50, bench.copy(genp("a", "s", [name: value])), "\(name) \(value)")
                    bench.expect(-50, bench.add(genp("b", "s", [name: value])), "\(name) \(value)")
                    bench.expect(-50, bench.delete(genp("a", "s", [name: value])), "\(name) \(value)")
                }
            }
        },
        Rule("1.3 1.10", "a synchronizable flag is given as a boolean or number, and returned as a number") { bench in
            for (index, (value, number)) in [
                (true, 1), (1, 1), (2, 1), (NSNumber(value: true), 1), (false, 0), (0, 0), ("syna", 0),
            ].enumerated() as EnumeratedSequence<[(Any, Int)]> {
                let item = genp("\(index)", "s")
                bench.expect(0, bench.add(item + ["sync": value]))
                for query in [number, number == 1, "syna"] as [Any] {
                    let found = bench.copying(item + ["sync": query] + wantsAttributes).dictionary?["sync"]
                    #expect(found as? Int == number && found as? Bool == (number == 1), "\(value) \(query)")
                    #expect(found as? NSNumber == number as NSNumber, "\(value) \(query)")
                }
                bench.expect(-25300, bench.copy(item + ["sync": number == 0]), "\(value)")
            }
            for value in ["true", "1", Data(), NSNull(), "SYNA"] as [Any] {
                bench.expect(-50, bench.copy(genp("a", "s", ["sync": value])), "\(value)")
                bench.expect(-50, bench.update(genp("0", "s"), ["sync": value]), "\(value)")
            }
            bench.expect(-50, bench.update(genp("4", "s"), ["sync": "syna"]))
        },
        Rule("1.2 1.10", "text is compared by its bytes: case, blanks, composition and characters after a NUL") { bench in
            let accounts = ["a", "A", " a", "a ", "a\0", "a\0b", "\u{E9}", "e\u{301}", "ß", "ss", "ﬁ", "fi"]
            for account in accounts { bench.expect(0, bench.add(genp(account, "s")), account) }
            for account in accounts {
                bench.expect(-25299, bench.add(genp(account, "s")), account)
                let found = bench.copying(genp(account, "s") + wantsAll + wantsAttributes).dictionaries
                #expect(found?.count == 1 && (found?.first?["acct"] as? String).map { Array($0.utf8) } == Array(account.utf8))
            }
            for account in ["\u{E0}", "SS", "FI", ""] { bench.expect(-25300, bench.copy(genp(account, "s")), account) }
        },
        Rule("1.10", "a value that a caller changes afterwards stays unchanged in the item") { bench in
            let (account, data) = (NSMutableString(string: "a"), NSMutableData(data: Data("x".utf8)))
            let query = NSMutableDictionary()
            for (name, value) in ["class": "genp", "svce": "s", "acct": account, "v_Data": data] as [String: Any] {
                query.setObject(value, forKey: NSString(string: name))
            }
            bench.use { #expect(SecItemAdd(query, nil) == 0) }
            account.append("b")
            data.append(Data("y".utf8))
            #expect(bench.copying(genp("a", "s") + wantsData).data == Data("x".utf8))
            bench.expect(-25300, bench.copy(genp("ab", "s")))
        },
        Rule("6.5", "empty data, long data, and data inside other data") { bench in
            let large = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 8) })
            for (index, data) in [Data(), large, Data([1, 2, 3, 4])[1...2], large.dropFirst(7).prefix(999)].enumerated() {
                bench.expect(0, bench.add(genp("\(index)", "s", ["v_Data": data])))
                #expect(bench.copying(genp("\(index)", "s") + wantsData).data == data)
                bench.expect(0, bench.update(genp("\(index)", "s"), ["v_Data": Data([UInt8(index)])]))
                #expect(bench.copying(genp("\(index)", "s") + wantsData).data == Data([UInt8(index)]))
            }
            let long = String(repeating: "x", count: 100_000)
            bench.expect(0, bench.add(genp(long, long)))
            bench.expect(0, bench.copy(genp(long, long)))
            bench.expect(-25300, bench.copy(genp(long + "x", long)))
        },
        Rule("1.2 1.4", "parts of the primary key are returned, and are empty if not given") { bench in
            let own: [String: [String: NSObject]] = [
                "genp": ["acct": "" as NSString, "svce": "" as NSString],
                "inet": [
                    "acct": "" as NSString, "sdmn": "" as NSString, "srvr": "" as NSString, "atyp": "" as NSString,
                    "path": "" as NSString, "ptcl": 0 as NSNumber, "port": 0 as NSNumber,
                ],
                "cert": ["ctyp": 0 as NSNumber, "issr": NSData(), "slnr": NSData()],
                "keys": [
                    "kcls": 0 as NSNumber, "klbl": NSData(), "atag": "" as NSString, "crtr": 0 as NSNumber,
                    "type": 0 as NSNumber, "bsiz": 0 as NSNumber, "esiz": 0 as NSNumber, "sdat": zero as NSDate,
                    "edat": zero as NSDate,
                ],
            ]
            for (itemClass, own) in own {
                let added = try #require(bench.adding(["class": itemClass] + wantsAttributes).dictionary)
                let found = try #require(bench.copying(["class": itemClass] + wantsAttributes).dictionary)
                #expect(Set(found.keys) == Set(common.keys).union(own.keys), "\(itemClass)")
                #expect(Set(added.keys) == Set(found.keys).union(["sha1"]), "\(itemClass)")
                for (name, value) in own { #expect(found[name] as? NSObject == value, "\(itemClass) \(name)") }
                for (name, type) in common {
                    let value = try #require(found[name])
                    #expect(type == NSNumber.self ? value is NSNumber : Swift.type(of: value) == type, "\(itemClass) \(name)")
                }
                // The returned dictionary finds this item and no other.
                bench.expect(0, bench.copy(found), itemClass)
                bench.expect(-25299, bench.add(found), itemClass)
                bench.expect(0, bench.delete(found), itemClass)
            }
        },
        Rule("1.7 1.8", "keys and identities of references return the whole of their primary keys") { bench in
            let pair = try TestPair()
            bench.expect(0, bench.add(["v_Ref": pair.secIdentity]))
            bench.expect(0, bench.add(["v_Ref": pair.secPublicKey]))
            for query in [["class": "idnt"], ["v_Ref": pair.secKey], ["v_Ref": pair.secPublicKey]] as [[String: Any]] {
                let found = try #require(bench.copying(query + wantsAttributes).dictionary)
                #expect(found["crtr"] as? Int == 0 && found["atag"] as? String == "", "\(query)")
                #expect(found["sdat"] as? Date == zero && found["edat"] as? Date == zero, "\(query)")
                #expect(found["klbl"] as? Data == pair.certificate.publicKey.identifier && found["type"] as? Int == 73)
                bench.expect(0, bench.copy(found), "\(query)")
            }
        },
        Rule("1.7", "a public key is always extractable, and an extractable private key says so") { bench in
            let pair = try TestPair()
            bench.expect(0, bench.add(["v_Ref": pair.secPublicKey]))
            bench.expect(0, bench.add(["v_Ref": pair.secKey]))
            for half in ["0", "1"] {
                let query: [String: Any] = ["class": "keys", "kcls": half]
                let found = bench.copying(query + wantsAttributes + wantsData).dictionary
                #expect(found?["extr"] as? Int == 1 && found?["next"] as? Int == 0 && found?["v_Data"] is Data, "\(half)")
                bench.expect(0, bench.copy(query + ["extr": true]))
                bench.expect(-25300, bench.copy(query + ["extr": false]))
            }
        },
    ]
}
