import Foundation
import Glibc

/// What it means to a keychain that a part of it is missing.
extension Keychains {
    /// Returns what an error of an open keychain means; mostly the error itself.
    ///
    /// If another process has removed the keychain, that is the cause of all other errors.
    func explanation(of error: KeychainError, _ configuration: KeychainConfiguration) -> KeychainError {
        guard wasRemoved(configuration) else { return remedied(error, configuration) }
        let name = configuration.name
        return KeychainError(
            .noSuchKeychain, "keychain \"\(name)\" was removed while it was in use; nothing was stored in it.",
            remedies: [Remedy("All keychains", .listKeychains)], details: ["keychain": name], cause: error)
    }

    /// Whether the keychain is gone, also where another one has its name now.
    private func wasRemoved(_ configuration: KeychainConfiguration) -> Bool {
        // A keychain that is being made does not have its name yet.
        guard configuration.directory.lastPathComponent == configuration.name else { return false }
        do { return try self.configuration(configuration.name).uuid != configuration.uuid } catch {
            let code = (error as? KeychainError)?.code
            return code == .noSuchKeychain || code == .notInitialized
        }
    }

    /// The error with a remedy where the vault, or the PIN that Keyfob made, is missing.
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
        return KeychainError(error.code, error.message, remedies: remedies, details: error.details, cause: error.cause)
    }

    /// The file in which Keyfob keeps a PIN that it made itself, where the error is that it is missing or empty.
    private func ownPINFile(lackedBy error: KeychainError, _ configuration: KeychainConfiguration) -> String? {
        let file = configuration.pinFile.filePath
        switch error.code {
        case .fileUnavailable where error.details["path"] == file: return file
        case .pinRequired where error.details["source"] == PINSource.file(file).description: return file
        default: return nil
        }
    }

    /// What to do if the vault of a keychain is missing.
    func remediesOfMissingVault(_ configuration: KeychainConfiguration) -> [Remedy] {
        let loss = configuration.module == .softHSM
            ? "remove the keychain, and with it the keys and certificates on its token" : "remove the keychain"
        return [
            "Mount the file system that it is on.",
            Remedy(KeychainError.restoring(vault: configuration.vault)),
            Remedy("If it is lost, \(loss)", .removeKeychain(configuration.name, lacking: .vault)),
        ]
    }

    /// Whether it is certain that the vault of a keychain is missing.
    package func lacksVault(_ configuration: KeychainConfiguration) -> Bool {
        guard unsafe access(configuration.vault, F_OK) != 0 else { return false }
        return errno == ENOENT || errno == ENOTDIR
    }

    /// Refuses a keychain whose vault is missing: the vault may only be unmounted, and the token is whole.
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
