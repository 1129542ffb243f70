import Dispatch
import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL
import TestSupport
import Testing

@testable import KeychainServices

/// The anchors and certificates that an evaluation uses, according to SecTrust.h.
@Suite struct TrustRuleTests {
    private func trust(
        _ names: [String], anchors: [String]?, _ policy: SecPolicy = SecPolicyCreateBasicX509()
    ) throws -> SecTrust {
        var made: SecTrust?
        unsafe SecTrustCreateWithCertificates(
            try names.map { try Authority.certificate($0) } as CFArray, policy, &made)
        let trust = try #require(made)
        if let anchors {
            SecTrustSetAnchorCertificates(trust, try anchors.map { try Authority.certificate($0) } as CFArray)
        }
        return trust
    }

    @Test func `anchors that are set afterwards are used alone again`() throws {
        var system: CFArray?
        #expect(unsafe SecTrustCopyAnchorCertificates(&system) == errSecSuccess)
        let now = Date()
        let root = try #require(system?.compactMap { $0 as? SecCertificate }.first { $0.certificate.isValid(on: now) })
        var made: SecTrust?
        unsafe SecTrustCreateWithCertificates(root, SecPolicyCreateBasicX509(), &made)
        let trust = try #require(made)
        let own = [try Authority.certificate("own")] as CFArray
        #expect(isTrusted(trust))
        SecTrustSetAnchorCertificatesOnly(trust, false)
        SecTrustSetAnchorCertificates(trust, own)
        #expect(!isTrusted(trust))
        SecTrustSetAnchorCertificatesOnly(trust, false)
        #expect(isTrusted(trust))
        SecTrustSetAnchorCertificatesOnly(trust, true)
        SecTrustSetAnchorCertificates(trust, nil)
        #expect(isTrusted(trust))
    }

    @Test(arguments: [
        (Double.infinity, errSecCertificateExpired), (1e300, errSecCertificateExpired), (1e15, errSecCertificateExpired),
        (-Double.infinity, errSecCertificateNotValidYet), (-1e300, errSecCertificateNotValidYet),
        (-1e15, errSecCertificateNotValidYet), (Double.nan, errSecCertificateNotValidYet),
    ])
    func `at a date beyond all calendars no certificate is valid`(row: (seconds: Double, status: OSStatus)) throws {
        let trust = try trust(["leaf", "intermediate"], anchors: ["root"])
        SecTrustSetVerifyDate(trust, NSDate(timeIntervalSinceReferenceDate: row.seconds))
        var error: CFError?
        #expect(unsafe !SecTrustEvaluateWithError(trust, &error))
        #expect(error?.code == Int(row.status))
        #expect(SecTrustCopyExceptions(trust) != nil)
        var result = SecTrustResultType.proceed
        #expect(unsafe SecTrustEvaluate(trust, &result) == errSecSuccess && result == .recoverableTrustFailure)
    }

    @Test func `a value that is not a number is not a size`() throws {
        for number in [Double.nan, .infinity, -.infinity, 1e300, -1, 2048.5] as [Double] {
            let size = NSNumber(value: number)
            var error: Unmanaged<CFError>?
            let pair = unsafe SecKeyCreateRandomKey(
                [kSecAttrKeyType: kSecAttrKeyTypeRSA, kSecAttrKeySizeInBits: size] as CFDictionary, &error)
            #expect(pair == nil)
            #expect(unsafe error?.takeRetainedValue().code == Int(errSecKeySizeNotAllowed), "\(number)")
            let key = try KeyFixture.key(.p256, .memory)
            var second: Unmanaged<CFError>?
            let secret = unsafe SecKeyCopyKeyExchangeResult(
                key, .ecdhKeyExchangeStandardX963SHA256, try #require(SecKeyCopyPublicKey(key)),
                [SecKeyKeyExchangeParameter.requestedSize.rawValue: size] as CFDictionary, &second)
            #expect(secret == nil)
            #expect(unsafe second?.takeRetainedValue().code == Int(errSecParam), "\(number)")
            let policy = SecPolicyCreateWithProperties(
                kSecPolicyAppleRevocation, [kSecPolicyRevocationFlags: size] as CFDictionary)
            #expect(policy != nil)
        }
    }

    @Test func `the error of an earlier evaluation does not stay`() throws {
        var error: CFError?
        #expect(unsafe try !SecTrustEvaluateWithError(trust(["leaf"], anchors: []), &error))
        #expect(error != nil)
        #expect(unsafe try SecTrustEvaluateWithError(trust(["leaf", "intermediate"], anchors: ["root"]), &error))
        #expect(error == nil)
    }

