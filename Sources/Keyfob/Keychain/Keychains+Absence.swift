import Foundation
import Glibc

/// Errors about missing parts of a keychain.
extension Keychains {
    /// Returns the error to report for an error of an open keychain.
    ///
    /// If another process has removed the keychain, that is the cause of all other errors.
    func explanation(of error: KeychainError, _ configuration: KeychainConfiguration) -> KeychainError {
        guard wasRemoved(configuration) else { return remedied(error, configuration) }
        let name = configuration.name
        return KeychainError(
            .noSuchKeychain, "keychain \"\(name)\" was removed while it was in use; nothing was stored in it.",
            remedies: [Remedy("All keychains", .listKeychains)], details: ["keychain": name], cause: error)
    }

    /// Returns whether the keychain was removed, even if another one has its name now.
    private func wasRemoved(_ configuration: KeychainConfiguration) -> Bool {
        // A keychain that is being made does not have its name yet.
        guard configuration.directory.lastPathComponent == configuration.name else { return false }
        do { return try self.configuration(configuration.name).uuid != configuration.uuid } catch {
            let code = (error as? KeychainError)?.code
            return code == .noSuchKeychain || code == .notInitialized
        }
    }

    /// Returns the error, with a remedy if the vault or a PIN that Keyfob made is missing.
    private func remedied(_ error: KeychainError, _ configuration: KeychainConfiguration) -> KeychainError {
        let remedies: [Remedy]
        if error.code == .vaultUnavailable, lacksVault(configuration) {
            remedies = remediesOfMissingVault(configuration)
        } else if let file = ownPINFile(lackedBy: error, configuration) {
            remedies = [
                "Mount the file system that it is on, or restore it from a backup: \(file).",
                "Keyfob made that PIN, and only that file contains it.",
            ]
        } else {
            return error
        }
        return error.with(remedies: remedies)
    }

    /// Returns the file of a PIN that Keyfob made, if the error says that this file is missing or empty.
    private func ownPINFile(lackedBy error: KeychainError, _ configuration: KeychainConfiguration) -> String? {
        let file = configuration.pinFile.filePath
        switch error.code {
        case .fileUnavailable where error.details["path"] == file: return file
        case .pinRequired where error.details["source"] == PINSource.file(file).description: return file
        default: return nil
        }
    }

    /// Returns the remedies for a missing vault.
    func remediesOfMissingVault(_ configuration: KeychainConfiguration) -> [Remedy] {
        let loss = configuration.module == .softHSM
            ? "remove the keychain, and with it the keys and certificates on its token" : "remove the keychain"
        return [
            "Mount the file system that it is on.",
            Remedy(KeychainError.restoring(vault: configuration.vault)),
            Remedy("If it is lost, \(loss)", .removeKeychain(configuration.name, lacking: .vault)),
        ]
    }

    /// Returns whether the vault of a keychain is known to be missing.
    package func lacksVault(_ configuration: KeychainConfiguration) -> Bool {
        guard unsafe access(configuration.vault, F_OK) != 0 else { return false }
        return errno == ENOENT || errno == ENOTDIR
    }

    /// Throws for a keychain whose vault is missing, because the vault may only be unmounted while the token is intact.
    ///
    /// - Throws: `KeychainError` with code `vaultUnavailable`.
    func requireVault(_ configuration: KeychainConfiguration) throws(KeychainError) {
        guard lacksVault(configuration) else { return }
        let (name, vault) = (configuration.name, configuration.vault)
        throw KeychainError(
            .vaultUnavailable, "the vault of keychain \"\(name)\" is not there: \(vault); nothing was removed.",
            remedies: remediesOfMissingVault(configuration), details: ["keychain": name, "path": vault])
    }
}
