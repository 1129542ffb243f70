import Foundation
import KeyfobOpenSSL
import Testing

@testable import KeychainServices

private let then = Date(timeIntervalSinceReferenceDate: 77)

extension CallRow {
    /// Certificates.
    static func certificates() throws -> [CallRow] {
        let pair = try TestPair("one", ["-set_serial", "0x1234"])
        let other = try TestPair("one", ["-set_serial", "0x1234"])
        let (ref, der) = (["v_Ref": pair.secCertificate] as [String: Any], pair.certificate.der)
        let all: [String: Any] = ["class": "cert"]
        let row: [String: Any] = all + ["issr": Data([1]), "slnr": Data([2])]
        return [
            CallRow("by reference, with its subject as label", .add, ref + wantsAttributes, 0,
                .members(["labl": "one" as NSString, "ctyp": 3 as NSNumber, "cenc": 3 as NSNumber,
                "slnr": NSData(data: Data([0x12, 0x34])), "pdmn": "dk" as NSString])),
            CallRow("another of the same issuer and serial number", .add, ["v_Ref": other.secCertificate], -25299,
                given: [ref], after: [(all, 1)]),
            CallRow("the same as an item given by attributes",
                .add, all + ["ctyp": 3, "issr": pair.certificate.issuer.der, "slnr": Data([0x12, 0x34])], -25299,
                given: [ref]),
            CallRow("of another type it is another item",
                .add, all + ["ctyp": 1, "issr": pair.certificate.issuer.der, "slnr": Data([0x12, 0x34])], 0,
                given: [ref], after: [(all, 2)]),
            CallRow("the issuer as a whole name", .copy, all + ["issr": pair.certificate.issuer.der] + wantsData,
                0, .data(der), given: [ref]),
            CallRow("the issuer as its contents",
                .copy, all + ["issr": pair.certificate.issuer.normalized] + wantsData, 0, .data(der), given: [ref]),
            CallRow("the subject as its contents",
                .copy, all + ["subj": pair.certificate.subject.normalized] + wantsData, 0, .data(der), given: [ref]),
            CallRow("the serial number with a zero", .copy, all + ["slnr": Data([0, 0x12, 0x34])], -25300,
                given: [ref]),
            CallRow("the hash of the key",
                .copy, all + ["pkhh": pair.certificate.publicKey.identifier] + wantsReference,
                0, .object(pair.secCertificate), given: [ref]),
            CallRow("a new label", .update(["labl": "new"]), all, 0,
                given: [ref], after: [(all + ["labl": "new"], 1), (all + ["labl": "one"], 0)]),
            CallRow("a new label by reference", .update(["labl": "new"]), ref, 0,
                given: [ref], after: [(all + ["labl": "new"], 1)]),
            CallRow("a comment is not one of its attributes", .add, ref + ["icmt": "x"], -25303, after: [(all, 0)]),
            CallRow("and neither is a creator", .copy, all + ["crtr": 1], -25303),
            CallRow("and neither is a permanence", .update(["perm": true]), all, -25303, given: [ref]),
            CallRow("an alias is one", .copy, all + ["alis": "a@example.org"] + wantsAttributes,
                0, .members(["alis": "a@example.org" as NSString]), given: [ref + ["alis": "a@example.org"]]),
            CallRow("invalid bytes, as data", .copy, row + wantsData, 0, .data(Data([9])),
                given: [row + ["v_Data": Data([9])]]),
            CallRow("invalid bytes, as reference", .copy, row + wantsReference, 0, .nothing,
                given: [row + ["v_Data": Data([9])]]),
            CallRow("label and data are not part of the key",
                .add, row + ["labl": "x", "v_Data": Data([8])], -25299,
                given: [row + ["labl": "y", "v_Data": Data([9])]]),
            CallRow("by data and by reference it is one", .delete, ref, 0,
                given: [all + ["v_Data": der]], after: [(all, 0)]),
            CallRow("an encoding as text", .copy, row + ["cenc": "3"] + wantsAttributes,
                0, .members(["cenc": 3 as NSNumber]), given: [row + ["cenc": 3]]),
        ]
    }

