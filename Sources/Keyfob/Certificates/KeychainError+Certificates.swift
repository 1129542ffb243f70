package import Foundation
import KeyfobPrimitives
package import KeyfobOpenSSL

extension CertificateVerification {
    /// Returns the error for an untrusted certificate, or `nil` if it is trusted.
    ///
    /// - Parameters:
    ///   - name: The name of the certificate in messages.
    ///   - isFile: Whether the certificate comes from a file, and not from an identity that could be renewed.
    ///   - hasFetched: Whether the URLs in the certificates have been tried for missing issuers.
    ///   - root: The name of the untrusted root, if the keychain has it.
    ///   - successor: Trust in the next certificate of an expired anchor, if the keychain has one.
    ///   - renewal: How to get the next certificate; `nil` if it is unknown whether the key is here.
    public func error(
        name: String, isFile: Bool = false, hasFetched: Bool = false, root: String? = nil,
        successor: Remedy.Operation? = nil, renewal: [Remedy]? = nil
    ) -> KeychainError? {
        guard let found = result.failure else { return nil }
        let own = ownFault(besides: found.code)
        let (code, depth) = own.map { ($0, 0) } ?? (found.code, found.depth)
        let culprit = own == nil ? found.certificate ?? certificate : certificate
        let isLeaf = culprit == certificate
        let called = isLeaf ? "certificate \"\(name)\"" : "certificate \"\(culprit.subjectSummary ?? "(no name)")\""
        let above = isLeaf ? "" : ", above \"\(name)\","
        func make(_ kind: KeychainError.Code, _ message: String, _ remedies: [Remedy]) -> KeychainError {
            var details = ["certificate": name, "culprit_depth": String(depth), "reason": code.description]
            details["fingerprint"] = "sha256:" + culprit.sha256Fingerprint.hexadecimal
            return KeychainError(kind, message, remedies: remedies, details: details)
        }
        // Trust, and validity of the certificates above, do not matter if the certificate itself is out of date.
        let isBeside = Self.reasonsNotToTrust.union([.expired, .notYetValid])
        if isBeside.contains(found.code),
            let error = KeychainError.validity(
                of: certificate, name: name, on: date,
                renewal: isFile ? ["Get a new one from the authority above it."] : renewal)
        {
            return make(error.code, error.message, error.remedies)
        }
        let issuer = culprit.issuer.commonName.map { "CN=\($0)" } ?? culprit.issuer.description
        switch code {
        case .expired, .notYetValid:
            // The validity of the certificate itself was checked above.
            let error = KeychainError.validity(of: culprit, name: culprit.subjectSummary ?? "(no name)", on: date)
            return make(
                code == .expired ? .certificateExpired : .certificateNotYetValid,
                error?.message ?? "\(called) is not valid at the moment asked for.",
                code == .expired
                    ? successor.map { [Remedy("It is trusted, and its next version is not", $0)] }
                        ?? [
                            "It is above \"\(name)\".",
                            Remedy("Ask its authority for a new one and import it", .importCertificate),
                        ]
                    : error?.remedies ?? [])
        case .issuerNotFound, .leafNotVerified:
            let subject: Certificate.Subject = isFile ? .file : .name(certificate.word(for: name))
            return make(
                .chainIncomplete,
                "no issuer certificate for \"\(isLeaf ? name : culprit.subjectSummary ?? name)\" (issuer \(issuer)).",
                culprit.issuerAdvice(fetchingFor: hasFetched ? nil : subject))
        case .selfSigned, .untrustedRoot:
            let anchor: String? = isLeaf ? isFile ? nil : certificate.word(for: name) : root
            return make(
                .certificateUntrusted,
                isLeaf
                    ? "certificate \"\(name)\" signed itself, and you have not decided to trust it."
                    : "certificate \"\(name)\" leads to \"\(culprit.subjectSummary ?? "(no name)")\", "
                        + "which you have not decided to trust.",
                [Remedy("If you do", .trust(anchor, usages: CertificateUsage.names(of: [usage]), isForUser: true))])
        case .hostMismatch, .addressMismatch:
            let names = certificate.subjectAlternativeNames
            let listed = names.prefix(8).map { $0.ipText ?? $0.text }.joined(separator: ", ")
            let isForAddress = host.map(Certificate.isAddress) ?? false
            // A certificate for a host name is not valid for the address behind it.
            let hint =
                names.isEmpty ? "It names no host at all."
                : isForAddress && !names.contains { $0.ipText != nil }
                    ? "It names no address: connect by name. It is for: " + listed : "It is for: " + listed
            return make(
                .certificateHostMismatch,
                "certificate \"\(name)\" is not for \(isForAddress ? "address" : "host") \"\(host ?? "")\".",
                [Remedy(hint)])
        case .wrongPurpose:
            return make(
                .certificateUsageMismatch, "\(called)\(above) is not for usage \"\(usage)\".",
                culprit.extendedKeyUsage.isEmpty
                    ? []
                    : [Remedy("It is for: " + culprit.extendedKeyUsage.map(\.description).joined(separator: ", "))])
        default:
            let isRenewable = isLeaf && !isFile
            let remedies: [Remedy]
            switch code {
            case .weakSignature, .weakKey, .weakAuthorityKey:
                let need = code == .weakSignature ? "signed with SHA-256 or better" : "with a key of 2048 bits or more"
                let source = isRenewable ? "." : ", from the authority above it."
                remedies = [Remedy("It is too weak. A new one is needed, \(need)\(source)")]
                    + (isRenewable ? renewal ?? KeychainError.renewal(of: name, [.newKey]) : [])
            case .nameNotPermitted, .nameExcluded: remedies = ["An authority above it may not issue for this name."]
            default: remedies = []
            }
            return make(.certificateInvalid, "\(called)\(above) is not accepted: \(code).", remedies)
        }
    }

