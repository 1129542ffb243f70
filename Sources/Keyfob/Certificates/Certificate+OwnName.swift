import KeyfobPrimitives
package import OpenSSL
import PKCS11

extension Certificate {
    /// The name that it gets by itself in a keychain: its summary, else another name that it has; `nil` where each of
    /// them is missing, blank, or would be taken for a URI where it is typed.
    ///
    /// A common name that is there and blank gives way to the first host name.
    package var ownName: String? {
        let names = [subjectSummary, dnsNames.first { !$0.isBlank }]
        let others = subject.commonName?.isBlank ?? false ? names.reversed() : names
        return (others + [emailAddresses.first, subject.organization]).compactMap { $0 }
            .first { !$0.isBlank && !PKCS11URI.hasScheme($0) }
    }
}
