import Foundation
import KeyfobPrimitives
import OpenSSL

/// The identities that were renewed, or were about to be, and whose command has not ended well since.
///
/// A renewal that is not followed by its command leaves servers with the old certificate, and nothing would run the
/// command again: the identity is not due any more. Each identity has a file of its own, the user's, that holds its
/// name; what the command was is the caller's to say anew.
package struct PendingHooks: Sendable {
    private let directory: URL

    /// Those of a keychain. Nothing is read or made yet.
    package init(_ keychain: Keychain) {
        self.init(keychain: keychain.configuration.uuid, keychain.directories)
    }

    init(keychain: UUID, _ directories: Directories) {
        directory = directories.state.appendingPathComponent("hooks", isDirectory: true)
            .appendingPathComponent(keychain.uuidString.lowercased(), isDirectory: true)
    }

    /// Whether the command is still to be run for the identity of a name.
    ///
    /// - Throws: `unsafeFile` and `fileUnavailable` as `PrivateFile` does.
    package func contains(_ name: String) throws(KeychainError) -> Bool {
        try PrivateFile.read(file(name), limit: 1 << 16) != nil
    }

    /// Takes note of an identity, so that it survives a kill and a power cut from here on. - Throws: As `contains`.
    package func add(_ name: String) throws(KeychainError) {
        try PrivateFile.createDirectory(directory)
        try PrivateFile.write(SecretBytes(utf8: name), to: file(name))
    }

    /// Forgets an identity. - Throws: As `contains`.
    package func remove(_ name: String) throws(KeychainError) { try PrivateFile.remove(file(name)) }

    /// Forgets all, with the directory. - Throws: As `contains`.
    func removeAll() throws(KeychainError) {
        guard unsafe access(directory.filePath, F_OK) == 0 else { return }
        do { try FileManager.default.removeItem(at: directory) } catch {
            throw KeychainError(
                .fileUnavailable, "cannot remove \(directory.filePath).", details: ["path": directory.filePath],
                cause: error)
        }
    }

    /// Names are longer than names of files may be, and have slashes.
    private func file(_ name: String) -> URL {
        directory.appendingPathComponent(Digest.sha256(Data(name.utf8)).hexadecimal, isDirectory: false)
    }
}
