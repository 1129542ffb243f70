import KeyfobOpenSSL

/// Errors for files that cannot be used.
extension KeychainError {
    /// Returns the error for a PKCS#12 file that cannot be used.
    static func pkcs12(_ error: PKCS12Error, fileName: String) -> KeychainError {
        let details = ["file": fileName]
        return switch error.code {
        case .wrongPassphrase:
            KeychainError(
                .filePassphraseIncorrect, "wrong passphrase for \(fileName).",
                hint: "Try again, or check where the passphrase comes from.",
                details: details, cause: error)
        case .integrityCheckFailed:
            KeychainError(
                .pkcs12Tampered,
                "\(fileName) was changed after it was made: the passphrase opens it, but its integrity check fails.",
                hint: "Ask for a new copy.", details: details, cause: error)
        case .legacyEncryption:
            KeychainError(
                .legacyEncryption, "\(fileName) uses \(error.algorithm ?? "an old cipher"), which is not allowed here.",
                remedies: [
                    Remedy("To read it", .change(.legacyEncryption)), "Or export it again with AES-256.",
                ],
                details: details, cause: error)
        case .damaged:
            KeychainError(
                .pkcs12Damaged, "\(fileName) is damaged: \(error.detail).",
                hint: "Get the file again and compare: sha256sum \(fileName). The passphrase was not checked.",
                details: details, cause: error)
        case .tooLarge:
            KeychainError(
                .dataTooLarge, "\(fileName) is too large for a PKCS#12 file: \(error.detail).", details: details,
                cause: error)
        default:
            KeychainError(
                .unsupportedFormat, "\(fileName) cannot be used: \(error.detail).", hint: otherForm, details: details,
                cause: error)
        }
    }

    /// Returns the error for a key or certificate file that cannot be used.
    static func keyFile(_ error: KeyFileError, fileName: String) -> KeychainError {
        let details = ["file": fileName]
        return switch error.code {
        case .wrongPassphrase:
            KeychainError(
                .filePassphraseIncorrect, "wrong passphrase for \(fileName).",
                hint: "Try again, or check where the passphrase comes from.", details: details, cause: error)
        case .passphraseRequired:
            KeychainError(
                .pinRequired, "\(fileName) is encrypted and no passphrase was given.",
                remedies: [Remedy("Give a source", .change(.passphraseSource))], details: details, cause: error)
        case .damaged:
            KeychainError(
                .fileDamaged, "\(fileName) is damaged: \(error.detail).", hint: "Get the file again.", details: details,
                cause: error)
        case .notFound:
            KeychainError(
                .unsupportedFormat, "\(fileName) cannot be used: \(error.detail).",
                hint: "Name the file that holds it; this one is empty, or holds something else.", details: details,
                cause: error)
        default:
            KeychainError(
                .unsupportedFormat, "\(fileName) cannot be used: \(error.detail).", hint: otherForm, details: details,
                cause: error)
        }
    }

    private static let otherForm =
        "Name a file of another form: certificates in PEM or DER, private keys in PEM, DER or PKCS#12."
}
