public import KeyfobPrimitives

/// The rule for new passphrases.
public enum PassphraseStrength {
    /// The minimum number of characters.
    public static let minimumLength = 8

    /// Checks a new passphrase.
    ///
    /// - Parameter passphrase: The passphrase in UTF-8.
    /// - Throws: `KeychainError` with code `refused` if it has fewer than ``minimumLength`` characters.
    public static func check(_ passphrase: SecretBytes) throws(KeychainError) {
        // Counts characters by their first bytes, because a `String` could not be wiped.
        let count = unsafe passphrase.withUnsafeBytes { bytes in
            unsafe bytes.count { $0 & 0xC0 != 0x80 }
        }
        guard count < minimumLength else { return }
        throw KeychainError(
            .refused, "a passphrase of fewer than \(minimumLength) characters is easy to guess; nothing was changed.",
            remedies: ["Use several words.", Remedy("To use it nevertheless", .change(.weakPassphrase))])
    }
}
