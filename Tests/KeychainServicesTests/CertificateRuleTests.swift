import Foundation
import KeyfobOpenSSL
import TestSupport
import Testing

@testable import KeychainServices

/// Certificates and the evaluation of trust.
@Suite struct CertificateRuleTests {
    /// A self-signed certificate of the `openssl` command.
    private func certificate(_ subject: String, _ names: String? = nil, days: Int = 30) throws -> SecCertificate {
        let directory = try TemporaryDirectory()
        var arguments = [
            "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-days", "\(days)",
            "-keyout", directory.file("key"), "-outform", "DER", "-out", directory.file("der"), "-subj", subject,
        ]
        if let names { arguments += ["-addext", "subjectAltName=\(names)"] }
        let made = try run("openssl", arguments, directory: directory.path)
        try #require(made.status == 0, "\(made.stderr)")
        return try #require(SecCertificateCreateWithData(nil, Data(try directory.read("der")) as CFData))
    }

    struct Summary: Sendable, CustomTestStringConvertible {
        let subject: String
        var names: String?
        let summary: String?
        var commonName: String?
        var addresses: [String] = []
        var testDescription: String { "\(subject) \(names ?? "")" }
    }

    @Test(arguments: [
        Summary(subject: "/C=DE/O=Org/OU=Unit/CN=Name", summary: "Name", commonName: "Name"),
        Summary(subject: "/CN=First/O=Org/CN=Last", summary: "Last, First", commonName: "Last"),
        Summary(subject: "/CN=Name/description=What", summary: "Name (What)", commonName: "Name"),
        Summary(subject: "/description=One/description=Two/CN=Name", summary: "Name (Two, One)", commonName: "Name"),
        Summary(subject: "/O=Org/OU=One/OU=Two", summary: "Two, One"),
        Summary(subject: "/C=DE/O=Org", summary: "Org"),
        Summary(subject: "/C=DE/L=Town", summary: "Town, DE"),
        Summary(subject: "/O=Org/description=What", summary: "Org"),
        Summary(subject: "/O=Org", names: "DNS:host.example,email:me@example.org", summary: "me@example.org", addresses: ["me@example.org"]),
        Summary(subject: "/O=Org", names: "DNS:host.example,DNS:other.example", summary: "host.example"),
        Summary(subject: "/O=Org/emailAddress=me@example.org", summary: "me@example.org", addresses: ["me@example.org"]),
        Summary(
            subject: "/CN=Name/emailAddress=b@example.org", names: "email:a@example.org", summary: "Name", commonName: "Name",
            addresses: ["a@example.org", "b@example.org"]),
        Summary(subject: "/", names: "DNS:host.example", summary: "host.example"),
        Summary(subject: "/", summary: nil),
    ])
    func `the summary of a certificate is its most specific name`(row: Summary) throws {
        let certificate = try certificate(row.subject, row.names)
        #expect(SecCertificateCopySubjectSummary(certificate) as String? == row.summary)
        var name: CFString?
        #expect(unsafe SecCertificateCopyCommonName(certificate, &name) == (row.commonName == nil ? errSecInternal : 0))
        #expect(name as String? == row.commonName)
        var addresses: CFArray?
        #expect(unsafe SecCertificateCopyEmailAddresses(certificate, &addresses) == errSecSuccess)
        #expect(addresses as? [String] == row.addresses)
        // The label of a certificate that is added by reference.
        let bench = try SecItemFixture()
        let added = bench.adding(["v_Ref": certificate] + wantsAttributes).dictionary
        #expect(added?["labl"] as? String == row.summary)
    }

    // MARK: Trust

    struct Host: Sendable, CustomTestStringConvertible {
        let names: String
        let host: String
        let isRight: Bool
        var testDescription: String { "\(host) for \(names)" }
    }

