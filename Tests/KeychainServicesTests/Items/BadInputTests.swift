import Foundation
import Keyfob
import Testing

@testable import KeychainServices

@Suite("Bad input of the four functions")
struct BadInputTests {
    /// A dictionary with the error of each function; `nil` if the function accepts the defect under test.
    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        let dictionary: @Sendable () -> [String: Any]
        var add: OSStatus?
        var copy: OSStatus?
        var update: OSStatus?
        var delete: OSStatus?
        var testDescription: String { name }

        init(_ name: String, _ every: OSStatus, _ dictionary: @escaping @Sendable () -> [String: Any]) {
            self.init(name, add: every, copy: every, update: every, delete: every, dictionary)
        }

        init(
            _ name: String, add: OSStatus? = nil, copy: OSStatus? = nil, update: OSStatus? = nil,
            delete: OSStatus? = nil, _ dictionary: @escaping @Sendable () -> [String: Any]
        ) {
            self.name = name
            self.dictionary = dictionary
            (self.add, self.copy, self.update, self.delete) = (add, copy, update, delete)
        }
    }

    /// The refused calls of the article `ItemModel`, by their numbers, that a single dictionary provokes.
    static let rows: [Row] = [
        Row("E1 an empty dictionary", -50) { [:] },
        Row("E2 no class", -50) { ["acct": "a"] },
        Row("E2 a class that is a number", -50) { ["class": 1] },
        Row("E2 a class that is null", -50) { ["class": NSNull()] },
        Row("E3 apls", -25306) { ["class": "apls"] },
        Row("E3 an unknown class", -25306) { ["class": "none"] },
        Row("E3 an empty class", -25306) { ["class": ""] },
        Row("E4 a reference of another class", add: -25306, copy: -25306, update: -25306, delete: -25306) {
            ["class": "keys", "v_PersistentRef": Data("genp".utf8) + Data(count: 16)]
        },
        Row("E5 an attribute of another class", -25303) { ["class": "genp", "srvr": "h"] },
        Row("E5 a password's attribute of a certificate", -25303) { ["class": "cert", "desc": "d"] },
        Row("E5 a comment of a key", -25303) { ["class": "keys", "icmt": "d"] },
        Row("E5 an unknown attribute", -25303) { ["class": "genp", "zzzz": "h"] },
        Row("E5 four characters that are not ASCII", -25303) { ["class": "genp", "äöüß": "h"] },
        Row("E6 a key of an unknown family", -50) { ["class": "genp", "account": "a"] },
        Row("E6 persistref", -50) { ["class": "genp", "persistref": Data(count: 16)] },
        Row("E6 an empty key", -50) { ["class": "genp", "": "a"] },
        Row("E6 an unknown kind of result", -50) { ["class": "genp", "r_Nothing": true] },
        Row("E6 an unknown kind of value", -50) { ["class": "genp", "v_Nothing": true] },
        Row("E7 a date that is a string", -50) { ["class": "genp", "mdat": "2001-01-01"] },
        Row("E7 an account that is null", -50) { ["class": "genp", "acct": NSNull()] },
        Row("E7 an account that is a date", -50) { ["class": "genp", "acct": Date()] },
        Row("E7 an account that is a truth value", -50) { ["class": "genp", "acct": true] },
        Row("E7 an account that is an array", -50) { ["class": "genp", "acct": ["a"]] },
        Row("E7 an account that is a dictionary containing itself", -50) { ["class": "genp", "acct": ["a": ["b": NSNull()]]] },
        Row("E7 an account that cannot be bridged", -50) { ["class": "genp", "acct": Unbridged()] },
        Row("E7 an unknown accessibility", -50) { ["class": "genp", "pdmn": "zz"] },
        Row("E7 UntilReboot", -50) { ["class": "genp", "pdmn": "f"] },
        Row("E7 a synchronizable that is text", -50) { ["class": "genp", "sync": "yes"] },
        Row("E7 a user of 3 bytes", -50) { ["class": "genp", "musr": Data(count: 3)] },
        Row("E7 a digest of 19 bytes", -50) { ["class": "genp", "sha1": Data(count: 19)] },
        Row("E7 an access control that is data", -50) { ["class": "genp", "accc": Data(count: 19)] },
        Row("E7 an access group that is a number", -50) { ["class": "genp", "agrp": 1] },
        Row("E7 an access group of broken UTF-8", -50) { ["class": "genp", "agrp": Data([0xFF])] },
        Row("E7 a number that is data", -50) { ["class": "genp", "crtr": Data(count: 4)] },
        Row("E8 a result that is 1", -50) { ["class": "genp", "r_Data": 1] },
        Row("E8 a result that is null", -50) { ["class": "genp", "r_Data": NSNull()] },
        Row("E8 a result that is text", -50) { ["class": "genp", "r_Data": "true"] },
        Row("E9 a limit that is data", -50) { ["class": "genp", "m_Limit": Data()] },
        Row("E9 a limit of an unknown kind", -50) { ["class": "genp", "m_Limit": "m_LimitTwo"] },
        Row("E9 a limit that is a truth value", -50) { ["class": "genp", "m_Limit": true] },
        Row("E9 a limit of -2", -50) { ["class": "genp", "m_Limit": -2] },
        Row("E10 a limit of 0", add: -50, copy: -25300, update: -50, delete: -50) { ["class": "genp", "m_Limit": 0] },
        Row("E11 issuers of a password", -4) { ["class": "genp", "m_Issuers": [Data()]] },
        Row("E11 a policy of a password", -4) { ["class": "inet", "m_Policy": NSObject()] },
        Row("E11 a host of a generic password", -4) { ["class": "genp", "m_HostOrSubdomainOfHost": "h"] },
        Row("E12 a policy that is not one", -50) { ["class": "cert", "m_Policy": NSObject()] },
        Row("E12 a date that is text", -50) { ["class": "cert", "m_ValidOnDate": "now"] },
        Row("E12 trusted that is text", -50) { ["class": "cert", "m_TrustedOnly": "yes"] },
        Row("E12 an address that is a number", -50) { ["class": "cert", "m_EmailAddressIfPresent": 1] },
        Row("E12 issuers that are not an array", add: -50, copy: -25300, update: -50, delete: -50) {
            ["class": "cert", "m_Issuers": "x"]
        },
        Row("E13 a match key", add: -50, copy: -25300, update: -50, delete: -50) {
            ["class": "genp", "m_CaseInsensitive": true]
        },
        // Apple documents the list for SecItemDelete.
        Row("E13 a list of items", add: -50, copy: -25300, update: -25300, delete: -25300) {
            ["class": "genp", "m_ItemList": [Data()]]
        },
        Row("E13 an empty list of items", add: -50, copy: -25300, update: -25300, delete: -25300) {
            ["class": "genp", "m_ItemList": [Any]()]
        },
        Row("E13 a list that is not one", add: -50, copy: -50, update: -50, delete: -50) {
            ["class": "genp", "m_ItemList": Data()]
        },
        Row("E13 a list and a filter", add: -50, copy: -25300, update: -50, delete: -50) {
            ["class": "genp", "m_ItemList": [Data()], "m_CaseInsensitive": true]
        },
        // SecItemDelete removes all matches anyway, and libraries pass this limit.
        Row("E13 no limit", add: -50, copy: -25300, update: -50, delete: -25300) { ["class": "genp", "m_Limit": "m_LimitAll"] },
        Row("E13 no limit, as a number", add: -50, copy: -25300, update: -50, delete: -25300) { ["class": "genp", "m_Limit": -1] },
        Row("E13 a limit of one", add: -50, copy: -25300, update: -50, delete: -50) { ["class": "genp", "m_Limit": "m_LimitOne"] },
        Row("E13 a limit of five", add: -50, copy: -25300, update: -50, delete: -50) { ["class": "genp", "m_Limit": 5] },
        Row("E14 E15 a result", update: -50, delete: -25300) { ["class": "genp", "r_Data": true] },
        Row("E16 E19 a reference", add: -50, copy: -25300, update: -25300, delete: -25300) {
            ["v_PersistentRef": Data("genp".utf8) + Data(count: 16)]
        },
        Row("E17 a reference and an attribute", add: -50, copy: -50, update: -25300, delete: -25300) {
            ["v_PersistentRef": Data("genp".utf8) + Data(count: 16), "acct": "a"]
        },
        Row("E17 a reference and a synchronizable flag", add: -50, copy: -50, update: -25300, delete: -25300) {
            ["v_PersistentRef": Data("genp".utf8) + Data(count: 16), "sync": false]
        },
        Row("E17 a reference and any synchronizable flag", add: -50, copy: -25300, update: -25300, delete: -25300) {
            ["v_PersistentRef": Data("genp".utf8) + Data(count: 16), "sync": "syna"]
        },
        Row("E18 a short reference", -50) { ["v_PersistentRef": Data("genp".utf8) + Data(count: 15)] },
        Row("E18 a long reference", -50) { ["v_PersistentRef": Data("genp".utf8) + Data(count: 17)] },
        Row("E18 an empty reference", -50) { ["v_PersistentRef": Data()] },
        Row("E18 a reference of an unknown class", -50) { ["v_PersistentRef": Data("xxxx".utf8) + Data(count: 16)] },
        Row("E18 a reference that is text", -50) { ["v_PersistentRef": "genp"] },
        Row("E19 a reference of the old form", add: -50, copy: -25300, update: -25300, delete: -25300) {
            ["v_PersistentRef": Data("genp".utf8) + Data(count: 8)]
        },
        Row("E20 a reference to an unknown item", -50) { ["class": "keys", "v_Ref": "x"] },
        Row("E20 a reference that is null", -50) { ["class": "keys", "v_Ref": NSNull()] },
        Row("E21 data that is text", -50) { ["class": "genp", "v_Data": "x"] },
        Row("E21 data that is null", -50) { ["class": "genp", "v_Data": NSNull()] },
        Row("E22 clip", -50) { ["class": "genp", "clip": 1] },
        Row("E23 too many keys", -50) {
            ["class": "genp"] + Dictionary(uniqueKeysWithValues: (0..<120).map { ("ffff\($0)", 1) })
        },
        Row("E23 10,000 keys", -50) {
            ["class": "genp"] + Dictionary(uniqueKeysWithValues: (0..<10_000).map { ("u_Key\($0)", $0) })
        },
        Row("E26 a group that the process does not have", -34018) { ["class": "genp", "agrp": "other"] },
        Row("E31 E32 skipping", add: -50, copy: -25300, update: -50, delete: -50) {
            ["class": "genp", "u_AuthUI": "u_AuthUIS"]
        },
        Row("E32 asking in an unknown way", -50) { ["class": "genp", "u_AuthUI": "u_AuthUIX"] },
        Row("E32 asking in a wrong way", -50) { ["class": "genp", "u_AuthUI": 1] },
        Row("2.11 a credential that is text", -50) { ["class": "genp", "u_CredRef": "x"] },
        Row("2.11 a credential and a context", -50) { ["class": "genp", "u_CredRef": Data(), "u_AuthCtx": NSObject()] },
        Row("2.11 the system's keychain and synchronizable", -50) { ["class": "genp", "u_SystemKeychain": true, "sync": true] },
        Row("1.3 a sharing group and synchronizable", -50) { ["class": "genp", "ggrp": "g", "sync": true] },
        Row("2.4 an identity given by attributes", add: -50, copy: -25300) { ["class": "idnt", "labl": "l"] },
        Row("E38 a missing token", add: -25300, copy: -25300) { ["class": "keys", "tkid": "nowhere:1"] },
    ]

    struct Unbridged {}

    @Test("a row is refused", arguments: rows)
    func refused(_ row: Row) throws {
        let bench = try Self.bench
        let dictionary = row.dictionary()
        if let status = row.add { bench.expect(status, bench.add(dictionary), "add") }
        if let status = row.copy { bench.expect(status, bench.copy(dictionary), "copy") }
        if let status = row.update { bench.expect(status, bench.update(dictionary, ["labl": "x"]), "update") }
        if let status = row.delete { bench.expect(status, bench.delete(dictionary), "delete") }
    }

    /// Nothing is ever stored in it, so all rows share it.
    private static var bench: SecItemFixture { get throws { try sharedBench.get() } }
    private static let sharedBench = Result { try SecItemFixture() }

    @Test("a key that is not a string")
    func otherKeys() throws {
        let bench = try Self.bench
        let dictionary = [1: "a", "class": "genp"] as [AnyHashable: Any]
        bench.use {
            #expect(SecItemAdd(dictionary as CFDictionary, nil) == -50)
            #expect(SecItemCopyMatching(dictionary as CFDictionary, nil) == -50)
            #expect(SecItemUpdate(dictionary as CFDictionary, [:] as CFDictionary) == -50)
            #expect(SecItemUpdate(["class": "genp"] as CFDictionary, dictionary as CFDictionary) == -50)
            #expect(SecItemDelete(dictionary as CFDictionary) == -50)
        }
    }

    @Test(
        "changes that are none",
        arguments: [
            ("class", -25303), ("m_Limit", -25303), ("r_Data", -25303), ("u_CredRef", -25303), ("v_Ref", -25303),
            ("v_PersistentRef", -25303), ("srvr", -25303), ("clip", -50), ("ggrp", -50), ("acct", -50), ("accc", -50),
            ("v_Data", -50), ("pdmn", -50), ("sync", -50), ("cdat", -50), ("persistref", -50),
        ])
    func changes(_ key: String, _ status: Int) throws {
        let bench = try SecItemFixture()
        bench.expect(0, bench.add(genp("a", "s")))
        bench.expect(OSStatus(status), bench.update(genp("a", "s"), [key: NSNull()]), key)
        bench.expect(0, bench.update(genp("a", "s"), ["nleg": true]))
        bench.expect(0, bench.copy(genp("a", "s")))
    }

    @Test("keys without a meaning here are accepted")
    func accepted() throws {
        let bench = try SecItemFixture()
        let more: [String: Any] = [
            "nleg": true, "u_OpPrompt": "text", "u_Anything": 1, "f_anything": NSNull(), "u_AuthUI": "u_AuthUIA",
        ]
        bench.expect(0, bench.add(genp("a", "s", more)))
        bench.expect(0, bench.copy(genp("a", "s", more + ["m_Anything": 1, "m_SearchList": [1]])))
        bench.expect(0, bench.update(genp("a", "s", more), ["labl": "l"]))
        bench.expect(0, bench.delete(genp("a", "s", more + ["r_Data": true, "m_Limit": "m_LimitAll"])))
    }
}
