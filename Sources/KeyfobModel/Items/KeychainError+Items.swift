package import KeyfobSystem

extension KeychainError {
    /// Returns the error for ciphertext that does not open.
    package static func damagedItem(cause: (any Error)?) -> KeychainError {
        KeychainError(
            .vaultDamaged, "an item of the vault fails its integrity check: it was damaged or changed.",
            hint: "Restore it from a backup. The other items are not affected. "
                + "Which are damaged: keyfob keychain check --secrets",
            cause: cause)
    }
}
