import Foundation
import KeyfobOpenSSL
import Testing

@testable import KeychainServices

private let secret = Data("secret".utf8)
private var item: [String: Any] { genp("a", "s") }
private var other: [String: Any] { genp("b", "s") }
private var service: [String: Any] { ["class": "genp", "svce": "s"] }
private var full: [String: Any] { genp("a", "s", ["v_Data": secret, "labl": "l"]) }

extension CallRow {
    /// SecItemAdd.
    static func additions() throws -> [CallRow] {
        let pair = try TestPair()
        let control = SecAccessControl(protection: "ak", flags: .userPresence)
        return [
            CallRow("no requested result", .add, full, 0),
            CallRow("results requested with false", .add, full + ["r_Data": false, "r_Ref": false], 0),
            CallRow("its data", .add, full + wantsData, 0, .data(secret)),
            CallRow("the data of an item without data", .add, item + wantsData, 0, .data(Data())),
            CallRow("the reference of a password", .add, full + wantsReference, 0, .nothing),
            CallRow("its persistent reference", .add, full + wantsPersistent, 0, .persistent("genp")),
            CallRow("its attributes", .add, full + wantsAttributes,
                0, .members(["acct": "a" as NSString, "v_Data": nil, "v_PersistentRef": nil])),
            CallRow("data and attributes", .add, full + wantsAttributes + wantsData,
                0, .members(["acct": "a" as NSString, "v_Data": NSData(data: secret)])),
            CallRow("a duplicate with other data", .add, item + ["v_Data": Data([1])] + wantsData, -25299,
                given: [full], after: [(full.filter { $0.key != "v_Data" }, 1)]),
            CallRow("a synchronizable item is another item", .add, item + ["sync": true] + wantsAttributes,
                0, .members(["sync": 1 as NSNumber]), given: [item]),
            CallRow("any synchronizing counts as none", .add, item + ["sync": "syna"], -25299, given: [item]),
            CallRow("a limit", .add, item + wantsAll, -50, after: [(item, 0)]),
            CallRow("a list of items", .add, item + ["u_ItemList": [Any]()], -50, after: [(item, 0)]),
            CallRow("a filter without a meaning", .add, item + ["m_CaseInsensitive": true], -50, after: [(item, 0)]),
            CallRow("skipping items that need confirmation", .add, item + ["u_AuthUI": "u_AuthUIS"], -50, after: [(item, 0)]),
            CallRow("failing if the user would be asked", .add, item + ["u_AuthUI": "u_AuthUIF"], 0, after: [(item, 1)]),
            CallRow("constraints and synchronizing", .add, item + ["accc": control, "sync": true], -50,
                after: [(item + ["sync": "syna"], 0)]),
            CallRow("no constraints and synchronizing",
                .add, item + ["accc": SecAccessControl(protection: "ck", flags: []), "sync": true], 0,
                after: [(item + ["sync": 1], 1)]),
            CallRow("a key's constraint on a password",
                .add, item + ["accc": SecAccessControl(protection: "ak", flags: .privateKeyUsage)], -25293,
                after: [(item, 0)]),
            CallRow("two of the same kind of password", .add, item + ["u_CredRef": Data([1]), "u_AuthCtx": NSObject()],
                -50, after: [(item, 0)]),
            CallRow("a text to ask with", .add, item + ["u_OpPrompt": "why", "nleg": true, "u_Unknown": 1], 0,
                after: [(item, 1)]),
            CallRow("a key as a password", .add, item + ["v_Ref": pair.secKey], -50, after: [(item, 0)]),
            CallRow("a certificate as a key", .add, ["class": "keys", "v_Ref": pair.secCertificate], -50),
            CallRow("given attributes override those of a reference",
                .add, ["v_Ref": pair.secCertificate, "labl": "mine"] + wantsAttributes,
                0, .members(["labl": "mine" as NSString])),
            CallRow("a missing token", .add, ["class": "keys", "tkid": "nowhere"], -25300),
            CallRow("a public key of a token without data",
                .add, ["class": "keys", "tkid": "com.apple.setoken", "kcls": "0", "type": "73", "bsiz": 256], -50),
        ]
    }

