import Foundation
package import KeyfobPrimitives

/// Renaming one of Keyfob's own tokens.
extension SoftHSMDirectory {
    /// Gives a token another label.
    ///
    /// SoftHSM has no call for it, so the label in the token's file is replaced, which contains it in clear. Call this
    /// before SoftHSM is loaded in this process. Another process that has the token open finds it by its former label
    /// until it looks for the token again.
    ///
    /// A kill leaves the former or the new label. The saved copy gets the label after the file; until then, the
    /// difference counts as damage, and the next call of `heal()` restores the former label.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - label: The new label.
    ///   - deadline: The limit for waiting for the directory's lock.
    /// - Throws: `KeychainError` with code `duplicateKeychain` if another token has the label, `tokenAbsent` if the
    ///   token is gone, `fileDamaged` if its file has an unknown form, `timedOut` or `fileUnavailable`.
    package func relabel(_ token: SoftHSMToken, to label: String, deadline: Deadline) throws(KeychainError) {
        try holdingLock(until: deadline) { () throws(KeychainError) -> Void in
            _ = try healLocked()
            let others = try tokens().filter { $0.directory != token.directory && $0.label == label }
            guard others.isEmpty else {
                throw KeychainError(
                    .duplicateKeychain, "a token \"\(label)\" exists already; nothing was changed.",
                    remedies: ["Choose another name."], details: ["token": label])
            }
            let identifier = token.directory.lastPathComponent
            let path = tokenFile(identifier).filePath
            guard let file = try SoftHSMFile(path, limit: TokenFile.maximumLength + 1) else {
                throw KeychainError(
                    .tokenAbsent, "the token's file \(path) does not exist.", details: ["token": token.label])
            }
            guard let changed = TokenFile.relabelled(file.bytes.copyBytes(), label) else {
                throw KeychainError(
                    .fileDamaged, "the token's file \(path) has a form that Keyfob does not know; nothing was changed.",
                    details: ["token": token.label, "path": path])
            }
            let bytes = SecretBytes(changed)
            try PrivateFile.write(bytes, to: tokenFile(identifier))
            try saveCopy(bytes, of: identifier)
        }
    }
}
