import Foundation
import KeyfobPrimitives
package import OpenSSL
import PKCS11

extension Keychain {
    /// The names under which identities are imported that somebody else named, whoever made their file.
    ///
    /// Such a name renames nothing that is here, and is none where it would be taken for a URI.
    ///
    /// - Throws: `KeychainError`; the errors of `unlock()`.
    package func names(
        ofImported identities: [(friendlyName: String?, certificate: Certificate)]
    ) throws -> [String?] {
        // Without a name there is nothing to log in for.
        let known = try identities.contains { $0.friendlyName != nil } ? find(.certificates) : []
        return identities.map { name, certificate in
            guard let name, !PKCS11URI.hasScheme(name) else { return nil }
            let label = known.first { $0.der == certificate.der }?.label
            return label.map { $0.isIdentical(to: name) } ?? true ? name : nil
        }
    }
}
