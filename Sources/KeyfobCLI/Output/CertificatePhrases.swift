import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL

/// How certificates are described to people and programs.
enum CertificatePhrases {
    /// The state of a certificate at a given time.
    enum State: String {
        case good = "ok"
        case renewalDue = "renew due"
        case expired = "expired"
        case notYetValid = "not yet valid"
        /// An older version of an identity: kept, but never renewed.
        case replaced

        /// The state of `certificate`, for every document and table.
        ///
        /// - Parameter isReplaced: Whether a newer version of the identity exists.
        init(_ certificate: Certificate, on date: Date, isReplaced: Bool = false) {
            let lifetime = certificate.notAfter.timeIntervalSince(certificate.notBefore)
            if date > certificate.notAfter {
                self = .expired
            } else if date < certificate.notBefore {
                self = .notYetValid
            } else if isReplaced {
                self = .replaced
            } else {
                let age = date.timeIntervalSince(certificate.notBefore)
                self = age > lifetime * RenewalPolicy.dueAfter ? .renewalDue : .good
            }
        }

        /// The colour of the state.
        var style: Style {
            switch self {
            case .good: .good
            case .renewalDue, .notYetValid: .warning
            case .replaced: .good
            case .expired: .bad
            }
        }
    }

    /// The name to show for the subject.
    static func subject(_ certificate: Certificate) -> String { certificate.subjectSummary ?? "(no name)" }

    /// The name to show for the issuer.
    static func issuer(_ certificate: Certificate) -> String {
        certificate.issuer.commonName ?? certificate.issuer.organization ?? certificate.issuer.description
    }

    /// `valid until 2027-01-10 (412 days)`, or a phrase that states that the certificate has expired or is not yet
    /// valid.
    static func validity(_ certificate: Certificate, on date: Date) -> String {
        let day = RFC3339.localDay(of: certificate.notAfter)
        switch State(certificate, on: date) {
        case .expired: return "expired on \(day) (\(Plural.relative(certificate.notAfter, to: date)))"
        case .notYetValid: return "valid only from \(RFC3339.local(from: certificate.notBefore))"
        case .good, .renewalDue, .replaced:
            return "valid until \(day) (\(Plural.duration(seconds: certificate.notAfter.timeIntervalSince(date))))"
        }
    }

    /// Checks that a certificate has not expired and is valid already.
    ///
    /// - Parameter remark: Text to append to the hint.
    /// - Throws: `KeychainError.certificateExpired` or `certificateNotYetValid`.
    static func requireValid(
        _ certificate: Certificate, name: String, on date: Date, remark: String = "Continue anyway: --allow-expired"
    ) throws {
        let failure = KeychainError.validity(
            of: certificate, name: name, on: date, renewal: ["Get a new certificate.", Remedy(remark)], remark: remark)
        if let failure { throw failure }
    }

    /// Returns the members that describe a certificate in JSON documents.
    ///
    /// - Parameters:
    ///   - certificate: `nil` for a certificate that does not exist yet.
    ///   - known: Values that are already known for such a certificate, by member name. All other members are null.
    static func members(
        _ certificate: Certificate?, on date: Date, isReplaced: Bool = false, known: Members = [:]
    ) -> Members {
        let members: Members = [
            "subject": certificate?.subject.description, "common_name": certificate?.subject.commonName,
            "issuer": certificate?.issuer.description, "serial": certificate?.serialNumberText,
            "not_before": certificate?.notBefore, "not_after": certificate?.notAfter,
            "state": certificate.map { State($0, on: date, isReplaced: isReplaced).rawValue },
            "key": certificate?.publicKey.algorithm.description,
            "fingerprint": certificate.map { Value.fingerprint(sha256: $0.sha256Fingerprint) },
            "dns_names": certificate?.dnsNames, "is_authority": certificate?.isCA,
        ]
        return members.replacing(known)
    }

    /// The additional members that `show` prints; they correspond to its text lines.
    static func details(_ certificate: Certificate) -> Members {
        let keyUsage = certificate.keyUsage.map { $0.description.split(separator: ", ").map(String.init) }
        return [
            "names": certificate.subjectAlternativeNames.map(\.description),
            "extended_key_usage": certificate.extendedKeyUsage.map(\.description), "key_usage": keyUsage,
            "path_length": certificate.pathLength, "subject_key_id": certificate.subjectKeyIdentifier?.hexadecimal,
            "authority_key_id": certificate.authorityKeyIdentifier?.hexadecimal,
            "fingerprint_sha1": "sha1:" + certificate.sha1Fingerprint.hexadecimal,
        ]
    }

    /// The lines that `show` prints for a certificate.
    static func lines(_ certificate: Certificate, on date: Date) -> [(String, String)] {
        var lines = [
            ("subject", certificate.subject.description),
            ("issuer", certificate.issuer.description),
            ("serial", certificate.serialNumberText),
            ("validity", validity(certificate, on: date)),
            ("not before", RFC3339.local(from: certificate.notBefore)),
            ("key", certificate.publicKey.algorithm.description),
        ]
        let names = certificate.subjectAlternativeNames.map(\.description)
        if !names.isEmpty { lines.append(("names", names.joined(separator: ", "))) }
        if !certificate.extendedKeyUsage.isEmpty {
            lines.append(("usage", certificate.extendedKeyUsage.map(\.description).joined(separator: ", ")))
        }
        if let usage = certificate.keyUsage { lines.append(("key usage", usage.description)) }
        let below = certificate.pathLength.map { ", with at most \($0) below it" } ?? ""
        lines.append(("authority", certificate.isCA ? "yes" + below : "no"))
        if let identifier = certificate.subjectKeyIdentifier { lines.append(("subject id", identifier.hexadecimal)) }
        if let identifier = certificate.authorityKeyIdentifier { lines.append(("issuer id", identifier.hexadecimal)) }
        lines.append(("sha256", certificate.sha256Fingerprint.hexadecimal))
        lines.append(("sha1", certificate.sha1Fingerprint.hexadecimal))
        return lines
    }
}
