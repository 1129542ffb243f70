import Keyfob
import KeyfobPrimitives

/// Output that must not go to a terminal unless the user insists.
enum SensitiveOutput {
    /// Writes text or binary data to standard output.
    ///
    /// - Parameters:
    ///   - isPrivateKey: Whether to refuse even readable PEM, because a key would stay in the scroll-back.
    ///   - force: The `--force` option.
    /// - Throws: `KeychainError.refused` for a terminal; `diskFull` or `fileUnavailable` if writing fails.
    static func write(
        _ bytes: SecretBytes, isPrivateKey: Bool, force: Bool, toTerminal: Bool = StandardOutput.isTerminal
    ) throws {
        if toTerminal, !force {
            if isPrivateKey { try refuseTerminal(force: force, isTerminal: toTerminal) }
            guard isReadable(bytes) else {
                throw KeychainError(
                    .refused, "binary data is not written to a terminal.",
                    hint: "Write it to a file with -o FILE, pipe it to a program, or add --force")
            }
        }
        try StandardOutput.write(bytes)
    }

    /// Refuses to write a private key to a terminal, in any format.
    ///
    /// - Throws: `KeychainError.refused`, unless `force` is set.
    static func refuseTerminal(force: Bool, isTerminal: Bool = StandardOutput.isTerminal) throws(KeychainError) {
        guard !isTerminal || force else {
            throw KeychainError(
                .refused, "a private key is not written to a terminal.",
                hint: "Write it to a file with -o FILE, or add --force")
        }
    }

    /// Whether the bytes are UTF-8 without control characters other than tab and line ends.
    static func isReadable(_ bytes: SecretBytes) -> Bool {
        // Compares bytes instead of scalars, because a value may have 20 MB.
        // U+0080 to U+009F are the bytes C2 80 to C2 9F.
        var previous: UInt8 = 0
        let hasControls = unsafe bytes.withUnsafeBytes { bytes in
            for unsafe byte in unsafe bytes {
                if byte < 0x20, byte != 0x09, byte != 0x0A, byte != 0x0D { return true }
                if byte == 0x7F || (previous == 0xC2 && byte < 0xA0) { return true }
                previous = byte
            }
            return false
        }
        return !hasControls && bytes.copyString() != nil
    }
}
