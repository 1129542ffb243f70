import Foundation
import OpenSSL

/// Failures that somebody accepts of a certificate and what it is to be good for.
struct TrustException: Sendable {
    /// SHA-256 of the leaf's DER.
    let leaf: Data
    /// SHA-256 of what the policies ask for: who accepts a certificate for one host does not accept it for another.
    private let policies: Data
    /// What is accepted.
    private let failures: [TrustFailure]
    /// Whether it was kept by an earlier version, which had fewer codes and named no certificates.
    private let isEarlier: Bool

    init(_ question: SecTrust.Question, failures: [TrustFailure]) {
        (leaf, policies) = (Self.digest(of: question.leaf), Self.digest(of: question.policies))
        self.failures = failures
        isEarlier = false
    }

    /// Reads what `encoded` gave; `nil` for other bytes.
    init?(encoded: Data) {
        let bytes = [UInt8](encoded)
        guard bytes.count >= 64, bytes.count % 4 == 0 else { return nil }
        (leaf, policies) = (Data(bytes[..<32]), Data(bytes[32..<64]))
        func code(_ start: Int) -> OSStatus {
            OSStatus(bitPattern: bytes[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) })
        }
        var place = 64
        let namesCertificates = bytes.count > place && code(place) == Self.certificatesAreNamed
        if namesCertificates { place += 4 }
        var failures: [TrustFailure] = []
        while place < bytes.count {
            let status = code(place)
            place += 4
            guard namesCertificates, TrustFailure.isAboutValidity(status) else {
                failures.append(TrustFailure(status, nil))
                continue
            }
            guard bytes.count - place >= 32 else { return nil }
            failures.append(TrustFailure(status, Data(bytes[place..<place + 32])))
            place += 32
        }
        self.failures = failures
        isEarlier = !namesCertificates
    }

    /// In place of the first code: that each code of a validity has the digest of its certificate behind it. Without
    /// it the codes stand alone, as exceptions of earlier versions have them, which are kept for years.
    private static let certificatesAreNamed = errSecSuccess

    /// The two digests, and the failures; of numbers the first bytes first.
    var encoded: Data {
        func bytes(_ code: OSStatus) -> Data {
            Data((0..<4).map { UInt8(truncatingIfNeeded: UInt32(bitPattern: code) >> (24 - 8 * $0)) })
        }
        return failures.reduce(leaf + policies + bytes(Self.certificatesAreNamed)) { encoded, failure in
            // Where nobody knows which certificate it is, it is none.
            let isNamed = TrustFailure.isAboutValidity(failure.status)
            return encoded + bytes(failure.status) + (isNamed ? failure.certificate ?? Data(count: 32) : Data())
        }
    }

    /// Whether a failure is accepted: where the exception names no certificate, of any of them.
    func covers(_ failure: TrustFailure) -> Bool {
        func contains(_ failure: TrustFailure) -> Bool {
            failures.contains { $0 == failure || $0.status == failure.status && $0.certificate == nil }
        }
        if contains(failure) { return true }
        guard isEarlier, let former = Self.formerCodes[failure.status] else { return false }
        return contains(TrustFailure(former, nil))
    }

    /// What earlier versions called what has a code of its own by now: whoever accepted one of these accepted the leaf
    /// itself, or each of the policy's names, then as now.
    private static let formerCodes: [OSStatus: OSStatus] = [
        errSecNoBasicConstraintsCA: errSecNotTrusted, errSecPathLengthConstraintExceeded: errSecNotTrusted,
        errSecInvalidName: errSecNotTrusted, errSecUnknownCriticalExtensionFlag: errSecNotTrusted,
        errSecUnsupportedKeySize: errSecNotTrusted, errSecSMIMEEmailAddressesNotFound: errSecHostNameMismatch,
    ]

    /// Whether it is for the same certificate and the same use.
    func isFor(_ question: SecTrust.Question) -> Bool {
        leaf == Self.digest(of: question.leaf) && policies == Self.digest(of: question.policies)
    }

    static func digest(of leaf: Certificate) -> Data { Digest.sha256(leaf.der) }

    private static func digest(of policies: [SecPolicy]) -> Data {
        let texts = policies.map { policy in
            let properties = policy.properties
            // Of one name or none, and without a usage, what it always was: exceptions are kept for years.
            let names = properties.names.isEmpty ? "\u{1}" : properties.names.joined(separator: "\u{1}")
            let usage = properties.keyUsage.isEmpty ? [] : [String(properties.keyUsage.rawValue)]
            return ([properties.identifier, names, String(properties.isClient)] + usage).joined(separator: "\0")
        }
        return Digest.sha256(Data(texts.joined(separator: "\0\0").utf8))
    }
}
