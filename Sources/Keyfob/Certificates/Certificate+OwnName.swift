package import OpenSSL
import PKCS11

extension Certificate {
    /// The name that it gets by itself in a keychain: its summary, else another name that it has; `nil` where it has
    /// none that would not be taken for a URI by whoever asks for it.
    package var ownName: String? {
        let others = [dnsNames.first, emailAddresses.first, subject.organization]
        return ([subjectSummary] + others).compactMap { $0 }.first { !PKCS11URI.hasScheme($0) }
    }
}