    @Test(arguments: [
        Host(names: "DNS:www.example.org", host: "www.example.org", isRight: true),
        Host(names: "DNS:www.example.org", host: "WWW.Example.ORG", isRight: true),
        Host(names: "DNS:www.example.org", host: "www.example.org.", isRight: true),
        Host(names: "DNS:www.example.org", host: "example.org", isRight: false),
        Host(names: "DNS:*.example.org", host: "www.example.org", isRight: true),
        Host(names: "DNS:*.example.org", host: "example.org", isRight: false),
        Host(names: "DNS:*.example.org", host: "a.b.example.org", isRight: false),
        Host(names: "DNS:*.example.org", host: ".example.org", isRight: false),
        Host(names: "DNS:*.org", host: "example.org", isRight: false),
        Host(names: "IP:192.0.2.1", host: "192.0.2.1", isRight: true),
        Host(names: "IP:192.0.2.1", host: "192.0.2.2", isRight: false),
        Host(names: "IP:2001:db8::1", host: "2001:db8::1", isRight: true),
        Host(names: "IP:2001:db8::1", host: "2001:db8:0:0:0:0:0:1", isRight: true),
        Host(names: "DNS:192.0.2.1", host: "192.0.2.1", isRight: false),
    ])
    func `a server has the names of its certificate`(row: Host) throws {
        let certificate = try certificate("/CN=www.example.com", row.names)
        // A policy for a client may have a name too.
        for isServer in [true, false] {
            var made: SecTrust?
            let policy = SecPolicyCreateSSL(isServer, row.host as CFString)
            #expect(unsafe SecTrustCreateWithCertificates(certificate, policy, &made) == 0)
            let trust = try #require(made)
            SecTrustSetAnchorCertificates(trust, [certificate] as CFArray)
            var error: CFError?
            #expect(unsafe SecTrustEvaluateWithError(trust, &error) == row.isRight, "\(isServer)")
            #expect(error?.code == (row.isRight ? nil : Int(errSecHostNameMismatch)), "\(isServer)")
        }
    }

