import ArgumentParser
import Foundation
import Keyfob
import KeyfobPrimitives
import OpenSSL
import PKCS11

/// A name for something that is made or imported.
enum NewName {
    /// Refuses a name by which nothing would be found again: one that is empty or blank, or begins like a URI.
    ///
    /// - Throws: `ValidationError`.
    static func check(_ name: String) throws {
        guard !name.isBlank else { throw ValidationError(UsageError.emptyName.message) }
        try requireNoURI(name)
    }

    /// Refuses a name that every other command takes for a URI.
    ///
    /// - Throws: `ValidationError`.
    static func requireNoURI(_ name: String) throws {
        guard !PKCS11URI.hasScheme(name) else {
            throw ValidationError("A name that begins with \"pkcs11:\" is a URI to every other command.")
        }
    }

    /// Refuses a name for a new certificate that another one has: no command would know which is meant.
    ///
    /// One that is stored already is given no name.
    ///
    /// - Throws: `KeychainError` with code `duplicateItem`.
    static func requireFree(
        _ name: String, for certificate: Certificate, among stored: [CertificateItem], in keychain: Keychain
    ) throws(KeychainError) {
        guard !stored.contains(where: { $0.der == certificate.der }),
            stored.contains(where: { $0.label?.isIdentical(to: name) ?? false })
        else { return }
        // Of an identity `cert rm` would leave the key behind. What cannot be looked up is no second failure.
        let noun = (try? keychain.find(.identity(label: name)).isEmpty) ?? true ? "cert" : "identity"
        throw KeychainError(
            .duplicateItem,
            "another certificate is called \"\(name)\" in keychain \"\(keychain.name)\"; nothing was stored.",
            hint: "Keep both: --name OTHER     Or remove that one first: keyfob \(noun) rm \(ShellWord.operand(name))",
            details: ["keychain": keychain.name, "name": name])
    }
}
