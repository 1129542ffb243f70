import Foundation
import KeyfobOpenSSL
import TestSupport
import Testing

@testable import KeychainServices

/// The failures and certificates that an exception covers.
@Suite struct TrustExceptionTests {
    private static let day = 86_400.0

    /// A certificate for a key, with its validity in days relative to today.
    private func certificate(
        _ name: String, _ key: PrivateKey, by issuer: (certificate: SecCertificate, key: PrivateKey)?,
        _ days: ClosedRange<Double>, _ extensions: CertificateExtensions = .authority()
    ) throws -> SecCertificate {
        SecCertificate(try UnsignedCertificate(
            subject: DistinguishedName(commonName: name), publicKey: key.publicKey, extensions: extensions,
            issuer: issuer?.certificate.certificate, notBefore: Date() + days.lowerBound * Self.day,
            notAfter: Date() + days.upperBound * Self.day
        ).signed { [UInt8](try (issuer?.key ?? key).sign($0, using: $1)) })
    }

    private func trust(_ chain: [SecCertificate], anchors: [SecCertificate], _ policy: SecPolicy) throws -> SecTrust {
        var made: SecTrust?
        #expect(unsafe SecTrustCreateWithCertificates(chain as CFArray, policy, &made) == errSecSuccess)
        let trust = try #require(made)
        SecTrustSetAnchorCertificates(trust, anchors as CFArray)
        return trust
    }

    private func failure(_ trust: SecTrust) -> OSStatus? {
        var error: CFError?
        let isTrusted = unsafe SecTrustEvaluateWithError(trust, &error)
        #expect(isTrusted == (error == nil))
        return error.map { OSStatus(truncatingIfNeeded: $0.code) }
    }

    @Test func `an exception for an expired certificate applies even if its issuer expired before it began`() throws {
        let keys = try (0..<3).map { _ in try PrivateKey.generate(.ec(.p256)) }
        let root = try certificate("root", keys[0], by: nil, -10...900)
        let middle = try certificate("middle", keys[1], by: (root, keys[0]), -10...500)
        let leaf = try certificate(
            "leaf", keys[2], by: (middle, keys[1]), -900 ... -100,
            .endEntity([.dns("old.example")], [.serverAuth], key: .ec(.p256)))
        let policy = SecPolicyCreateSSL(true, "old.example")
        let trust = try trust([leaf, middle], anchors: [root], policy)
        #expect(failure(trust) == errSecCertificateExpired)
        let exceptions = SecTrustCopyExceptions(trust)
        #expect(SecTrustSetExceptions(trust, exceptions) && failure(trust) == nil)
        var result = SecTrustResultType.invalid
        #expect(unsafe SecTrustGetTrustResult(trust, &result) == errSecSuccess && result == .proceed)
        // It covers no other certificate, whether expired or not yet valid.
        for (days, status) in [(600, errSecCertificateExpired), (-50, errSecCertificateNotValidYet)] {
            SecTrustSetVerifyDate(trust, (Date() + Double(days) * Self.day) as CFDate)
            #expect(failure(trust) == status, "\(days)")
            let all = SecTrustCopyExceptions(trust)
            #expect(SecTrustSetExceptions(trust, all) && failure(trust) == nil, "\(days)")
            #expect(SecTrustCopyExceptions(trust) == all)
            #expect(SecTrustSetExceptions(trust, exceptions) && failure(trust) == status, "\(days)")
        }
        let elsewhere = try self.trust([leaf, middle], anchors: [root], SecPolicyCreateSSL(true, "new.example"))
        #expect(SecTrustSetExceptions(elsewhere, exceptions) && failure(elsewhere) == errSecHostNameMismatch)
        // It covers the certificate without its issuers too.
        let alone = try self.trust([leaf, middle], anchors: [], policy)
        #expect(SecTrustSetExceptions(alone, SecTrustCopyExceptions(alone)) && failure(alone) == nil)
    }

    struct EarlierRow: Sendable, CustomTestStringConvertible {
        let names: [String]
        var policy: @Sendable () -> SecPolicy? = { SecPolicyCreateBasicX509() }
        /// The failure, and the code that an earlier version used for it.
        let status, former: OSStatus
        /// A code that no version used for it.
        var other = errSecCreateChainFailed
        var testDescription: String { names[0] }
    }

    static let earlier = [
        EarlierRow(
            names: ["presumed", "nameless", "intermediate"], status: errSecNoBasicConstraintsCA,
            former: errSecNotTrusted),
        EarlierRow(
            names: ["tooDeep", "deep", "intermediate"], status: errSecPathLengthConstraintExceeded,
            former: errSecNotTrusted),
        EarlierRow(names: ["outside", "narrow"], status: errSecInvalidName, former: errSecNotTrusted),
        EarlierRow(
            names: ["anything", "intermediate"],
            policy: {
                SecPolicyCreateWithProperties(
                    kSecPolicyAppleSMIME, [kSecPolicyName: "nobody@example.org"] as CFDictionary)
            }, status: errSecSMIMEEmailAddressesNotFound, former: errSecHostNameMismatch, other: errSecNotTrusted),
    ]

    @Test(arguments: earlier)
    func `an exception of an earlier version covers failures with the same code`(row: EarlierRow) throws {
        let chain = try row.names.map { try Authority.certificate($0) }
        let trust = try trust(chain, anchors: [Authority.certificate("root")], try #require(row.policy()))
        #expect(failure(trust) == row.status)
        let exceptions = try #require(SecTrustCopyExceptions(trust) as Data?)
        #expect(SecTrustSetExceptions(trust, exceptions as CFData) && failure(trust) == nil)
        func excuses(_ codes: [OSStatus]) -> Bool {
            let bytes = codes.flatMap { code in
                (0..<4).map { UInt8(truncatingIfNeeded: UInt32(bitPattern: code) >> (24 - 8 * $0)) }
            }
            return SecTrustSetExceptions(trust, (exceptions.prefix(64) + bytes) as CFData) && failure(trust) == nil
        }
        #expect(excuses([row.former]) && excuses([errSecCertificateExpired, row.former]))
        // An exception of this version does not use the old codes.
        #expect(!excuses([errSecSuccess, row.former]) && !excuses([row.other]) && !excuses([]))
        // It covers no other failures. Without a named certificate it covers expired dates of any.
        SecTrustSetVerifyDate(trust, (Date() + 25 * Self.day) as CFDate)
        #expect(!excuses([row.former]) && excuses([row.former, errSecCertificateExpired]))
    }

    @Test func `bytes that end within a failure are not an exception`() throws {
        let trust = try trust([Authority.certificate("leaf")], anchors: [], SecPolicyCreateBasicX509())
        SecTrustSetVerifyDate(trust, (Date() + 1000 * Self.day) as CFDate)
        let exceptions = try #require(SecTrustCopyExceptions(trust) as Data?)
        #expect(SecTrustSetExceptions(trust, exceptions as CFData) && failure(trust) == nil)
        for count in [4, 28] {
            #expect(!SecTrustSetExceptions(trust, exceptions.dropLast(count) as CFData), "\(count)")
        }
        #expect(!SecTrustSetExceptions(trust, exceptions.dropLast(1) as CFData) && failure(trust) == nil)
    }
}
