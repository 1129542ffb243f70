package import KeyfobSystem

extension KeychainError {
    /// Returns the error for ciphertext that does not open.
    package static func damagedItem(cause: (any Error)?) -> KeychainError {
        KeychainError(
            .vaultDamaged, "an item of the vault fails its integrity check: it was damaged or changed.",
            remedies: [
                "Restore it from a backup. The other items are not affected.",
                Remedy("See which are damaged", .checkKeychain(nil, .secrets)),
            ],
            cause: cause)
    }
}
