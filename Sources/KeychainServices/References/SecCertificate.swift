import Foundation
import Keyfob
import KeyfobOpenSSL

/// An X.509 certificate; `SecCertificateRef`.
///
/// Two are equal if their DER is. Any thread may use one at any time.
// Immutable after `init` and made of Sendable members. Unchecked because the superclass does not declare it.
public final class SecCertificate: NSObject, @unchecked Sendable {
    /// The certificate, parsed.
    let certificate: Certificate
    /// The keychain item that the certificate was read from.
    let item: Item?

    /// The record of the import that stored the certificate; `nil` if no import did.
    let imported: ImportedItem?

    init(_ certificate: Certificate, item: Item? = nil, imported: ImportedItem? = nil) {
        self.certificate = certificate
        self.item = item
        self.imported = imported
    }

    /// Whether the DER of both is the same.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? SecCertificate)?.certificate.der == certificate.der
    }

    /// A hash of the DER.
    public override var hash: Int { certificate.der.hashValue }
}
