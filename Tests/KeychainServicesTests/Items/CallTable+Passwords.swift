import Foundation
import Testing

@testable import KeychainServices

private let secret = Data("secret".utf8)
private let zero = Date(timeIntervalSinceReferenceDate: 0)
private let then = Date(timeIntervalSinceReferenceDate: 77)
private var item: [String: Any] { genp("a", "s") }
private var site: [String: Any] { ["class": "inet", "srvr": "example.org", "acct": "a"] }

extension CallRow {
    /// Attributes of all classes.
    static func common() -> [CallRow] {
        var rows: [CallRow] = []
        for (itemClass, own) in [("genp", ["acct": "a"]), ("inet", ["srvr": "h"]), ("cert", ["slnr": "a"]), ("keys",
        ["atag": "a"])] {
            let item: [String: Any] = ["class": itemClass] + own
            rows += [
                CallRow("a user named in an addition is not stored",
                    .add, item + ["musr": Data(count: 16)] + wantsAttributes, 0,
                    .members(["musr": NSData()]), after: [(item, 1), (item + ["musr": Data(count: 16)], 1)]),
                CallRow("a user is ignored in changes", .update(["musr": Data(count: 16)]), item, 0,
                    given: [item], after: [(item, 1)]),
                CallRow("a user of three bytes", .update(["musr": Data(count: 3)]), item, -50, given: [item]),
                CallRow("a creation date is changed and searched", .update(["cdat": then]), item, 0, given: [item],
                    after: [(item + ["cdat": then], 1), (item + ["cdat": zero], 0)]),
                CallRow("a modification date is not", .update(["mdat": then]), item, 0,
                    given: [item], after: [(item + ["mdat": then], 0)]),
                CallRow("a creation date in an addition is not stored", .add, item + ["cdat": then, "mdat": then], 0,
                    after: [(item + ["cdat": then], 0)]),
                CallRow("a sharing group is not changed", .update(["ggrp": "g"]), item, -50, given: [item]),
                CallRow("a sharing group is part of the key", .add, item + ["ggrp": "g"], 0,
                    given: [item], after: [(item + ["ggrp": "g"], 1)]),
                CallRow("a sharing group in a search with sync", .copy, item + ["ggrp": "g", "sync": true], -50),
                CallRow("a sharing group in a removal with sync", .delete, item + ["ggrp": "g", "sync": 1], -50),
                CallRow("an access control does not filter a search",
                    .copy, item + ["accc": SecAccessControl(protection: "dku", flags: [])] + wantsPersistent, 0,
                    .persistent(itemClass), given: [item]),
                CallRow("and not a removal", .delete, item + ["accc": SecAccessControl(protection: "dku", flags: [])], 0,
                    given: [item], after: [(item, 0)]),
                CallRow("and not a change", .update(["labl": "l"]), item + ["accc": SecAccessControl(protection: "dku",
                    flags: [])], 0, given: [item],
                    after: [(item + ["labl": "l"], 1)]),
                CallRow("an accessibility filters", .copy, item + ["pdmn": "ck"], -25300,
                    given: [item + ["pdmn": "cku"]]),
                CallRow("an access control gives its protection", .copy, item + wantsAttributes,
                    0, .members(["pdmn": "ck" as NSString]),
                    given: [item + ["accc": SecAccessControl(protection: "ck", flags: [])]]),
                CallRow("both that agree",
                    .add, item + ["accc": SecAccessControl(protection: "ck", flags: []), "pdmn": "ck"], 0),
                CallRow("both that disagree",
                    .add, item + ["accc": SecAccessControl(protection: "ck", flags: []), "pdmn": "cku"], -50,
                    after: [(item, 0)]),
                CallRow("system-bound is a number", .copy, item + ["sysb": 1] + wantsAttributes,
                    0, .members(["sysb": 1 as NSNumber]), given: [item + ["sysb": true]]),
                CallRow("a view hint is part of the key", .copy, item + ["vwht": ""] + wantsAll + wantsPersistent,
                    0, .array(1), given: [item, item + ["vwht": "x"]]),
                CallRow("internal in a search", .copy, item + ["clip": false], -50, given: [item]),
                CallRow("internal in changes", .update(["clip": false]), item, -50, given: [item]),
                CallRow("a reference's name", .update(["persistref": Data(count: 16)]), item, -50, given: [item]),
                CallRow("a record's name", .copy, item + ["UUID": "x"], -25300, given: [item]),
            ]
        }
        return rows
    }

