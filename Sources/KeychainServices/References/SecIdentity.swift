import Foundation
import Keyfob

/// A certificate together with its private key; `SecIdentityRef`.
///
/// Two are equal if both halves are. Any thread may use one at any time.
// Immutable after `init` and made of Sendable members. Unchecked because the superclass does not declare it.
public final class SecIdentity: NSObject, @unchecked Sendable {
    let certificate: SecCertificate
    let privateKey: SecKey
    /// The keychain item that the identity was read from.
    let item: Item?

    init(certificate: SecCertificate, privateKey: SecKey, item: Item? = nil) {
        self.certificate = certificate
        self.privateKey = privateKey
        self.item = item
    }

    /// Whether both halves are equal.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? SecIdentity else { return false }
        return other.certificate.isEqual(certificate) && other.privateKey.isEqual(privateKey)
    }

    /// A hash of the certificate.
    public override var hash: Int { certificate.hash }
}
