import Foundation
import KeyfobOpenSSL
import KeyfobTesting
import Keyfob
import Testing

@testable import KeychainServices

extension Vector {
    /// Add, duplicates, value types.
    static let groupA: [Vector] = [
        Vector(1, "add a generic password") { bench in
            let answer = bench.adding(genp("a", "s", ["v_Data": Data("x".utf8), "pdmn": "ck"]) + wantsAttributes)
            #expect(answer.status == 0 && answer.dictionary != nil)
            #expect(answer.dictionary?["pdmn"] as? String == "ck")
        },
        Vector(2, "add it twice") { bench in
            bench.expect(0, bench.add(genp("a", "s")))
            bench.expect(-25299, bench.add(genp("a", "s")))
        },
        Vector(3, "another account of the service") { bench in
            bench.expect(0, bench.add(genp("a1", "s")))
            bench.expect(0, bench.add(genp("a2", "s")))
        },
        Vector(5, "an internet password, twice") { bench in
            let item: [String: Any] = [
                "class": "inet", "srvr": "h", "acct": "a", "port": 80, "ptcl": "http", "atyp": "dflt",
                "v_Data": Data("pw".utf8),
            ]
            bench.expect(0, bench.add(item))
            bench.expect(-25299, bench.add(item))
        },
        Vector(6, "a certificate by reference, twice") { bench in
            let pair = try TestPair()
            bench.expect(0, bench.add(["v_Ref": pair.secCertificate]))
            bench.expect(-25299, bench.add(["v_Ref": pair.secCertificate]))
        },
        Vector(7, "remove a certificate by reference") { bench in
            let pair = try TestPair()
            bench.expect(0, bench.add(["v_Ref": pair.secCertificate]))
            bench.expect(0, bench.delete(["v_Ref": pair.secCertificate]))
            bench.expect(-25300, bench.delete(["v_Ref": pair.secCertificate]))
        },
        Vector(9, "a certificate's persistent reference gives its data without a class") { bench in
            let pair = try TestPair()
            let added = bench.adding(["v_Ref": pair.secCertificate] + wantsPersistent)
            let reference = try #require(added.data)
            #expect(reference.count == 20 && reference.prefix(4) == Data("cert".utf8))
            #expect(bench.copying(["v_PersistentRef": reference] + wantsData).data == pair.certificate.der)
        },
        Vector(10, "adding a certificate returns a reference") { bench in
            let pair = try TestPair()
            let answer = bench.adding(["v_Ref": pair.secCertificate] + wantsReference)
            #expect(answer.status == 0 && (answer.value as? SecCertificate) == pair.secCertificate)
        },
        Vector(11, "adding a certificate returns its data") { bench in
            let pair = try TestPair()
            #expect(bench.adding(["v_Ref": pair.secCertificate] + wantsData).data == pair.certificate.der)
        },
        Vector(13, "adding a certificate returns everything") { bench in
            let pair = try TestPair()
            let answer = bench.adding(
                ["v_Ref": pair.secCertificate] + wantsData + wantsAttributes + wantsReference + wantsPersistent)
            let found = try #require(answer.dictionary)
            #expect(found["v_Data"] as? Data == pair.certificate.der)
            #expect(found["v_Ref"] as? SecCertificate == pair.secCertificate)
            #expect(found["class"] as? String == "cert")
            #expect(found["ctyp"] as? Int == 3 && found["cenc"] as? Int == 3)
            #expect((found["sha1"] as? Data)?.count == 20)
            #expect(found["labl"] as? String == "example.org")
            let reference = try #require(found["v_PersistentRef"] as? Data)
            bench.expect(0, bench.copy(["v_PersistentRef": reference]))
        },
        Vector(14, "a certificate has no application tag") { bench in
            let pair = try TestPair()
            bench.expect(-25303, bench.add(["v_Ref": pair.secCertificate, "atag": "t"]))
        },
        Vector(15, "an application tag removes no certificate") { bench in
            bench.expect(-25303, bench.delete(["class": "cert", "atag": "t"]))
        },
        Vector(17, "private keys are added and removed by reference") { bench in
            for key in [try TestPair().secKey, try TestPair(key: ["-newkey", "rsa:2048"]).secKey] {
                bench.expect(0, bench.add(["v_Ref": key]))
                bench.expect(0, bench.delete(["v_Ref": key]))
                bench.expect(-25300, bench.delete(["v_Ref": key]))
            }
        },
        Vector(18, "public keys are added and removed by reference") { bench in
            for key in [try TestPair().secPublicKey, try TestPair(key: ["-newkey", "rsa:2048"]).secPublicKey] {
                bench.expect(0, bench.add(["v_Ref": key]))
                bench.expect(-25299, bench.add(["v_Ref": key]))
                bench.expect(0, bench.delete(["v_Ref": key]))
            }
        },
        Vector(19, "an added key returns its data") { bench in
            for pair in [try TestPair(), try TestPair(key: ["-newkey", "rsa:2048"])] {
                for key in [pair.secKey, pair.secPublicKey] {
                    let expected = try key.externalRepresentation()
                    let added = bench.adding(["v_Ref": key] + wantsPersistent)
                    bench.expect(0, added.status)
                    let reference = try #require(added.data)
                    #expect(bench.copying(["v_PersistentRef": reference] + wantsData).data == expected)
                    #expect(bench.copying(["v_Ref": key] + wantsData).data == expected)
                }
            }
        },
        Vector(21, "an access control that is a string") { bench in
            bench.expect(-50, bench.add(genp("a", "s", ["accc": "ak"])))
            bench.expect(-50, bench.delete(genp("a", "s", ["accc": "ak"])))
        },
        Vector(22, "the internal attribute clip") { bench in
            bench.expect(0, bench.add(genp("a", "s")))
            bench.expect(-50, bench.add(genp("b", "s", ["clip": true])))
            bench.expect(-50, bench.copy(genp("a", "s", ["clip": true])))
            bench.expect(-50, bench.update(genp("a", "s", ["clip": true]), ["labl": "x"]))
            bench.expect(-50, bench.update(genp("a", "s"), ["clip": true]))
            bench.expect(-50, bench.delete(genp("a", "s", ["clip": true])))
            bench.expect(0, bench.copy(genp("a", "s")))
        },
        Vector(23, "a password by a reference to something else") { bench in
            bench.expect(-50, bench.add(["class": "genp", "v_Ref": NSObject()]))
            bench.expect(-50, bench.add(["class": "inet", "v_Ref": try TestPair().secCertificate]))
        },
        Vector(25, "a server given as bytes is returned as bytes") { bench in
            let server = Data("host".utf8)
            bench.expect(0, bench.add(["class": "inet", "srvr": server, "labl": "l"]))
            let found = bench.copying(["class": "inet", "labl": "l"] + wantsAttributes)
            #expect(found.dictionary?["srvr"] as? Data == server)
            #expect(found.dictionary?["srvr"] as? String == nil)
            bench.expect(-25299, bench.add(["class": "inet", "srvr": "host"]))
        },
        Vector(26, "a password has no reference") { bench in
            let answer = bench.adding(genp("a", "s") + wantsReference)
            #expect(answer.status == 0 && answer.value == nil)
        },
        Vector(27, "rows of bare attributes, of four classes") { bench in
            for number in 0..<8 {
                for item in bareItems(number) { bench.expect(0, bench.add(item), "\(item)") }
                for item in bareItems(number) { bench.expect(-25299, bench.add(item), "\(item)") }
            }
            for itemClass in ["cert", "keys", "inet", "genp"] {
                #expect(bench.copying(["class": itemClass] + wantsAttributes + wantsAll).array?.count == 8)
            }
        },
    ]
}

/// One row of each class with only primary key attributes.
func bareItems(_ number: Int) -> [[String: Any]] {
    [
        ["class": "cert", "ctyp": number, "issr": Data("issuer \(number)".utf8), "slnr": Data([UInt8(number)])],
        [
            "class": "keys", "kcls": number, "klbl": Data("label \(number)".utf8), "atag": "tag \(number)",
            "crtr": number, "type": number, "bsiz": number, "esiz": number,
            "sdat": Date(timeIntervalSinceReferenceDate: Double(number)),
            "edat": Date(timeIntervalSinceReferenceDate: Double(number + 1)),
        ],
        [
            "class": "inet", "acct": "a\(number)", "sdmn": "d\(number)", "srvr": "s\(number)", "ptcl": number,
            "atyp": "t\(number)", "port": number, "path": "p\(number)",
        ],
        ["class": "genp", "acct": "a\(number)", "svce": "s\(number)"],
    ]
}