    @Test(arguments: [
        (["h.example"], true), (["other.example", "h.example"], true), (["other.example", "third.example"], false),
        ([], true),
    ] as [([String], Bool)])
    func `one matching name of a policy suffices`(row: (names: [String], isRight: Bool)) throws {
        let certificate = try certificate("/CN=n", "DNS:h.example,email:h.example")
        for identifier in [kSecPolicyAppleEAP, kSecPolicyAppleSSL, kSecPolicyAppleSMIME] {
            let properties: NSDictionary = [kSecPolicyName: row.names]
            let policy = try #require(SecPolicyCreateWithProperties(identifier, properties))
            var made: SecTrust?
            unsafe SecTrustCreateWithCertificates(certificate, policy, &made)
            let trust = try #require(made)
            SecTrustSetAnchorCertificates(trust, [certificate] as CFArray)
            var error: CFError?
            #expect(unsafe SecTrustEvaluateWithError(trust, &error) == row.isRight, "\(identifier)")
            let status = identifier == kSecPolicyAppleSMIME ? errSecSMIMEEmailAddressesNotFound : errSecHostNameMismatch
            #expect(error?.code == (row.isRight ? nil : Int(status)))
            let bench = try SecItemFixture()
            bench.expect(0, bench.add(["v_Ref": certificate]))
            bench.expect(row.isRight ? 0 : -25300, bench.copy(["class": "cert", "m_Policy": policy]))
            let copied = try #require(SecPolicyCopyProperties(policy))
            #expect(SecPolicyCreateWithProperties(identifier, copied) == policy)
            // An exception covers all names of the policy.
            if !row.isRight { #expect(SecTrustSetExceptions(trust, SecTrustCopyExceptions(trust)) && isTrusted(trust)) }
        }
        #expect(SecPolicyCreateWithProperties(kSecPolicyAppleSSL, [kSecPolicyName: [7]] as CFDictionary) == nil)
    }

    @Test(arguments: [
        (["DigitalSignature"], true), (["DigitalSignature", "CRLSign"], true), (["KeyAgreement"], true),
        (["KeyEncipherment"], false), ([], true),
        (["DataEncipherment", "KeyCertSign", "CRLSign", "EncipherOnly", "DecipherOnly", "NonRepudiation"], false),
    ] as [([String], Bool)])
    func `a policy names the purpose of a key`(row: (usages: [String], isRight: Bool)) throws {
        let directory = try TemporaryDirectory()
        func certificate(_ more: [String]) throws -> SecCertificate {
            let made = try run(
                "openssl", ["req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
                    + ["-subj", "/CN=u"] + more + ["-keyout", directory.file("key"), "-outform", "DER", "-out", directory.file("der")])
            try #require(made.status == 0, "\(made.stderr)")
            return try #require(SecCertificateCreateWithData(nil, Data(try directory.read("der")) as CFData))
        }
        let properties = Dictionary(uniqueKeysWithValues: row.usages.map { ("CE_KU_\($0)", true) })
        let policy = try #require(SecPolicyCreateWithProperties(kSecPolicyAppleSMIME, properties as CFDictionary))
        #expect(SecPolicyCreateWithProperties(kSecPolicyAppleSMIME, SecPolicyCopyProperties(policy)) == policy)
        for (more, isRight) in [
            (["-addext", "keyUsage=digitalSignature,keyAgreement"], row.isRight), ([], row.usages.isEmpty),
        ] as [([String], Bool)] {
            let certificate = try certificate(more)
            var made: SecTrust?
            unsafe SecTrustCreateWithCertificates(certificate, policy, &made)
            let trust = try #require(made)
            SecTrustSetAnchorCertificates(trust, [certificate] as CFArray)
            var error: CFError?
            #expect(unsafe SecTrustEvaluateWithError(trust, &error) == isRight)
            #expect(error?.code == (isRight ? nil : Int(errSecInvalidKeyUsageForPolicy)))
            let bench = try SecItemFixture()
            bench.expect(0, bench.add(["v_Ref": certificate]))
            bench.expect(isRight ? 0 : -25300, bench.copy(["class": "cert", "m_Policy": policy]))
            if !isRight { #expect(SecTrustSetExceptions(trust, SecTrustCopyExceptions(trust)) && isTrusted(trust)) }
        }
    }

    /// A trust object whose certificate is for another host, or expired.
    private func trust(_ host: String, days: Double = 0) throws -> SecTrust {
        let certificate = try Authority.certificate("leaf")
        let chain = [certificate, try Authority.certificate("intermediate")] as CFArray
        var made: SecTrust?
        #expect(unsafe SecTrustCreateWithCertificates(chain, SecPolicyCreateSSL(true, host as CFString), &made) == 0)
        let trust = try #require(made)
        SecTrustSetAnchorCertificates(trust, [try Authority.certificate("root")] as CFArray)
        SecTrustSetVerifyDate(trust, Date().addingTimeInterval(days * 86400) as CFDate)
        return trust
    }

    @Test func `an exception excuses one failure of one certificate for one use`() throws {
        let first = try trust("other.example")
        var result = SecTrustResultType.invalid
        #expect(unsafe SecTrustEvaluate(first, &result) == errSecSuccess && result == .recoverableTrustFailure)
        let exceptions = try #require(SecTrustCopyExceptions(first) as Data?) as CFData
        #expect(SecTrustSetExceptions(first, exceptions))
        #expect(isTrusted(first))
        #expect(unsafe SecTrustGetTrustResult(first, &result) == errSecSuccess && result == .proceed)
        #expect(SecTrustCopyExceptions(first) == exceptions)
        let again = try trust("other.example")
        #expect(SecTrustSetExceptions(again, exceptions) && isTrusted(again))
        #expect(!SecTrustSetExceptions(again, nil) && !isTrusted(again))
        // Another host, another failure, another certificate, and random bytes.
        let elsewhere = try trust("third.example")
        #expect(SecTrustSetExceptions(elsewhere, exceptions) && !isTrusted(elsewhere))
        let late = try trust("other.example", days: 25)
        #expect(SecTrustSetExceptions(late, exceptions))
        var error: CFError?
        #expect(unsafe !SecTrustEvaluateWithError(late, &error) && error?.code == Int(errSecCertificateExpired))
        // An exception with both failures covers both.
        let both = try #require(SecTrustCopyExceptions(late) as Data?)
        #expect(SecTrustSetExceptions(late, both as CFData) && isTrusted(late))
        var made: SecTrust?
        let own = try Authority.certificate("own")
        #expect(unsafe SecTrustCreateWithCertificates(own, nil, &made) == 0)
        let another = try #require(made)
        #expect(!SecTrustSetExceptions(another, exceptions))
        for wrong in [Data(), Data(count: 64), Data(count: 68), Data(count: 69)] { #expect(!SecTrustSetExceptions(first, wrong as CFData)) }
        // An untrusted root is accepted, and so is a host mismatch.
        for (host, isAccepted) in [("web.example", true), ("other.example", true)] {
            let strange = try self.trust(host)
            SecTrustSetAnchorCertificates(strange, [] as CFArray)
            #expect(!isTrusted(strange))
            #expect(SecTrustSetExceptions(strange, SecTrustCopyExceptions(strange)) && isTrusted(strange) == isAccepted)
            SecTrustSetVerifyDate(strange, Date().addingTimeInterval(25 * 86400) as CFDate)
            #expect(!isTrusted(strange))
        }
        // A trusted certificate needs no exception, and gives the usual result.
        let fine = try trust("web.example")
        #expect(SecTrustSetExceptions(fine, SecTrustCopyExceptions(fine)) && isTrusted(fine))
        #expect(unsafe SecTrustGetTrustResult(fine, &result) == errSecSuccess && result == .unspecified)
    }

    @Test func `a queue gives the same result as the caller's thread`() async throws {
        for (host, code) in [("web.example", nil), ("other.example", Int(errSecHostNameMismatch))] as [(String, Int?)] {
            let trust = try trust(host)
            let answer = await withCheckedContinuation { continuation in
                SecTrustEvaluateAsyncWithError(trust, DispatchQueue(label: "trust")) { same, isTrusted, error in
                    continuation.resume(returning: same === trust && isTrusted == (error == nil) ? error?.code ?? 0 : -1)
                }
            }
            #expect(answer == code ?? 0)
        }
    }

    /// One field of SecCertificateCopyValues.
    private func value(_ certificate: SecCertificate, _ key: CFString) -> NSObject? {
        let values = SecCertificateCopyValues(certificate, [key] as CFArray, nil) as? [CFString: [CFString: Any]]
        #expect(values?.keys.allSatisfy { $0 == key } == true)
        return values?[key]?[kSecPropertyKeyValue] as? NSObject
    }

    @Test func `the values of a certificate are returned by the requested keys`() throws {
        let certificate = try certificate(
            "/C=DE/O=Org/CN=One/CN=Two", "critical,DNS:host.example,email:me@example.org,IP:127.0.0.1,URI:https://host.example")
        for (key, date) in [
            (kSecOIDX509V1ValidityNotBefore, SecCertificateCopyNotValidBeforeDate(certificate)),
            (kSecOIDX509V1ValidityNotAfter, SecCertificateCopyNotValidAfterDate(certificate)),
        ] {
            // Read in the way that code for macOS does.
            let seconds = (value(certificate, key) as? NSNumber)?.doubleValue
            #expect(seconds.map { Date(timeIntervalSinceReferenceDate: $0) } == date as Date?)
        }
        let names = value(certificate, kSecOIDX509V1SubjectName) as? [[CFString: String]]
        #expect(names?.map { $0[kSecPropertyKeyLabel] } == ["2.5.4.6", "2.5.4.10", "2.5.4.3", "2.5.4.3"])
        #expect(names?.map { $0[kSecPropertyKeyValue] } == ["DE", "Org", "One", "Two"])
        let all = SecCertificateCopyValues(certificate, nil, nil) as? [CFString: [CFString: Any]]
        #expect(all?.mapValues { $0[kSecPropertyKeyLabel] as? String } == [
            kSecOIDX509V1Version: "Version", kSecOIDX509V1SerialNumber: "Serial Number",
            kSecOIDX509V1IssuerName: "Issuer Name", kSecOIDX509V1SubjectName: "Subject Name",
            kSecOIDX509V1ValidityNotBefore: "Not Valid Before", kSecOIDX509V1ValidityNotAfter: "Not Valid After",
            kSecOIDCommonName: "CN", kSecOIDEmailAddress: "Email Addresses",
            kSecOIDSubjectAltName: "Subject Alternative Name",
        ])
        #expect(value(certificate, kSecOIDX509V1IssuerName) == value(certificate, kSecOIDX509V1SubjectName))
        #expect(value(certificate, kSecOIDCommonName) as? [String] == ["One", "Two"])
        #expect(value(certificate, kSecOIDEmailAddress) as? [String] == ["me@example.org"])
        #expect(value(certificate, kSecOIDX509V1Version) as? String == "3")
        let serialNumber = try #require(SecCertificateCopySerialNumberData(certificate, nil) as Data?)
        let text = value(certificate, kSecOIDX509V1SerialNumber) as? String
        #expect(text?.split(separator: " ").compactMap { UInt8($0, radix: 16) } == [UInt8](serialNumber))
        let alternatives = value(certificate, kSecOIDSubjectAltName) as? [[CFString: String]]
        #expect(alternatives?.map { $0[kSecPropertyKeyLabel] } == ["Critical", "DNS Name", "Email Address", "IP Address", "URI"])
        #expect(alternatives?.map { $0[kSecPropertyKeyValue] } == [
            "Yes", "host.example", "me@example.org", "127.0.0.1", "https://host.example",
        ])
        #expect(SecCertificateCopyValues(certificate, nil, nil)?.count == 9)
        #expect(SecCertificateCopyValues(certificate, ["1.2.3", 7] as CFArray, nil)?.count == 0)
    }

    @Test func `a field that a certificate does not have is not among its values`() throws {
        let values = SecCertificateCopyValues(try certificate("/O=Org"), nil, nil) as? [CFString: [CFString: Any]]
        #expect(values?.count == 6 && values?[kSecOIDCommonName] == nil && values?[kSecOIDSubjectAltName] == nil)
        for property in (values ?? [:]).values {
            #expect(property[kSecPropertyKeyType] is String && property[kSecPropertyKeyValue] != nil)
            #expect(property[kSecPropertyKeyLabel] as? String == property[kSecPropertyKeyLocalizedLabel] as? String)
        }
    }
}