    @Test func `a certificate trusted through the keychain's certificates is found as trusted`() throws {
        let bench = try SecItemFixture()
        let trusted: [String: Any] = ["class": "cert", "labl": "web.example", "m_TrustedOnly": true]
        bench.expect(0, bench.add(["v_Ref": try Authority.certificate("leaf")]))
        try bench.keychain.trust.add(Authority.certificate("root").certificate)
        bench.expect(-25300, bench.copy(trusted))
        bench.expect(0, bench.add(["v_Ref": try Authority.certificate("intermediate")]))
        bench.expect(0, bench.copy(trusted))
    }

    @Test func `an evaluation on a queue has the keychain and groups of the calling block`() throws {
        let bench = try SecItemFixture()
        bench.groups = ["one"]
        bench.expect(0, bench.add(["v_Ref": try Authority.certificate("intermediate")]))
        let keychain = bench.keychain
        let trusts = try (0..<2).map { _ in try trust(["leaf"], anchors: ["root"]) }
        let found = Lock<[Bool]>([])
        let group = DispatchGroup()
        let queue = DispatchQueue(label: "evaluations")
        @Sendable func take(_ isTrusted: Bool) {
            let isSame = (try? currentKeychain()) === keychain
            found.withLock { $0 += [isTrusted, isSame] }
            group.leave()
        }
        for _ in trusts { group.enter() }
        bench.use {
            SecTrustEvaluateAsync(trusts[0], queue) { take($1 == .unspecified) }
            SecTrustEvaluateAsyncWithError(trusts[1], queue) { take($1 && $2 == nil) }
        }
        group.wait()
        #expect(found.withLock { $0 } == [true, true, true, true])
    }

    @Test func `a certificate that libcrypto cannot read is not trusted, and hides no trusted one`() throws {
        let bench = try SecItemFixture()
        try bench.keychain.trust.add(Authority.certificate("root").certificate)
        var der = [UInt8](try TestPair("broken").certificate.der)
        // Makes the signature algorithm an invalid object identifier.
        let start = try #require(der.indices.last { der.dropFirst($0).starts(with: [0x30, 0x0A, 0x06, 0x08]) })
        der[start + 2] = 0x04
        let broken = SecCertificate(try Certificate(der: Data(der)))
        let intermediate = try Authority.certificate("intermediate")
        for certificate in [broken, intermediate] { bench.expect(0, bench.add(["v_Ref": certificate])) }
        let found = bench.copying(["class": "cert", "m_TrustedOnly": true] + wantsAll + wantsReference)
        let certificates = try #require(found.array as? [SecCertificate], "\(found.status)")
        #expect(certificates.contains(intermediate) && !certificates.contains(broken))
    }

    @Test func `the keychain's certificates lead from a leaf to an anchor`() throws {
        let bench = try SecItemFixture()
        bench.groups = ["one", "two"]
        func evaluate(_ names: [String], anchors: [String]) throws -> OSStatus {
            let trust = try trust(names, anchors: anchors)
            var error: CFError?
            return try bench.use {
                let isTrusted = unsafe SecTrustEvaluateWithError(trust, &error)
                guard isTrusted else { return OSStatus(truncatingIfNeeded: try #require(error).code) }
                let chain = SecTrustCopyCertificateChain(trust)?.compactMap { $0 as? SecCertificate }
                #expect(try chain == (["leaf", "intermediate", "root"].map { try Authority.certificate($0) }))
                return errSecSuccess
            }
        }
        bench.expect(errSecCreateChainFailed, try evaluate(["leaf"], anchors: ["root"]))
        bench.expect(0, bench.add(["v_Ref": try Authority.certificate("intermediate"), "agrp": "two"]))
        bench.expect(0, try evaluate(["leaf"], anchors: ["root"]))
        // It is an intermediate, not an anchor.
        bench.expect(errSecCreateChainFailed, try evaluate(["leaf"], anchors: ["own"]))
        bench.groups = ["one"]
        bench.expect(errSecCreateChainFailed, try evaluate(["leaf"], anchors: ["root"]))
        bench.groups = ["one", "two"]
        bench.expect(0, bench.add(["v_Ref": try Authority.certificate("root"), "agrp": "one"]))
        bench.expect(errSecNotTrusted, try evaluate(["leaf"], anchors: ["own"]))
    }
}
