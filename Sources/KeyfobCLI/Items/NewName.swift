import ArgumentParser
import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11

/// Checks for the name of a new object.
enum NewName {
    /// Refuses a name that no command could find again: an empty or blank one, or one that starts like a URI.
    ///
    /// - Throws: `ValidationError`.
    static func check(_ name: String) throws {
        guard !name.isBlank else { throw ValidationError(UsageError.emptyName.message) }
        guard !PKCS11URI.hasScheme(name) else {
            throw ValidationError("A name cannot begin with \"pkcs11:\", because other commands read it as a URI.")
        }
    }

    /// Refuses a name for a new certificate that another certificate has, because the name would be ambiguous.
    ///
    /// A certificate that is stored already passes, because it gets no new name.
    ///
    /// - Throws: `KeychainError.duplicateItem`.
    static func requireFree(
        _ name: String, for certificate: Certificate, among stored: [CertificateItem], in keychain: Keychain
    ) throws(KeychainError) {
        guard !stored.contains(where: { $0.der == certificate.der }),
            stored.contains(where: { $0.label?.isIdentical(to: name) ?? false })
        else { return }
        // `cert rm` would leave the key of an identity behind. Errors of the search are ignored, because it only
        // selects a hint.
        let isIdentity = !((try? keychain.find(.identity(label: name)).isEmpty) ?? true)
        throw KeychainError(
            .duplicateItem,
            "another certificate is called \"\(name)\" \(keychain.place); nothing was stored.",
            remedies: [
                Remedy("Keep both", .change(.name)),
                Remedy("Or remove that one first", isIdentity ? .removeIdentity(name) : .removeCertificate(name)),
            ],
            details: keychain.details(["name": name]))
    }
}