    /// SecItemCopyMatching.
    static func searches() throws -> [CallRow] {
        let pair = try TestPair("one")
        let two: [[String: Any]] = [full, other]
        return [
            CallRow("nothing found", .copy, item + wantsData, -25300),
            CallRow("nothing found, with an array", .copy, item + wantsData + wantsAll, -25300),
            CallRow("no requested result", .copy, item, 0, .nothing, given: [item]),
            CallRow("a limit of one is not an array", .copy, service + ["m_Limit": 1] + wantsData, 0, .data(secret),
                given: two),
            CallRow("a limit of two is an array", .copy, service + ["m_Limit": 2] + wantsPersistent, 0, .array(2), given: two),
            CallRow("a limit of three finds two", .copy, service + ["m_Limit": 3] + wantsAttributes, 0, .array(2),
                given: two),
            CallRow("a limit of none", .copy, service + ["m_Limit": 0] + wantsAttributes, -25300, given: two),
            CallRow("a limit of minus one", .copy, service + ["m_Limit": -1] + wantsAttributes, 0, .array(2),
                given: two),
            CallRow("a limit as text", .copy, service + ["m_Limit": "1"], -50, given: two),
            CallRow("a limit that is a truth value", .copy, service + ["m_Limit": true], -50, given: two),
            CallRow("data in a search has no effect", .copy, item + ["v_Data": Data([7])] + wantsData,
                0, .data(secret), given: [full]),
            CallRow("text as data has no effect", .copy, item + ["v_Data": "secret"], -50, given: [full]),
            CallRow("a missing synchronizable flag means false", .copy, item, -25300, given: [item + ["sync": true]]),
            CallRow("a given synchronizable flag", .copy, item + ["sync": 1], 0, .nothing, given: [item + ["sync": true]]),
            CallRow("any", .copy, item + ["sync": "syna"] + wantsAll + wantsPersistent, 0, .array(2),
                given: [item, item + ["sync": true]]),
            CallRow("false, given", .copy, item + ["sync": false] + wantsAll + wantsPersistent, 0, .array(1),
                given: [item, item + ["sync": true]]),
            CallRow("a policy of a password", .copy, item + ["m_Policy": SecPolicyCreateBasicX509()], -4,
                given: [item]),
            CallRow("issuers of a key", .copy, ["class": "keys", "m_Issuers": [Data()]], -4),
            CallRow("a host of a certificate", .copy, ["class": "cert", "m_HostOrSubdomainOfHost": "x"], -4),
            CallRow("a host that is a number", .copy, ["class": "inet", "m_HostOrSubdomainOfHost": 1], -50),
            CallRow("several policies", .copy, ["class": "cert", "m_Policy": [SecPolicyCreateBasicX509()]], -50,
                given: [["v_Ref": pair.secCertificate]]),
            CallRow("issuers that are not names",
                .copy, ["class": "cert", "m_Issuers": [1, "x"] as [Any]] + wantsReference,
                0, .object(pair.secCertificate), given: [["v_Ref": pair.secCertificate]]),
            CallRow("its own issuer", .copy, ["class": "cert", "m_Issuers": [pair.certificate.issuer.der]]
                + wantsReference, 0, .object(pair.secCertificate), given: [["v_Ref": pair.secCertificate]]),
            CallRow("today", .copy, ["class": "cert", "m_ValidOnDate": NSNull()] + wantsReference,
                0, .object(pair.secCertificate), given: [["v_Ref": pair.secCertificate]]),
            CallRow("long ago", .copy, ["class": "cert", "m_ValidOnDate": Date(timeIntervalSince1970: 0)], -25300,
                given: [["v_Ref": pair.secCertificate]]),
            CallRow("a name in part and in another case",
                .copy, ["class": "cert", "m_SubjectContains": "NE", "m_CaseInsensitive": true] + wantsReference,
                0, .object(pair.secCertificate), given: [["v_Ref": pair.secCertificate]]),
            CallRow("an untrusted certificate", .copy, ["class": "cert", "m_TrustedOnly": true], -25300,
                given: [["v_Ref": pair.secCertificate]]),
            CallRow("a list with it", .copy, ["class": "cert", "m_ItemList": [pair.secCertificate]] + wantsReference,
                0, .object(pair.secCertificate), given: [["v_Ref": pair.secCertificate]]),
            CallRow("a list without it", .copy, ["class": "cert", "m_ItemList": [pair.secKey]], -25300,
                given: [["v_Ref": pair.secCertificate]]),
            CallRow("a search list has no effect", .copy, item + ["m_SearchList": ["x"]], 0, .nothing, given: [item]),
            CallRow("a reference to nothing",
                .copy, ["v_PersistentRef": Data("inet".utf8) + Data(count: 16)] + wantsData, -25300),
            CallRow("a reference in a token's form", .copy, ["v_PersistentRef": Data("tkpr".utf8) + Data(count: 16)],
                -50),
            CallRow("both kinds of references to nothing",
                .copy, ["v_PersistentRef": Data("cert".utf8) + Data(count: 16), "v_Ref": pair.secCertificate], -25300),
        ]
    }

