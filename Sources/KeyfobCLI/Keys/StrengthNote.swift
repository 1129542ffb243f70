import Keyfob
import KeyfobOpenSSL

/// A note about keys that other programs no longer accept. They can be imported, because tokens store them like any
/// other key.
enum StrengthNote {
    /// The shortest RSA key that TLS libraries accept (OpenSSL's security level 2), and that Keyfob generates.
    private static let fewestBits = 2048

    /// Prints a note if the key of a newly imported identity is too short.
    ///
    /// - Throws: `KeychainError.fileUnavailable` or `diskFull` if standard output cannot be written; `KeyFileError` if
    ///   the certificate cannot be parsed.
    static func warn(of identity: Identity, in keychain: Keychain, _ output: Output) throws {
        guard case .rsa(let bits) = try identity.certificate().publicKey.algorithm, bits < fewestBits else { return }
        let remedies = Wording(keychain: keychain.name).lines(identity.renewalRemedies("Renew it", [.early, .rsaKey]))
        try output.say(
            """
            Note: RSA of \(bits) bits is too weak: TLS libraries do not accept "\(TerminalSafe.text(identity.label ?? ""))".
                  It needs a key of \(fewestBits) bits or more.
                  \(remedies.joined(separator: "\n      "))
            """)
    }
}
