package import KeyfobOpenSSL

/// The subject and the extensions of the certificate that a renewal asks for.
package enum RenewedContents: Sendable {
    /// Those of the present certificate with changes.
    case changed(CertificateChanges)
    /// These. An authority keeps its constraints and its key identifier.
    case exactly(subject: DistinguishedName, extensions: CertificateExtensions)

    /// Whether the caller has chosen the subject.
    var hasSubject: Bool {
        switch self {
        case .changed(let changes): changes.subject != nil
        case .exactly: true
        }
    }

    /// The subject and the extensions of the certificate that replaces another one.
    ///
    /// - Throws: The errors of `CertificateChanges.contents(replacing:)`.
    func contents(replacing old: Certificate) throws -> (DistinguishedName, CertificateExtensions) {
        switch self {
        case .changed(let changes): return try changes.contents(replacing: old)
        case .exactly(let subject, var extensions):
            if extensions.basicConstraints?.isAuthority ?? false { extensions.others = old.renewableExtensions.others }
            return (subject, extensions)
        }
    }
}