    /// Keys.
    static func keys() throws -> [CallRow] {
        let pair = try TestPair()
        let (ref, hash) = (["v_Ref": pair.secKey] as [String: Any], pair.certificate.publicKey.identifier)
        let publicRef: [String: Any] = ["v_Ref": pair.secPublicKey]
        let all: [String: Any] = ["class": "keys"]
        let tagged: [String: Any] = all + ["atag": "t"]
        let key = try pair.secKey.externalRepresentation()
        let rsa = try TestPair("rsa", [], key: ["-newkey", "rsa:2048"])
        let information = rsa.key.publicKey.subjectPublicKeyInfo
        return [
            CallRow("a class as text is returned as a number", .copy, tagged + ["kcls": 1] + wantsAttributes,
                0, .members(["kcls": 1 as NSNumber, "type": 73 as NSNumber]),
                given: [tagged + ["kcls": "1", "type": "73"]]),
            CallRow("a private key says that it is one", .copy, ref + wantsAttributes,
                0, .members(["priv": 1 as NSNumber, "perm": 1 as NSNumber, "kcls": 1 as NSNumber]), given: [ref]),
            CallRow("and so does a public one", .copy, publicRef + wantsAttributes,
                0, .members(["priv": 1 as NSNumber, "perm": 1 as NSNumber, "kcls": 0 as NSNumber]), given: [publicRef]),
            CallRow("both halves have one hash", .copy, all + ["klbl": hash] + wantsAll + wantsReference, 0, .array(2),
                given: [ref, publicRef]),
            CallRow("the hash as text of other bytes", .copy, all + ["klbl": "x"], -25300, given: [ref]),
            CallRow("a tag makes another item of the same key", .add, ref + ["atag": "two"], 0,
                given: [ref + ["atag": "one"]], after: [(all, 2), (all + ["atag": "two"], 1)]),
            CallRow("another label does not", .add, ref + ["labl": "two"], -25299,
                given: [ref + ["labl": "one"]], after: [(all, 1)]),
            CallRow("a date makes another item", .add, tagged + ["sdat": then], 0,
                given: [tagged], after: [(tagged, 2), (tagged + ["sdat": then], 1)]),
            CallRow("a missing date is that of 2001",
                .add, tagged + ["edat": Date(timeIntervalSinceReferenceDate: 0)], -25299, given: [tagged]),
            CallRow("a tag as bytes is the same tag", .add, all + ["atag": Data("t".utf8)], -25299, given: [tagged]),
            CallRow("a size as text", .copy, tagged + ["bsiz": 256], 0, .nothing, given: [tagged + ["bsiz": "256"]]),
            CallRow("its allowed operations filter", .copy, all + ["sign": true] + wantsAll + wantsReference, 0, .array(1),
                given: [ref, publicRef]),
            CallRow("and so do the others", .copy, all + ["sign": 0] + wantsReference, 0, .object(pair.secPublicKey),
                given: [ref, publicRef]),
            CallRow("by reference, its operations have no effect", .delete, ref, 0,
                given: [ref + ["sign": false]], after: [(all, 0)]),
            CallRow("a comment is not one of its attributes", .add, tagged + ["icmt": "x"], -25303),
            CallRow("and neither is a service", .update(["svce": "x"]), tagged, -25303, given: [tagged]),
            CallRow("its data", .copy, tagged + wantsData, 0, .data(key), given: [ref + ["atag": "t"]]),
            CallRow("its data if it must not leave the token", .copy, tagged + wantsData, 0, .nothing,
                given: [ref + ["atag": "t", "extr": false]]),
            CallRow("added as data it is the key", .copy, tagged + wantsReference, 0, .object(pair.secKey),
                given: [tagged + ["type": "73", "kcls": "1", "v_Data": key]]),
            CallRow("a new label by reference", .update(["labl": "new"]), ref, 0,
                given: [ref], after: [(all + ["labl": "new"], 1)]),
            CallRow("a public key that is not marked as one", .copy, tagged + wantsReference,
                0, .object(pair.secPublicKey), given: [tagged + ["type": "73", "v_Data": pair.key.publicKey.bits]]),
            CallRow("a public key of RSA in X.509's form", .copy, tagged + wantsReference, 0, .object(rsa.secPublicKey),
                given: [tagged + ["type": "42", "kcls": "0", "v_Data": information]]),
            CallRow("it stays in the given form", .copy, tagged + wantsData, 0, .data(information),
                given: [tagged + ["type": "42", "kcls": "0", "v_Data": information]]),
            CallRow("and is not a private key", .copy, tagged + wantsReference, 0, .nothing,
                given: [tagged + ["type": "42", "kcls": "1", "v_Data": information]]),
            CallRow("the other half does not match", .update(["labl": "new"]), publicRef, -25300, given: [ref]),
            CallRow("a number of an unknown type", .copy, tagged + ["type": "2147483680"] + wantsAttributes,
                0, .members(["type": 2_147_483_680 as NSNumber]),
                given: [tagged + ["type": 2_147_483_680]]),
        ]
    }

