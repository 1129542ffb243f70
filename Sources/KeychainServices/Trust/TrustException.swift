import Foundation
import KeyfobOpenSSL

/// Accepted failures of a certificate under a set of policies.
struct TrustException: Sendable {
    /// SHA-256 of the leaf's DER.
    let leaf: Data
    /// SHA-256 of the policies' requirements: accepting a certificate for one host does not accept it for another.
    private let policies: Data
    /// The accepted failures.
    private let failures: [TrustFailure]
    /// Whether an earlier version stored it, with fewer codes and without certificates.
    private let isEarlier: Bool

    init(_ question: SecTrust.Question, failures: [TrustFailure]) {
        (leaf, policies) = (Self.digest(of: question.leaf), Self.digest(of: question.policies))
        self.failures = failures
        isEarlier = false
    }

    /// Decodes `encoded`; `nil` for other bytes.
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

    /// A marker in place of the first code: each code about validity is followed by the digest of its certificate.
    ///
    /// Without it the codes stand alone, as in exceptions of earlier versions, which may be stored for years.
    private static let certificatesAreNamed = errSecSuccess

    /// The two digests and the failures, with codes in big-endian order.
    var encoded: Data {
        func bytes(_ code: OSStatus) -> Data {
            Data((0..<4).map { UInt8(truncatingIfNeeded: UInt32(bitPattern: code) >> (24 - 8 * $0)) })
        }
        return failures.reduce(leaf + policies + bytes(Self.certificatesAreNamed)) { encoded, failure in
            // An unknown certificate is encoded as 32 zero bytes.
            let isNamed = TrustFailure.isAboutValidity(failure.status)
            return encoded + bytes(failure.status) + (isNamed ? failure.certificate ?? Data(count: 32) : Data())
        }
    }

    /// Whether a failure is accepted. A failure without a certificate covers any certificate.
    func covers(_ failure: TrustFailure) -> Bool {
        func contains(_ failure: TrustFailure) -> Bool {
            failures.contains { $0 == failure || $0.status == failure.status && $0.certificate == nil }
        }
        if contains(failure) { return true }
        guard isEarlier, let former = Self.formerCodes[failure.status] else { return false }
        return contains(TrustFailure(former, nil))
    }

    /// The codes that earlier versions used for failures that now have their own. The acceptance still covers these
    /// failures.
    private static let formerCodes: [OSStatus: OSStatus] = [
        errSecNoBasicConstraintsCA: errSecNotTrusted, errSecPathLengthConstraintExceeded: errSecNotTrusted,
        errSecInvalidName: errSecNotTrusted, errSecUnknownCriticalExtensionFlag: errSecNotTrusted,
        errSecUnsupportedKeySize: errSecNotTrusted, errSecSMIMEEmailAddressesNotFound: errSecHostNameMismatch,
    ]

    /// Whether the exception is for the same certificate and policies.
    func isFor(_ question: SecTrust.Question) -> Bool {
        leaf == Self.digest(of: question.leaf) && policies == Self.digest(of: question.policies)
    }

    static func digest(of leaf: Certificate) -> Data { Digest.sha256(leaf.der) }

    private static func digest(of policies: [SecPolicy]) -> Data {
        let texts = policies.map { policy in
            let properties = policy.properties
            // With one name or none, and without a usage, the encoding is unchanged: exceptions may be stored for
            // years.
            let names = properties.names.isEmpty ? "\u{1}" : properties.names.joined(separator: "\u{1}")
            let usage = properties.keyUsage.isEmpty ? [] : [String(properties.keyUsage.rawValue)]
            return ([properties.identifier, names, String(properties.isClient)] + usage).joined(separator: "\0")
        }
        return Digest.sha256(Data(texts.joined(separator: "\0\0").utf8))
    }
}
