import KeyfobOpenSSL

extension SystemRoots {
    /// The authorities that the system trusts, like `load()` but with errors as `KeychainError`.
    ///
    /// Blocks for reading some 200 KB, about 10 ms.
    ///
    /// - Throws: `KeychainError` with code `fileUnavailable` if the file cannot be used; the errors of reading it.
    static func known() throws -> [Certificate] {
        do { return try load() } catch let error as KeyFileError {
            throw KeychainError(
                .fileUnavailable, "cannot read the authorities that the system trusts: \(error.detail).",
                hint: "SSL_CERT_FILE names the file that they are read from; without it, it is the system's own.",
                cause: error)
        }
    }
}
