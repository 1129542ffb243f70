import Foundation
import OpenSSL
import KeyfobTesting
import Keyfob
import Testing

@testable import KeychainServices

extension Vector {
    /// Match filters.
    static let groupC: [Vector] = [
        Vector(45, "all certificates") { bench in
            _ = try bench.sixCertificates()
            #expect(bench.copying(["class": "cert"] + wantsAll + wantsReference).array?.count == 6)
        },
        Vector(51, "a date at which certificates are valid") { bench in
            _ = try bench.sixCertificates()
            func count(_ date: Any) -> Int? {
                let answer = bench.copying(["class": "cert", "m_ValidOnDate": date] + wantsAll + wantsReference)
                return answer.isTouched ? answer.array?.count : answer.status == -25300 ? 0 : nil
            }
            #expect(count(Date()) == 6 && count(NSNull()) == 6)
            #expect(count(Date(timeIntervalSinceNow: -86400)) == 0)
            #expect(count(Date(timeIntervalSinceNow: 86400 * 400)) == 0)
        },
        Vector(53, "certificates of an issuer") { bench in
            let certificates = try bench.sixCertificates()
            let issuer = certificates[0].certificate.issuer.der
            let found = bench.copying(["class": "cert", "m_Limit": 0x7FFF, "m_Issuers": [issuer]] + wantsReference)
            #expect(found.array?.count == 1)
            bench.expect(-4, bench.copy(["class": "genp", "m_Issuers": [issuer]]))
        },
        Vector(54, "an address that no certificate has") { bench in
            bench.expect(0, bench.add(["v_Ref": try TestPair().secCertificate]))
            for address in ["nobody@example.org", ""] {
                let query: [String: Any] = ["class": "cert", "m_EmailAddressIfPresent": address]
                bench.expect(-25300, bench.copying(query + wantsAll + wantsReference).status)
            }
        },
        Vector(55, "a host in a domain") { bench in
            bench.expect(0, bench.add(["class": "inet", "srvr": "origin.example.com"]))
            for (host, status) in [
                ("example.com", 0), ("origin.example.com", 0), ("foobar.com", -25300), ("ample.com", -25300),
            ] {
                bench.expect(
                    OSStatus(status), bench.copy(["class": "inet", "m_HostOrSubdomainOfHost": host]), host)
            }
            bench.expect(-4, bench.copy(["class": "genp", "m_HostOrSubdomainOfHost": "example.com"]))
        },
    ]
}

extension ItemBench {
    /// Six certificates, stored: two for mail, two for servers, and two for nothing in particular.
    func sixCertificates() throws -> [SecCertificate] {
        let mail = ["-addext", "extendedKeyUsage=emailProtection", "-addext", "keyUsage=digitalSignature"]
        let server = ["-addext", "extendedKeyUsage=serverAuth,clientAuth"]
        let pairs = [
            try TestPair("Mail 1", mail + ["-addext", "subjectAltName=email:one@example.org"]),
            try TestPair("Mail 2", mail + ["-addext", "subjectAltName=email:two@example.org"]),
            try TestPair("server1.example.org", server + ["-addext", "subjectAltName=DNS:server1.example.org"]),
            try TestPair("server2.example.org", server + ["-addext", "subjectAltName=DNS:server2.example.org"]),
            try TestPair("Code 1", ["-addext", "extendedKeyUsage=codeSigning"]),
            try TestPair("Code 2", ["-addext", "extendedKeyUsage=codeSigning"]),
        ]
        for pair in pairs { expect(0, add(["v_Ref": pair.secCertificate])) }
        return pairs.map(\.secCertificate)
    }
}
