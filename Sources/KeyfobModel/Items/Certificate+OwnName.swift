import KeyfobPrimitives
package import KeyfobOpenSSL

extension Certificate {
    /// The default name of the certificate in a keychain; `nil` if there is none.
    ///
    /// It is the summary, or another name in the certificate. A name is skipped if it is missing, blank, or looks like
    /// a PKCS#11 URI. If the common name is blank, the first host name comes first.
    package var ownName: String? {
        let names = [subjectSummary, dnsNames.first { !$0.isBlank }]
        let others = subject.commonName?.isBlank ?? false ? names.reversed() : names
        return (others + [emailAddresses.first, subject.organization]).compactMap { $0 }
            .first { !$0.isBlank && !$0.lowercased().hasPrefix("pkcs11:") }
    }
}
