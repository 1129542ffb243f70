import Foundation
import OpenSSL

extension KeychainError {
    /// How much later than this machine's clock says a certificate may begin, in seconds: clocks differ.
    private static let clockTolerance: TimeInterval = 300

    /// The error for a certificate of an issuer elsewhere that serves nobody; `nil` for one to install.
    ///
    /// Such an issuer would be asked again at every run, with a success each time. Names that it leaves out would be
    /// lost for good: the next request takes them from this certificate. One that is not valid yet would push out the
    /// one that is.
    ///
    /// - Parameter old: The certificate that is renewed.
    static func shortfall(
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
    /// The host names, addresses, e-mail addresses and URIs of a request that the certificate is not for.
    ///
    /// Names of other kinds are left out: issuers know few of them, and may write them anew.
    func names(missingOf request: CertificationRequest) -> [GeneralName] {
        let own = Set(subjectAlternativeNames.map(\.folded))
        return request.extensions.subjectAlternativeNames.filter { name in
            switch name {
            case .other: false
            // A wildcard that covers it will do.
            case .dns(let host): !own.contains(name.folded) && !matches(host: host)
            case .ip, .email, .uri: !own.contains(name.folded)
            }
        }
    }
}

extension GeneralName {
    /// The name as it is compared: names are the same in any case, and in letters of a language or in Punycode.
    fileprivate var folded: GeneralName {
        switch self {
        case .dns(let host): .dns(Certificate.asciiName(ofHost: host).lowercased())
        case .email(let address): .email(address.lowercased())
        case .uri(let uri): .uri(uri.lowercased())
        case .ip, .other: self
        }
    }
}