    /// Failures that mean that no trusted authority is known to have issued the certificate.
    private static let reasonsNotToTrust: Set<CertificateChain.FailureCode> = [
        .issuerNotFound, .leafNotVerified, .selfSigned, .untrustedRoot,
    ]

    /// A defect of the certificate itself, if trust failed first.
    ///
    /// The user should not be advised to trust an authority for a certificate that does not fit.
    private func ownFault(besides code: CertificateChain.FailureCode) -> CertificateChain.FailureCode? {
        guard Self.reasonsNotToTrust.contains(code) else { return nil }
        if let host, !certificate.matches(host: host) { return .hostMismatch }
        let extended = certificate.extendedKeyUsage
        guard let wanted = usage.extendedKeyUsage, !extended.isEmpty, !extended.contains(.any) else { return nil }
        return extended.contains(wanted) ? nil : .wrongPurpose
    }
}

extension Certificate {
    /// The name of the certificate where a file could be named too, and a name with a slash is a path.
    func word(for name: String) -> String {
        name.contains("/") || name.hasPrefix("-") ? "sha256:" + sha256Fingerprint.hexadecimal.prefix(16) : name
    }

    /// A certificate whose chain is incomplete: an item of the keychain, or a file.
    enum Subject {
        case name(String)
        case file
    }

    /// How to get the certificate of the issuer.
    ///
    /// - Parameter subject: The certificate whose chain is incomplete; `nil` if fetching did not help.
    func issuerAdvice(fetchingFor subject: Subject?) -> [Remedy] {
        let advice = [Remedy("Add it", .importCertificate)]
        guard let subject, !issuerPlaces.isEmpty else { return advice }
        let name: String? = if case .name(let name) = subject { name } else { nil }
        return advice + [Remedy("Or fetch it", .fetchChain(name))]
    }
}

extension GeneralName {
    /// The value alone.
    fileprivate var text: String {
        switch self {
        case .dns(let text), .email(let text), .uri(let text): text
        default: description
        }
    }
}

extension KeychainError {
    /// Returns the error for a certificate that is not valid on a date, or `nil` if it is valid.
    ///
    /// - Parameters:
    ///   - renewal: The remedies for an expired certificate; `nil` if it is unknown whether the key is here.
    ///   - remark: An addition to the hint for a certificate that is not valid yet.
    package static func validity(
        of certificate: Certificate, name: String, on date: Date, renewal: @autoclosure () -> [Remedy]? = nil,
        remark: String? = nil
    ) -> KeychainError? {
        let format = Date.ISO8601FormatStyle()
        // The clock is irrelevant for another date that the caller asks about. A verification may take minutes.
        let isNow = abs(date.timeIntervalSinceNow) < 600
        if date > certificate.notAfter {
            let day = certificate.notAfter.formatted(format.year().month().day())
            let ago = Plural.relative(certificate.notAfter, to: date)
            return KeychainError(
                .certificateExpired,
                "certificate \"\(name)\" expired on \(day)"
                    + (isNow ? " (\(ago))." : ", before \(date.formatted(format))."),
                remedies: renewal() ?? Self.renewal(of: name),
                details: ["certificate": name, "not_after": certificate.notAfter.formatted(format)])
        }
        guard date < certificate.notBefore else { return nil }
        let clock = isNow ? "Check the clock (timedatectl) or wait." : nil
        let hint = [clock, remark].compactMap(\.self).joined(separator: " ")
        return KeychainError(
            .certificateNotYetValid,
            "certificate \"\(name)\" is valid only from \(certificate.notBefore.formatted(format))"
                + (isNow ? "; this machine's clock says" : ", and not yet at") + " \(date.formatted(format)).",
            hint: hint.isEmpty ? nil : hint,
            details: ["certificate": name, "not_before": certificate.notBefore.formatted(format)])
    }

    /// How to get the next certificate, if it is unknown without a PIN whether the key is here.
    ///
    /// - Parameter changes: How the renewal differs from the usual one.
    fileprivate static func renewal(of name: String, _ changes: [Remedy.Renewal] = []) -> [Remedy] {
        [
            Remedy("If its key is here", .renewIdentity(name, changes)),
            Remedy("If it is not, get a new one from the authority above it", .importCertificate),
        ]
    }
}
