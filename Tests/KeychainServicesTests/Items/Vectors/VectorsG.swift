import Foundation
import KeyfobPrimitives
import KeyfobTesting
import Keyfob
import KeyfobOpenSSL
import Testing

@testable import KeychainServices

extension Vector {
    /// Identities, keys, certificates.
    static let groupG: [Vector] = [
        Vector(89, "a key by the hash of its public half") { bench in
            let pair = try bench.pairInHalves()
            let found = bench.copying(["class": "keys", "klbl": pair.certificate.publicKey.identifier] + wantsReference)
            #expect(found.value as? SecKey == pair.secKey)
        },
        Vector(90, "a certificate by the hash of its public key") { bench in
            let pair = try bench.pairInHalves()
            let found = bench.copying(["class": "cert", "pkhh": pair.certificate.publicKey.identifier] + wantsReference)
            #expect(found.value as? SecCertificate == pair.secCertificate)
        },
        Vector(91, "certificate and key are an identity") { bench in
            let pair = try bench.pairInHalves()
            let found = bench.copying(["class": "idnt", "klbl": pair.certificate.publicKey.identifier] + wantsReference)
            let identity = try #require(found.value as? SecIdentity)
            #expect(identity == pair.secIdentity)
            #expect(identity.certificate == pair.secCertificate)
            bench.expect(0, bench.copy(["class": "idnt", "pkhh": pair.certificate.publicKey.identifier]))
        },
        Vector(93, "an identity is added at once") { bench in
            bench.expect(0, bench.add(["v_Ref": try TestPair("unrelated").secCertificate]))
            let added = bench.adding(["v_Ref": try TestPair().secIdentity] + wantsPersistent)
            #expect(added.status == 0 && added.data?.prefix(4) == Data("idnt".utf8) && added.data?.count == 20)
        },
        Vector(94, "an identity is added once") { bench in
            let identity = try TestPair().secIdentity
            bench.expect(0, bench.add(["v_Ref": identity]))
            let again = bench.adding(["v_Ref": identity] + wantsPersistent)
            #expect(again.status == -25299 && !again.isTouched)
        },
        Vector(95, "an identity by its persistent reference") { bench in
            let identity = try TestPair().secIdentity
            let reference = try #require(bench.adding(["v_Ref": identity] + wantsPersistent).data)
            #expect(bench.copying(["v_PersistentRef": reference] + wantsReference).value as? SecIdentity == identity)
        },
        Vector(97, "an identity is removed by reference") { bench in
            let identity = try TestPair().secIdentity
            let reference = try #require(bench.adding(["v_Ref": identity] + wantsPersistent).data)
            bench.expect(0, bench.delete(["v_Ref": identity]))
            bench.expect(-25300, bench.copy(["v_PersistentRef": reference]))
            for itemClass in ["cert", "keys", "idnt"] { bench.expect(-25300, bench.copy(["class": itemClass])) }
        },
        Vector(98, "an identity is removed by its persistent reference") { bench in
            let identity = try TestPair().secIdentity
            bench.expect(0, bench.add(["v_Ref": identity]))
            bench.expect(0, bench.delete(["v_Ref": identity]))
            let reference = try #require(bench.adding(["v_Ref": identity] + wantsPersistent).data)
            bench.expect(0, bench.delete(["v_PersistentRef": reference]))
            bench.expect(-25300, bench.copy(["v_PersistentRef": reference]))
            for itemClass in ["cert", "keys"] { bench.expect(-25300, bench.copy(["class": itemClass])) }
        },
        Vector(99, "a label is set on both halves") { bench in
            bench.expect(0, bench.add(["v_Ref": try TestPair().secIdentity, "labl": "L"]))
            for itemClass in ["idnt", "cert", "keys"] { bench.expect(0, bench.copy(["class": itemClass, "labl": "L"])) }
        },
        Vector(101, "an identity's label is its certificate's") { bench in
            let pair = try TestPair()
            bench.expect(0, bench.add(["v_Ref": pair.secIdentity, "labl": "L"]))
            bench.expect(0, bench.update(["v_Ref": pair.secCertificate], ["labl": "M"]))
            bench.expect(-25300, bench.copy(["class": "idnt", "labl": "L"]))
            bench.expect(0, bench.copy(["class": "idnt", "labl": "M"]))
            bench.expect(0, bench.copy(["class": "keys", "labl": "L"]))
        },
        Vector(102, "an identity by its issuer, normalised or not") { bench in
            let pair = try TestPair()
            bench.expect(0, bench.add(["v_Ref": pair.secIdentity]))
            for name in [pair.certificate.issuer.normalized, pair.certificate.issuer.der] {
                #expect(bench.copying(["class": "idnt", "issr": name] + wantsReference).value as? SecIdentity == pair.secIdentity)
            }
        },
        Vector(103, "an identity is removed by the label of both halves") { bench in
            bench.expect(0, bench.add(["v_Ref": try TestPair().secIdentity, "labl": "M"]))
            bench.expect(0, bench.delete(["class": "idnt", "labl": "M"]))
            for itemClass in ["cert", "keys"] { bench.expect(-25300, bench.copy(["class": itemClass])) }
        },
        Vector(105, "one persistent reference from every search") { bench in
            bench.groups = ["g"]
            let identity = try TestPair().secIdentity
            bench.expect(0, bench.add(["v_Ref": identity, "agrp": "g", "labl": "L"]))
            let found = [
                bench.copying(["class": "idnt", "labl": "L"] + wantsPersistent).data,
                bench.copying(["v_Ref": identity] + wantsPersistent).data,
                bench.copying(["v_Ref": identity, "labl": "L"] + wantsPersistent).data,
            ]
            #expect(found[0]?.count == 20 && Set(found).count == 1)
        },
        Vector(106, "an identity is changed by its persistent reference") { bench in
            bench.groups = ["1", "2"]
            let reference = try #require(bench.adding(["v_Ref": try TestPair().secIdentity] + wantsPersistent).data)
            bench.expect(0, bench.update(["v_PersistentRef": reference], ["agrp": "2"]))
            bench.expect(0, bench.copy(["class": "idnt", "agrp": "2"]))
            bench.expect(-25300, bench.copy(["class": "idnt", "agrp": "1"]))
            for itemClass in ["cert", "keys"] { bench.expect(0, bench.copy(["class": itemClass, "agrp": "2"])) }
        },
        Vector(107, "the permanent parts of a generated pair") { bench in
            for (isPrivate, isPublic) in [(true, true), (true, false), (false, true), (false, false)] {
                let tag = "\(isPrivate) \(isPublic)"
                let parameters: [String: Any] = [
                    "type": "73", "bsiz": 256, "atag": tag, "private": ["perm": isPrivate],
                    "public": ["perm": isPublic],
                ]
                let key = try bench.generating(parameters)
                let query: [String: Any] = ["class": "keys", "atag": tag]
                let count = (isPrivate ? 1 : 0) + (isPublic ? 1 : 0)
                let found = bench.copying(query + wantsAll + wantsReference)
                #expect(found.status == (count == 0 ? -25300 : 0) && found.array?.count ?? 0 == count, "\(tag)")
                guard count == 1 else { continue }
                let missing = isPublic ? key : try #require(SecKeyCopyPublicKey(key))
                bench.expect(0, bench.add(["v_Ref": missing, "atag": tag]), tag)
                #expect(bench.copying(query + wantsAll + wantsReference).array?.count == 2, "\(tag)")
            }
        },
        Vector(109, "a permanent pair is removed half by half") { bench in
            let parameters: [String: Any] = [
                "type": "73", "bsiz": 256, "private": ["perm": true], "public": ["perm": true],
            ]
            let key = try bench.generating(parameters)
            let publicKey = try #require(SecKeyCopyPublicKey(key))
            bench.expect(0, bench.delete(["v_Ref": key]))
            bench.expect(0, bench.delete(["v_Ref": publicKey]))
            bench.expect(-25300, bench.copy(["class": "keys"]))
        },
        Vector(110, "bytes that are not such a key") { _ in
            for pair in [try TestPair(key: ["-newkey", "rsa:2048"]), try TestPair()] {
                let type: Any = pair.secKey.isRSA ? "42" : "73"
                let halves = try [pair.secKey, pair.secPublicKey].map { try $0.externalRepresentation() }
                func key(_ data: Data, _ keyClass: String) -> SecKey? {
                    SecKeyCreateWithData(data as CFData, ["type": type, "kcls": keyClass] as CFDictionary, nil)
                }
                #expect(key(halves[0], "1") != nil && key(halves[1], "0") != nil)
                #expect(key(halves[0], "0") == nil && key(halves[1], "1") == nil)
                for (data, keyClass) in zip(halves, ["1", "0"]) {
                    var altered = data
                    altered[altered.startIndex] ^= 0x55
                    #expect(key(altered, keyClass) == nil)
                }
            }
        },
        Vector(111, "the attributes of both halves") { _ in
            let pair = try TestPair(key: ["-newkey", "rsa:2048"])
            let ofPrivate = try #require(SecKeyCopyAttributes(pair.secKey)) as NSDictionary
            let ofPublic = try #require(SecKeyCopyAttributes(pair.secPublicKey)) as NSDictionary
            func truth(_ attributes: NSDictionary, _ name: String) -> Bool? { attributes[name] as? Bool }
            for (name, expected) in [("encr", false), ("decr", true), ("drve", false), ("sign", true), ("vrfy", false)] {
                #expect(truth(ofPrivate, name) == expected, "\(name)")
            }
            #expect(truth(ofPublic, "encr") == true)
            #expect(ofPrivate["klbl"] as? Data == ofPublic["klbl"] as? Data && ofPublic["klbl"] is Data)
        },
        Vector(113, "a PKCS#12 file and its passphrase") { _ in
            let pair = try TestPair()
            let file = try PKCS12.write(
                key: pair.key, certificate: pair.certificate, chain: [], friendlyName: "n",
                passphrase: SecretBytes(utf8: "right"))
            let (status, items) = imported(file, ["passphrase": "right"])
            #expect(status == 0 && items?.count == 1)
            let item = items?.object(at: 0) as? NSDictionary
            #expect(item?["identity"] as? SecIdentity == pair.secIdentity)
            #expect((item?["chain"] as? [SecCertificate])?.first == pair.secCertificate)
        },
        Vector(114, "a PKCS#12 file and another passphrase, or none") { _ in
            let pair = try TestPair()
            let file = try PKCS12.write(
                key: pair.key, certificate: pair.certificate, chain: [], friendlyName: "n",
                passphrase: SecretBytes(utf8: "right"))
            #expect(imported(file, ["passphrase": "wrong"]).0 == -25293)
            #expect(imported(file, [:]).0 == -25293)
        },
        Vector(115, "a PKCS#12 file of garbage") { _ in
            #expect(imported(Data("no such file".utf8), ["passphrase": "x"]).0 == -26275)
            let file = try #require(garbageInside)
            #expect(imported(file, ["passphrase": "secret"]).0 == -26275)
            #expect(imported(file, ["passphrase": "other"]).0 == -25293)
        },
    ]
}