    /// SecItemUpdate.
    static func changes() -> [CallRow] { [
        CallRow("nothing found", .update(["labl": "x"]), item, -25300),
        CallRow("no changes", .update([:]), item, 0, given: [full], after: [(item + ["labl": "l"], 1)]),
        CallRow("unnamed attributes stay", .update(["icmt": "c"]), item, 0,
            given: [full], after: [(item + ["labl": "l", "icmt": "c"], 1)]),
        CallRow("data for an item without data", .update(["v_Data": secret]), item, 0, given: [item], after: [(item, 1)]),
        CallRow("data for all", .update(["v_Data": secret, "labl": "x"]), service, 0,
            given: [item, other], after: [(service + ["labl": "x"], 2)]),
        CallRow("data that is text", .update(["v_Data": "x"]), item, -50, given: [full]),
        CallRow("a new account", .update(["acct": "z"]), item, 0,
            given: [full], after: [(item, 0), (genp("z", "s", ["labl": "l"]), 1)]),
        CallRow("the account of another", .update(["acct": "b", "labl": "x"]), item, -25299,
            given: [full, other], after: [(service + ["labl": "x"], 0), (item, 1), (other, 1)]),
        CallRow("one account for two", .update(["acct": "z"]), service, -25299,
            given: [full, other], after: [(genp("z", "s"), 0), (service, 2)]),
        CallRow("its own account", .update(["acct": "a"]), item, 0, given: [full], after: [(item, 1)]),
        CallRow("an empty account", .update(["acct": ""]), item, 0,
            given: [full], after: [(["class": "genp", "acct": ""], 1)]),
        CallRow("synchronizing", .update(["sync": true]), item, 0,
            given: [full], after: [(item, 0), (item + ["sync": true], 1)]),
        CallRow("any synchronizing", .update(["sync": "syna"]), item, -50, given: [full]),
        CallRow("synchronizing when such an item exists", .update(["sync": true]), item, -25299,
            given: [full, item + ["sync": true]], after: [(item, 1)]),
        CallRow("a class", .update(["class": "genp"]), item, -25303, given: [full]),
        CallRow("a result", .update(["r_Data": true]), item, -25303, given: [full]),
        CallRow("a limit in the changes", .update(["m_Limit": 1]), item, -25303, given: [full]),
        CallRow("a password in the changes", .update(["u_CredRef": Data([1])]), item, -25303, given: [full]),
        CallRow("an unknown attribute", .update(["zzzz": 1]), item, -25303, given: [full]),
        CallRow("the choice of keychain, in the changes", .update(["nleg": true]), item, 0, given: [full]),
        CallRow("nothing as a value", .update(["labl": NSNull()]), item, -50,
            given: [full], after: [(item + ["labl": "l"], 1)]),
        CallRow("a limit", .update(["labl": "x"]), item + ["m_Limit": "m_LimitOne"], -50, given: [full]),
        CallRow("a limit of all", .update(["labl": "x"]), item + wantsAll, -50, given: [full]),
        CallRow("a filter", .update(["labl": "x"]), item + ["m_ValidOnDate": NSNull()], -50, given: [full]),
        CallRow("a result in the query", .update(["labl": "x"]), item + wantsData, -50, given: [full]),
        CallRow("no result in the query", .update(["labl": "x"]), item + ["r_Data": false], 0,
            given: [full], after: [(item + ["labl": "x"], 1)]),
        CallRow("data in the query has no effect", .update(["labl": "x"]), item + ["v_Data": Data([1])], 0,
            given: [full], after: [(item + ["labl": "x"], 1)]),
        CallRow("an accessibility", .update(["pdmn": "cku"]), item, 0,
            given: [full], after: [(item + ["pdmn": "cku"], 1), (item + ["pdmn": "ak"], 0)]),
        CallRow("an unknown accessibility", .update(["pdmn": "x"]), item, -50, given: [full]),
        CallRow("constraints for a synchronizable item",
            .update(["accc": SecAccessControl(protection: "ak", flags: .userPresence)]), item + ["sync": true], -50,
            given: [item + ["sync": true]]),
        CallRow("without a class", .update(["labl": "x"]), ["acct": "a"], -50, given: [full]),
    ] }

