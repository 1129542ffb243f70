import Foundation
import KeyfobPrimitives
package import KeyfobOpenSSL
import PKCS11

extension KeychainIdentities {
    /// The names for imported identities whose names come from the author of the file.
    ///
    /// Such a name does not rename an existing certificate, and is ignored if it looks like a PKCS#11 URI.
    ///
    /// - Throws: `KeychainError`; the errors of `unlock()`.
    package func names(
        ofImported identities: [(friendlyName: String?, certificate: Certificate)]
    ) throws -> [String?] {
        // Log in only if there is a name to compare.
        let known = try identities.contains { $0.friendlyName != nil } ? keychain.find(.certificates) : []
        return identities.map { name, certificate in
            guard let name, !PKCS11URI.hasScheme(name) else { return nil }
            let label = known.first { $0.der == certificate.der }?.label
            return label.map { $0.isIdentical(to: name) } ?? true ? name : nil
        }
    }
}
