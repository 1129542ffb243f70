import Keyfob
import OpenSSL

/// What to say of a key that no other program accepts any more: it can be brought in all the same, for a token keeps it
/// as well as any other.
enum StrengthNote {
    /// The shortest RSA key that TLS libraries take (OpenSSL's security level 2), and that Keyfob makes.
    private static let fewestBits = 2048

    /// Says so of an identity that has just been imported.
    ///
    /// - Throws: As `Output.say(_:)`; `KeyFileError` for what is no certificate.
    static func warn(of identity: Identity, in keychain: Keychain, _ output: Output) throws {
        guard case .rsa(let bits) = try identity.certificate().publicKey.algorithm, bits < fewestBits else { return }
        let remedy = HintedCommands.naming(
            keychain.name, in: identity.renewalHint("Renew it", options: " --force --key rsa"))
        try output.say(
            """
            Note: RSA of \(bits) bits is too weak: TLS libraries do not accept "\(Visible.text(identity.label ?? ""))".
                  It needs a key of \(fewestBits) bits or more. \(Visible.text(remedy))
            """)
    }
}