    /// SecItemDelete.
    static func removals() -> [CallRow] { [
        CallRow("nothing found", .delete, item, -25300),
        CallRow("one", .delete, item, 0, given: [full, other], after: [(service, 1)]),
        CallRow("all of a service", .delete, service, 0,
            given: [full, other, genp("a", "t")], after: [(service, 0), (["class": "genp"], 1)]),
        CallRow("all of a class", .delete, ["class": "genp"], 0,
            given: [full, genp("a", "t"), item + ["sync": true]], after: [(["class": "genp", "sync": "syna"], 1)]),
        CallRow("all of a class, synchronizable or not", .delete, ["class": "genp", "sync": "syna"], 0,
            given: [full, item + ["sync": true]], after: [(["class": "genp", "sync": "syna"], 0)]),
        CallRow("a requested result is ignored", .delete, item + wantsData, 0, given: [full], after: [(item, 0)]),
        CallRow("a limit of one", .delete, item + ["m_Limit": "m_LimitOne"], -50, given: [full], after: [(item, 1)]),
        CallRow("a limit of all", .delete, item + wantsAll, 0, given: [full], after: [(item, 0)]),
        CallRow("a filter", .delete, item + ["m_CaseInsensitive": true], -50, given: [full], after: [(item, 1)]),
        CallRow("skipping items that need confirmation", .delete, item + ["u_AuthUI": "u_AuthUIS"], -50, given: [full], after: [(item, 1)]),
        CallRow("data that is text", .delete, item + ["v_Data": "x"], -50, given: [full], after: [(item, 1)]),
        CallRow("data has no effect", .delete, item + ["v_Data": Data([1])], 0, given: [full], after: [(item, 0)]),
        CallRow("without a class", .delete, ["acct": "a"], -50, given: [full], after: [(item, 1)]),
        CallRow("by a label", .delete, ["class": "genp", "labl": "l"], 0, given: [full, other], after: [(service, 1)]),
        CallRow("a reference to nothing", .delete, ["v_PersistentRef": Data("genp".utf8) + Data(count: 16)], -25300),
        CallRow("an item that needs confirmation", .delete, item, 0,
            given: [item + ["accc": SecAccessControl(protection: "ak", flags: .userPresence)]], after: [(item, 0)]),
    ] }

