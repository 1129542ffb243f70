import Foundation
import KeyfobOpenSSL
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
        Vector(46, "a policy for mail and a date") { bench in
            _ = try bench.sixCertificates()
            let mail = try bench.policy(kSecPolicyAppleSMIME)
            let found = bench.copying(
                ["class": "cert", "m_Policy": mail, "m_ValidOnDate": Date()] + wantsAll + wantsReference)
            #expect(found.array?.count == 2)
        },
        Vector(47, "a policy for mail with a name") { bench in
            _ = try bench.sixCertificates()
            for name in ["one@example.org", "two@example.org"] {
                let mail = try bench.policy(kSecPolicyAppleSMIME, name)
                #expect(bench.copying(["class": "cert", "m_Policy": mail] + wantsAll + wantsReference).array?.count == 1)
            }
        },
        Vector(49, "a policy for TLS, with and without a name") { bench in
            _ = try bench.sixCertificates()
            for (isServer, name, count) in [
                (true, nil, 2), (false, nil, 2), (true, "server1.example.org", 1), (true, "server2.example.org", 1),
            ] {
                let policy = SecPolicyCreateSSL(isServer, name.map { $0 as CFString })
                let found = bench.copying(["class": "cert", "m_Policy": policy] + wantsAll + wantsReference)
                #expect(found.array?.count == count)
            }
        },
        Vector(50, "certificates that do not lead to the system's authorities") { bench in
            _ = try bench.sixCertificates()
            let found = bench.copying(["class": "cert", "m_TrustedOnly": true] + wantsAll + wantsReference)
            #expect(found.status == -25300 && !found.isTouched)
            bench.expect(0, bench.copy(["class": "cert", "m_TrustedOnly": false]))
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
        Vector(57, "a subject together with a policy, and with a date") { bench in
            _ = try bench.sixCertificates()
            let policy = SecPolicyCreateSSL(true, "server1.example.org" as CFString)
            let subject: [String: Any] = ["class": "cert", "m_SubjectContains": "server"]
            #expect(bench.copying(subject + wantsAll + wantsReference).array?.count == 2)
            #expect(bench.copying(subject + ["m_Policy": policy] + wantsAll + wantsReference).array?.count == 1)
            #expect(bench.copying(subject + ["m_ValidOnDate": NSNull()] + wantsAll + wantsReference).array?.count == 2)
            let past = Date(timeIntervalSinceNow: -86400 * 365)
            bench.expect(-25300, bench.copy(subject + ["m_ValidOnDate": past]))
        },
        Vector(58, "a list of items together with a policy") { bench in
            let certificates = try bench.sixCertificates()
            let preferred = [certificates[3], certificates[5]]
            let query: [String: Any] = [
                "class": "cert", "m_ItemList": preferred, "m_Policy": SecPolicyCreateSSL(true, nil),
                "m_Limit": "m_LimitOne",
            ]
            #expect(bench.copying(query + wantsReference).value as? SecCertificate == certificates[3])
        },
    ]
}

extension SecItemFixture {
    /// Creates a policy from its identifier.
    func policy(_ identifier: CFString, _ name: String? = nil) throws -> SecPolicy {
        let properties = name.map { [kSecPolicyName: $0] as CFDictionary }
        let policy = SecPolicyCreateWithProperties(identifier, properties)
        return try #require(policy)
    }

    /// Stores six certificates: two for mail, two for servers, and two without a purpose.
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
