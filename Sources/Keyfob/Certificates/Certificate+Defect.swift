import Foundation
package import KeyfobOpenSSL

extension KeychainError {
    /// How far a certificate's start may lie ahead of the local clock, in seconds, because clocks differ.
    private static let clockTolerance: TimeInterval = 300

    /// The error for a certificate of an external issuer that must not be installed; `nil` if it may be.
    ///
    /// An expired or unchanged certificate would be requested again at every run, with a success each time. Names that
    /// the issuer omits would be lost, because the next request copies them from this certificate. A certificate that
    /// is not valid yet would replace a valid one.
    ///
    /// - Parameter old: The certificate being renewed.
    static func defect(
        of certificate: Certificate, for request: CertificationRequest, replacing old: Certificate?
    ) -> KeychainError? {
        let (now, unchanged) = (Date(), "Nothing was changed. See what the issuer does with the request.")
        guard certificate.notAfter > now else {
            let moment = certificate.notAfter.formatted(.iso8601)
            return KeychainError(
                .issuerFailed, "the issuer gave a certificate that expired on \(moment).", hint: unchanged,
                details: ["not_after": moment])
        }
        guard certificate != old else {
            return KeychainError(
                .issuerFailed, "the issuer gave the certificate that is in use already.", hint: unchanged)
        }
        guard certificate.notBefore <= now + clockTolerance else {
            let moment = certificate.notBefore.formatted(.iso8601)
            return KeychainError(
                .issuerFailed, "the issuer gave a certificate that is valid only from \(moment).",
                hint: "Nothing was changed. Compare the clocks, here and at the issuer, or wait until then and run the "
                    + "same command again.", details: ["not_before": moment])
        }
        let missing = certificate.names(missingOf: request).map { $0.ipText.map { "IP Address:\($0)" } ?? "\($0)" }
        guard !missing.isEmpty else { return nil }
        let listed = missing.joined(separator: ", ")
        return KeychainError(
            .issuerFailed, "the issuer gave a certificate without the names that were asked for: \(listed).",
            hint: "Nothing was changed. The names stand in the request (subjectAltName): openssl has "
                + "-copy_extensions copy.", details: ["names": listed])
    }
}

extension Certificate {
    /// The host names, addresses, e-mail addresses and URIs of a request that the certificate lacks.
    ///
    /// Names of other kinds are ignored: issuers support few of them and may encode them differently.
    package func names(missingOf request: CertificationRequest) -> [GeneralName] {
        let own = Set(subjectAlternativeNames.map(\.folded))
        return request.extensions.subjectAlternativeNames.filter { name in
            switch name {
            case .other: false
            // A wildcard that covers the host is sufficient.
            case .dns(let host): !own.contains(name.folded) && !matches(host: host)
            case .ip, .email, .uri: !own.contains(name.folded)
            }
        }
    }
}

extension GeneralName {
    /// The name in comparable form: lower case, and Punycode for international host names.
    fileprivate var folded: GeneralName {
        switch self {
        case .dns(let host): .dns(Certificate.asciiName(ofHost: host).lowercased())
        case .email(let address): .email(address.lowercased())
        case .uri(let uri): .uri(uri.lowercased())
        case .ip, .other: self
        }
    }
}
