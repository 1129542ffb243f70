import Keyfob
import KeyfobPrimitives

/// What may not go to a terminal unless the user insists.
enum SensitiveOutput {
    /// Writes bytes of any kind to standard output.
    ///
    /// - Parameters:
    ///   - isPrivateKey: a key on a screen stays in the scroll-back, so even readable PEM is refused.
    ///   - force: the `--force` option.
    /// - Throws: `KeychainError.refused` for a terminal; `fileUnavailable` when writing fails.
    static func write(
        _ bytes: SecretBytes, isPrivateKey: Bool, force: Bool, toTerminal: Bool = StandardOutput.isTerminal
    ) throws {
        if toTerminal, !force {
            guard !isPrivateKey else {
                throw KeychainError(
                    .refused, "a private key is not written to a terminal.",
                    hint: "Write it to a file with -o FILE, or insist: --force")
            }
            guard isReadable(bytes) else {
                throw KeychainError(
                    .refused, "binary data is not written to a terminal.",
                    hint: "Write it to a file with -o FILE, pipe it on, or insist: --force")
            }
        }
        try StandardOutput.write(bytes)
    }

    /// Whether the bytes are UTF-8 without control characters other than tab and line ends.
    static func isReadable(_ bytes: SecretBytes) -> Bool {
        guard let text = bytes.copyString() else { return false }
        return text.unicodeScalars.allSatisfy { scalar in
            switch scalar {
            case "\t", "\n", "\r": true
            default: scalar.properties.generalCategory != .control
            }
        }
    }
}
