import Keyfob

/// A note about keys that are marked extractable but cannot be exported.
///
/// SoftHSM does not wrap Ed25519 keys. The user must learn that before the other copy of the key is gone.
enum ExtractionNote {
    /// Tries to export the key, and prints a note if the token refuses.
    ///
    /// - Throws: `KeychainError.fileUnavailable` or `diskFull` if standard output cannot be written. Other errors of
    ///   the export are ignored, because the key exists by now.
    static func warn(of key: KeyItem, in keychain: Keychain, _ output: Output) throws {
        guard key.keyType == .ed25519, key.isExtractable else { return }
        do { _ = try keychain.keys.export(key.item) } catch {
            let code = (error as? KeychainError)?.code
            guard code == .keyNotExtractable || code == .mechanismUnsupported else { return }
            try output.say(
                """
                Note: token "\(TerminalSafe.text(keychain.tokenLabel))" does not export Ed25519 keys: \
                "\(TerminalSafe.text(key.label ?? ""))" cannot be exported, although it is marked extractable.
                """)
        }
    }
}
