import Foundation
import KeyfobPrimitives

/// The identities whose hook command must still run after a renewal that finished or was about to start.
///
/// Without its command, a renewal leaves servers with the old certificate. Nothing would run the command again, because
/// the identity is no longer due. Each identity has a file of the user that holds its name. The caller supplies the
/// command again.
package struct PendingHooks: Sendable {
    private let files: StateFiles

    /// The pending hooks of a keychain. Nothing is read or created yet.
    init(keychain: UUID, _ directories: Directories) {
        files = StateFiles("hooks", keychain: keychain, directories)
    }

    /// Whether the command must still run for the identity with this name.
    ///
    /// - Throws: `KeychainError`; `unsafeFile`, `fileDamaged` or `fileUnavailable`.
    package func contains(_ name: String) throws(KeychainError) -> Bool { try files.read(name) != nil }

    /// Records an identity. When this returns, the record survives a kill and a power failure.
    ///
    /// - Throws: `KeychainError`; `unsafeFile`, `fileDamaged` or `fileUnavailable`.
    package func add(_ name: String) throws(KeychainError) { try files.write(SecretBytes(utf8: name), for: name) }

    /// Removes the record of an identity. A power failure may restore it, and then the command runs once more.
    ///
    /// - Throws: `KeychainError`; `unsafeFile`, `fileDamaged` or `fileUnavailable`.
    package func remove(_ name: String) throws(KeychainError) { try files.remove(name) }

    /// Removes all records and their directory.
    ///
    /// - Throws: `KeychainError` with code `fileUnavailable`.
    func removeAll() throws(KeychainError) { try files.removeAll() }
}
