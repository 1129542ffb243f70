import Foundation
import KeyfobPrimitives

/// The identities that were renewed, or were about to be, and whose command has not ended well since.
///
/// A renewal that is not followed by its command leaves servers with the old certificate, and nothing would run the
/// command again: the identity is not due any more. Each identity has a file of its own, the user's, that holds its
/// name; what the command was is the caller's to say anew.
package struct PendingHooks: Sendable {
    private let files: FilesByName

    /// Those of a keychain. Nothing is read or made yet.
    package init(_ keychain: Keychain) {
        self.init(keychain: keychain.configuration.uuid, keychain.directories)
    }

    init(keychain: UUID, _ directories: Directories) {
        files = FilesByName("hooks", keychain: keychain, directories)
    }

    /// Whether the command is still to be run for the identity of a name.
    ///
    /// - Throws: `unsafeFile` and `fileUnavailable` as `PrivateFile` does.
    package func contains(_ name: String) throws(KeychainError) -> Bool { try files.read(name) != nil }

    /// Takes note of an identity, so that it survives a kill and a power cut from here on. - Throws: As `contains`.
    package func add(_ name: String) throws(KeychainError) { try files.write(SecretBytes(utf8: name), for: name) }

    /// Forgets an identity. A power cut may bring it back, and then the command is run once more.
    ///
    /// - Throws: As `contains`.
    package func remove(_ name: String) throws(KeychainError) { try files.remove(name) }

    /// Forgets all, with the directory. - Throws: As `contains`.
    func removeAll() throws(KeychainError) { try files.removeAll() }
}