    /// Identities.
    static func identities() throws -> [CallRow] {
        let pair = try TestPair("one", ["-set_serial", "0x80"])
        let rival = try TestPair("one", ["-set_serial", "0x80"])
        let renewal = SecCertificate(try pair.anotherCertificate("one", ["-set_serial", "0x80"]))
        let renewed = SecIdentity(certificate: renewal, privateKey: pair.secKey)
        let ref: [String: Any] = ["v_Ref": pair.secIdentity]
        let all: [String: Any] = ["class": "idnt"]
        let (certificate, key) = (["v_Ref": pair.secCertificate] as [String: Any],
        ["v_Ref": pair.secKey] as [String: Any])
        return [
            CallRow("its certificate's issuer and serial number belong to another",
                .add, ["v_Ref": rival.secIdentity] + wantsPersistent, -25299, given: [ref],
                after: [(all, 1), (["class": "cert"], 1), (["class": "keys"], 1)]),
            CallRow("they belong to another certificate, which has no key", .add, ["v_Ref": rival.secIdentity], -25299,
                given: [certificate],
                after: [(all, 0), (["class": "cert"], 1), (["class": "keys"], 0)]),
            CallRow("the same key and those numbers", .add, ["v_Ref": renewed] + wantsPersistent, -25299,
                given: [ref], after: [(["class": "cert"], 1)]),
            CallRow("in another group there is room",
                .add, ["v_Ref": rival.secIdentity, "vwht": "x"] + wantsPersistent, 0, .persistent("idnt"),
                given: [ref], after: [(all, 2)]),
            CallRow("its certificate is there", .add, ref + wantsPersistent, 0,
                given: [certificate], after: [(all, 1)]),
            CallRow("its key is there", .add, ref + wantsPersistent, 0, .persistent("idnt"),
                given: [key], after: [(all, 1)]),
            CallRow("both are there", .add, ref, -25299, given: [certificate, key], after: [(all, 1)]),
            CallRow("one half alone leaves no identity", .copy, ref, -25300, given: [certificate]),
            CallRow("and neither does the other", .copy, ref, -25300, given: [key]),
            CallRow("by its certificate", .copy, all + certificate + wantsReference, 0, .object(pair.secIdentity),
                given: [ref + ["labl": "other"]]),
            CallRow("by its key", .copy, all + key + wantsReference, 0, .object(pair.secIdentity), given: [ref]),
            CallRow("by the certificate of another identity", .copy, all + ["v_Ref": try TestPair("one").secCertificate],
                -25300, given: [ref]),
            CallRow("a half cannot be added as an identity", .add, all + certificate, -50),
            CallRow("and not removed as one", .delete, all + certificate, -50, given: [ref], after: [(all, 1)]),
            CallRow("and not changed as one", .update(["labl": "l"]), all + key, -50, given: [ref]),
            CallRow("the same data for both halves", .update(["v_Data": pair.certificate.der]), all, -50,
                given: [ref], after: [(all, 1)]),
            CallRow("the same by reference", .update(["v_Data": Data([1])]), ref, -50, given: [ref], after: [(all, 1)]),
            CallRow("an attribute of the certificate alone", .copy, all + ["ctyp": 3] + wantsReference,
                0, .object(pair.secIdentity), given: [ref]),
            CallRow("an attribute of the key alone", .copy, all + ["bsiz": 256, "sign": true] + wantsReference,
                0, .object(pair.secIdentity), given: [ref]),
            CallRow("the protection is the key's", .copy, all + ["pdmn": "ak"], 0, .nothing, given: [ref]),
            CallRow("and not that of the certificate", .copy, all + ["pdmn": "dk"], -25300, given: [ref]),
            CallRow("an attribute of neither half", .copy, all + ["acct": "a"], -25303, given: [ref]),
            CallRow("it has no data of its own", .copy, all + wantsData, 0, .nothing, given: [ref]),
            CallRow("as an array of references", .copy, all + wantsAll + wantsReference, 0, .array(1), given: [ref]),
            CallRow("its key alone is removed by it", .delete, ref, 0, given: [key], after: [(["class": "keys"], 0)]),
            CallRow("nothing is removed if its certificate is synchronizable and the call does not say so", .delete, ref, -25300,
                given: [certificate + ["sync": true], key],
                after: [(["class": "keys"], 1), (["class": "cert", "sync": true], 1)]),
            CallRow("both halves are removed if the call says so", .delete, ref + ["sync": "syna"], 0,
                given: [certificate + ["sync": true], key],
                after: [(["class": "keys"], 0), (["class": "cert", "sync": true], 0)]),
            CallRow("without its key there is no identity to remove", .delete, ref, -25300, given: [certificate]),
        ]
    }
}