    /// Passwords.
    static func passwords() -> [CallRow] { [
        CallRow("the generic attribute is not part of the key", .add, item + ["gena": "2"], -25299,
            given: [item + ["gena": "1"]]),
        CallRow("it can be searched", .copy, ["class": "genp", "gena": Data("1".utf8)] + wantsPersistent,
            0, .persistent("genp"), given: [item + ["gena": "1"]]),
        CallRow("an account as bytes is the same account",
            .add, ["class": "genp", "acct": Data("a".utf8), "svce": "s"], -25299, given: [item]),
        CallRow("and is returned as it was stored", .copy, item + wantsAttributes,
            0, .members(["acct": NSData(data: Data("a".utf8))]),
            given: [["class": "genp", "acct": Data("a".utf8), "svce": "s"]]),
        CallRow("a number is another account than its digits", .add, ["class": "genp", "acct": 7, "svce": "s"], 0,
            given: [genp("7", "s")],
            after: [(genp("7", "s"), 1), (["class": "genp", "acct": 7], 1)]),
        CallRow("a missing account is the empty account", .add, ["class": "genp", "acct": "", "svce": "s"], -25299,
            given: [["class": "genp", "svce": "s"]]),
        CallRow("a search for the empty account finds items without one", .copy, ["class": "genp", "acct": ""],
            0, .nothing, given: [["class": "genp", "svce": "s"]]),
        CallRow("a search by account alone", .copy, ["class": "genp", "acct": "a"] + wantsAll + wantsPersistent,
            0, .array(2), given: [item, genp("a", "t")]),
        CallRow("a port of a generic password", .add, item + ["port": 80], -25303),
        CallRow("a service of an internet password", .add, site + ["svce": "s"], -25303),
        CallRow("a server of a generic password in changes", .update(["srvr": "h"]), item, -25303, given: [item]),
        CallRow("flags are numbers", .copy, item + wantsAttributes,
            0, .members(["invi": 1 as NSNumber, "nega": 0 as NSNumber, "cusi": nil]),
            given: [item + ["invi": true, "nega": false]]),
        CallRow("a flag as text is a number", .copy, item + ["invi": 1] + wantsAttributes,
            0, .members(["invi": 1 as NSNumber]), given: [item + ["invi": "1"]]),
        CallRow("a missing port is port 0", .add, site + ["port": 0, "ptcl": 0, "path": "", "sdmn": "", "atyp": ""], -25299,
            given: [site]),
        CallRow("a port as text", .copy, site + ["port": "8080"] + wantsAttributes,
            0, .members(["port": 8080 as NSNumber]), given: [site + ["port": 8080]]),
        CallRow("a protocol as text stays text", .copy, site + wantsAttributes,
            0, .members(["ptcl": "htps" as NSString, "atyp": "form" as NSString]),
            given: [site + ["ptcl": "htps", "atyp": "form"]]),
        CallRow("blanks in a protocol are significant", .copy, site + ["ptcl": "ftp"], -25300, given: [site + ["ptcl": "ftp "]]),
        CallRow("the case of a server is significant", .copy, ["class": "inet", "srvr": "Example.org"], -25300, given: [site]),
        CallRow("the label is not part of the key", .add, site + ["labl": "2", "icmt": "x"], -25299,
            given: [site + ["labl": "1"]]),
        CallRow("extra data comes with both", .copy, site + wantsAttributes + wantsData,
            0, .members(["bini": NSData(data: secret), "v_Data": NSData(data: Data())]),
            given: [site + ["bini": secret, "v_Data": Data()]]),
        CallRow("and not with attributes alone", .copy, site + wantsAttributes,
            0, .members(["bini": nil, "v_Data": nil]), given: [site + ["bini": secret]]),
        CallRow("extra data of a generic password", .add, item + ["bini": secret], -25303),
        CallRow("a certificate's attribute", .copy, item + ["issr": Data()], -25303),
        CallRow("a key's tag", .delete, item + ["atag": "t"], -25303, given: [item], after: [(item, 1)]),
    ] }

    /// Numbers, and values that convert to numbers.
    static func numbers() -> [CallRow] {
        var rows: [CallRow] = []
        for (text, back) in [
            ("0", 0 as NSNumber), ("443", 443 as NSNumber), ("-1", -1 as NSNumber), ("9223372036854775807",
            Int64.max as NSNumber),
            ("0443", "0443" as NSString), ("+5", "+5" as NSString), ("-0", "-0" as NSString), ("00", "00" as NSString),
            (" 5", " 5" as NSString), ("5.0", "5.0" as NSString), ("0x10", "0x10" as NSString), ("1e3",
            "1e3" as NSString),
            ("9223372036854775808", "9223372036854775808" as NSString), ("٣", "٣" as NSString),
        ] as [(String, NSObject)] {
            rows += ["crtr", "type", "port"].map { name in
                CallRow("\(text) as \(name)", .copy, site + [name: text] + wantsAttributes, 0, .members([name: back]),
                    given: [site + [name: text]])
            }
            rows.append(CallRow("\(text) as it came back", .copy, site + ["port": back], 0, .nothing,
                given: [site + ["port": text]]))
        }
        rows += [
            CallRow("a code of four digits is not the number", .copy, item + ["crtr": 443], -25300,
                given: [item + ["crtr": "0443"]]),
            CallRow("and not the same item", .add, site + ["port": 443], 0,
                given: [site + ["port": "0443"]], after: [(site, 2)]),
        ]
        for value in [443.0, Float(443), NSDecimalNumber(string: "443"), Int16(443), UInt32(443)] as [Any] {
            rows.append(CallRow("\(type(of: value))", .copy, site + ["port": value] + wantsAttributes,
                0, .members(["port": 443 as NSNumber]), given: [site + ["port": 443]]))
        }
        for value in [0.5, -0.5, Float(1.5), Double.nan, Double.infinity, -Double.infinity, 1e300, UInt64.max,
        NSDecimalNumber(string: "0.25"),
            NSDecimalNumber(string: "99999999999999999999"), NSDecimalNumber.notANumber] as [Any]
        {
            for name in ["port", "acct", "bini", "tomb"] {
                rows += [
                    CallRow("\(value) as \(name) of an item", .add, site + [name: value], -50),
                    CallRow("\(value) as \(name) that is searched", .copy, site + [name: value], -50, given: [site]),
                    CallRow("\(value) as \(name) in changes", .update([name: value]), site, -50,
                        given: [site], after: [(site, 1)]),
                    CallRow("\(value) as \(name) that is removed", .delete, site + [name: value], -50,
                        given: [site], after: [(site, 1)]),
                ]
            }
        }
        return rows
    }
}
