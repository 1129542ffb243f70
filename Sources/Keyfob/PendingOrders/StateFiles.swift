package import Foundation
package import KeyfobPrimitives
import KeyfobOpenSSL

/// Small files of the user beside a keychain, one for each name, such as that of an identity.
///
/// A name may contain slashes and be longer than a file name, so the file is named by a hash.
package struct StateFiles: Sendable {
    /// The kind of the records of manifests that were applied.
    package static let manifests = "manifests"
    /// The kind of the records of when issuers want certificates to be renewed.
    static let renewalTimes = "renewal-times"

    private let directory: URL

    /// The files of one kind for a keychain. Nothing is read or created yet.
    package init(_ kind: String, keychain: UUID, _ directories: Directories) {
        directory = directories.state.appendingPathComponent(kind, isDirectory: true)
            .appendingPathComponent(keychain.uuidString.lowercased(), isDirectory: true)
    }

    /// The content of the file for a name; `nil` if there is none.
    ///
    /// - Throws: `KeychainError`; `unsafeFile`, `fileDamaged` or `fileUnavailable`.
    package func read(_ name: String, limit: Int = 1 << 16) throws(KeychainError) -> SecretBytes? {
        try PrivateFile.read(file(name), limit: limit)
    }

    /// Writes the file for a name. When this returns, the file survives a kill and a power failure.
    ///
    /// - Throws: `KeychainError`; `unsafeFile`, `fileDamaged` or `fileUnavailable`.
    package func write(_ content: SecretBytes, for name: String) throws(KeychainError) {
        try PrivateFile.createDirectory(directory)
        try PrivateFile.write(content, to: file(name))
    }

    /// Removes temporary files that killed writes for a name have left. No process may be writing that file.
    ///
    /// - Throws: `KeychainError`; `unsafeFile`, `fileDamaged` or `fileUnavailable`.
    package func removeUnfinished(_ name: String) throws(KeychainError) {
        try PrivateFile.createDirectory(directory)
        try PrivateFile.removeUnfinished(file(name))
    }

    /// Removes the file for a name.
    ///
    /// - Throws: `KeychainError`; `unsafeFile`, `fileDamaged` or `fileUnavailable`.
    func remove(_ name: String) throws(KeychainError) { try PrivateFile.remove(file(name)) }

    /// The path of the file for a name; its directory is created if missing.
    ///
    /// - Throws: `KeychainError`; `unsafeFile`, `fileDamaged` or `fileUnavailable`.
    func path(of name: String) throws(KeychainError) -> String {
        try PrivateFile.createDirectory(directory)
        return file(name).filePath
    }

    /// Removes all files and their directory.
    ///
    /// - Throws: `KeychainError` with code `fileUnavailable`.
    func removeAll() throws(KeychainError) {
        guard unsafe access(directory.filePath, F_OK) == 0 else { return }
        do { try FileManager.default.removeItem(at: directory) } catch {
            throw KeychainError(
                .fileUnavailable, "cannot remove \(directory.filePath).", details: ["path": directory.filePath],
                cause: error)
        }
    }

    private func file(_ name: String) -> URL {
        directory.appendingPathComponent(Digest.sha256(Data(name.utf8)).hexadecimal, isDirectory: false)
    }
}
