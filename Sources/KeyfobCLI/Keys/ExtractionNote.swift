import Keyfob

/// What to say of a key that is marked extractable and cannot leave all the same: SoftHSM wraps no Ed25519 keys, and
/// whoever made or brought one to have it back should hear of it before the other copy is gone.
enum ExtractionNote {
    /// Tries the way out, and says where there is none.
    ///
    /// - Throws: As `Output.say(_:)`. The key is there by now: what else keeps it from being tried is no failure.
    static func warn(of key: KeyItem, in keychain: Keychain, _ output: Output) throws {
        guard key.keyType == .ed25519, key.isExtractable else { return }
        do { _ = try keychain.exportKey(key.item) } catch {
            let code = (error as? KeychainError)?.code
            guard code == .keyNotExtractable || code == .mechanismUnsupported else { return }
            try output.say(
                """
                Note: token "\(Visible.text(keychain.tokenLabel))" gives out no Ed25519 keys: \
                "\(Visible.text(key.label ?? ""))" cannot be exported, although it is marked extractable.
                """)
        }
    }
}