/// A PKCS#12 file of OpenSSL with a valid MAC, in which the certificate was replaced by garbage.
private let garbageInside = Data(
    base64Encoded: """
        MIIDHgIBAzCCAtQGCSqGSIb3DQEHAaCCAsUEggLBMIICvTCCAd4GCSqGSIb3DQEHAaCCAc8EggHLMIIBxzCCAcMGCyqGSIb3DQEMCgEDoIIBiz
        CCAYcGCiqGSIb3DQEJFgGgggF3BIIBcwswVXqfxOkOM1h9osfsETZbgKXK7xQ5XoOozfIXPGGGq9D1Gj9kia7T+B1CZ4yx1vsgRWqPtNn+I0ht
        krfcASZLcJW63wQpTnOYveIHLFF2m8DlCi9UeZ7D6A0yV3yhxusQNVp/pMnuEzhdgqfM8RY7YIWqz/QZPmOIrdL3HEFmi7DV+h9EaY6z2P0iR2
        yRttsAJUpvlLneAyhNcpe84QYrUHWav+QJLlN4ncLnDDFWe6DF6g80WX6jyO0SN1yBpsvwFTpfhKnO8xg9Yoes0fYbQGWKr9T5HkNojbLX/CFG
        a5C12v8kSW6TuN0CJ0xxlrvgBSpPdJm+4wgtUnecweYLMFV6n8TpDjNYfaLH7BE2W4Clyu8UOV6DqM3yFzxhhqvQ9Ro/ZImu0/gdQmeMsdb7IE
        Vqj7TZ/iNIbZK33AEmS3CVut8EKU5zmL3iByxRdpvA5QovVHmew+gNMld8ocbrEDVaf6TJ7hM4XYKnzPEWO2CFMSUwIwYJKoZIhvcNAQkVMRYE
        FADEaAw5NJPpPOamiSNHunJcmcaeMIHYBgkqhkiG9w0BBwGggcoEgccwgcQwgcEGCyqGSIb3DQEMCgEBoIGKMIGHAgEAMBMGByqGSM49AgEGCC
        qGSM49AwEHBG0wawIBAQQgi/WoDq5g9U4Yeki3lMOtd0s/i7gPUwTzp1p1pcJgOqqhRANCAASlutes7lW+uSKXFZxT9fWFEtwBjT22N5B6KxgA
        26529Tz5Coc4bzo5OFaLnoSzdhHbTqGuy+QtUlebVfoM/fLnMSUwIwYJKoZIhvcNAQkVMRYEFADEaAw5NJPpPOamiSNHunJcmcaeMEEwMTANBg
        lghkgBZQMEAgEFAAQguDIdMM/7hf/ErGrSUyMomi/P29CU/VGNqFC0zknBy5QECH3KM2PPLkLgAgIIAA==
        """, options: .ignoreUnknownCharacters)

/// Calls SecPKCS12Import.
private func imported(_ data: Data, _ options: [String: Any]) -> (OSStatus, NSArray?) {
    var items: CFArray?
    let status = unsafe SecPKCS12Import(data as CFData, options as CFDictionary, &items)
    return (status, items)
}

extension SecItemFixture {
    /// Stores a certificate and its key one after the other.
    func pairInHalves() throws -> TestPair {
        let pair = try TestPair()
        expect(0, add(["v_Ref": pair.secCertificate]))
        expect(0, add(["v_Ref": pair.secKey]))
        return pair
    }
}