    /// The shapes of results.
    static func shapes() -> [CallRow] { [
        CallRow("data", .copy, item + wantsData, 0, .data(secret), given: [full]),
        CallRow("empty data", .copy, item + wantsData, 0, .data(Data()), given: [item + ["v_Data": Data()]]),
        CallRow("no data", .copy, item + wantsData, 0, .nothing, given: [item]),
        CallRow("no data, in an array", .copy, item + wantsData + wantsAll, 0, .array(0), given: [item]),
        CallRow("data of one of two", .copy, service + wantsData + wantsAll, 0, .array(1), given: [full, other]),
        CallRow("data and references of both", .copy, service + wantsData + wantsPersistent + wantsAll, 0, .array(2),
            given: [full, other]),
        CallRow("a password has no object", .copy, item + wantsReference, 0, .nothing, given: [full]),
        CallRow("also in an array", .copy, item + wantsReference + wantsAll, 0, .array(0), given: [full]),
        CallRow("an object and data", .copy, item + wantsReference + wantsData,
            0, .members(["v_Ref": nil, "v_Data": NSData(data: secret), "class": "genp" as NSString]), given: [full]),
        CallRow("attributes alone", .copy, item + wantsAttributes,
            0, .members(["v_Data": nil, "v_PersistentRef": nil, "persistref": nil, "sha1": nil,
            "labl": "l" as NSString]), given: [full]),
        CallRow("nothing, in an array", .copy, item + wantsAll, 0, .array(0), given: [full]),
        CallRow("a result requested with false", .copy, item + ["r_Data": true, "r_Attributes": false], 0, .data(secret),
            given: [full]),
        CallRow("the number one", .copy, item + ["r_Data": 1], -50, given: [full]),
    ] }

    /// Tombstones.
    static func tombstones() throws -> [CallRow] {
        let pair = try TestPair()
        let identity: [String: Any] = ["v_Ref": pair.secIdentity]
        let (gone, buried) = (["u_Tomb": true] as [String: Any], ["tomb": true] as [String: Any])
        var rows: [CallRow] = []
        for itemClass in ["genp", "inet", "cert", "keys"] {
            let item: [String: Any] = ["class": itemClass, "vwht": "v"]
            rows += [
                CallRow("a removal without the tombstone flag leaves none", .delete, item, 0,
                    given: [item], after: [(item + buried, 0)]),
                CallRow("also of a synchronizable item", .delete, item + ["sync": true], 0,
                    given: [item + ["sync": true]], after: [(item + buried + ["sync": "syna"], 0)]),
                CallRow("one is left on request", .delete, item + gone, 0,
                    given: [item], after: [(item, 0), (item + buried, 1)]),
                CallRow("one is added", .add, item + buried, 0, after: [(item, 0), (item + buried, 1)]),
                CallRow("one does not replace an item", .add, item + buried, -25299,
                    given: [item], after: [(item, 1)]),
                CallRow("an item replaces it", .add, item, 0,
                    given: [item + buried], after: [(item, 1), (item + buried, 0)]),
                CallRow("another item replaces it, too", .add, item + buried, 0,
                    given: [item + buried], after: [(item + buried, 1)]),
                CallRow("it is changed only by a call that names it", .update(["labl": "l"]), item, -25300,
                    given: [item + buried]),
                CallRow("and removed only by such a call", .delete, item, -25300, given: [item + buried], after: [(item + buried, 1)]),
                CallRow("it stays if a tombstone is requested", .delete, item + buried + gone, 0,
                    given: [item + buried], after: [(item + buried, 1)]),
                CallRow("it is removed", .delete, item + buried, 0, given: [item + buried], after: [(item + buried, 0)]),
                CallRow("a change replaces it", .update(["vwht": "v"]), ["class": itemClass, "vwht": "w"], 0,
                    given: [item + buried, ["class": itemClass, "vwht": "w"]],
                    after: [(item, 1), (item + buried, 0)]),
                CallRow("requested with a number", .delete, item + ["u_Tomb": 1], -50,
                    given: [item], after: [(item, 1)]),
            ]
        }
        let halves = [["class": "cert"], ["class": "keys"]] as [[String: Any]]
        for query in [identity, ["class": "idnt"]] as [[String: Any]] {
            rows.append(CallRow("both halves of an identity leave one", .delete, query + gone, 0, given: [identity],
                after: halves.flatMap { [($0, 0), ($0 + buried, 1)] } + [(["class": "idnt"], 0),
                (["class": "idnt"] + buried, 0)]))
        }
        rows.append(CallRow("a single half leaves one", .delete, identity + gone, 0,
            given: [["v_Ref": pair.secKey]],
            after: [(halves[0] + buried, 0), (halves[1] + buried, 1)]))
        return rows
    }
}
