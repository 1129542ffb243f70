import Foundation
import Glibc

/// What it means to a keychain that a part of it is not where it was.
extension Keychains {
    /// What an error of a keychain means that was opened by `configuration`; the error itself, mostly.
    ///
    /// Where another process has removed the keychain meanwhile, all else that is wrong with it comes of that.
    func explanation(of error: KeychainError, _ configuration: KeychainConfiguration) -> KeychainError {
        guard wasRemoved(configuration) else { return remedied(error, configuration) }
        let name = configuration.name
        return KeychainError(
            .noSuchKeychain, "keychain \"\(name)\" was removed while it was in use; nothing was stored in it.",
            hint: "Which there are: keyfob keychain ls", details: ["keychain": name], cause: error)
    }

    /// Whether the keychain is gone, or is just being removed. Of one that is being made there is a vault, and no
    /// configuration yet.
    private func wasRemoved(_ configuration: KeychainConfiguration) -> Bool {
        let notes = [note(configuration.name), tokenlessNote(configuration.name)]
        guard Self.isMissing(configuration.vault) || !notes.allSatisfy({ Self.isMissing($0.filePath) }) else {
            return false
        }
        do { return try self.configuration(configuration.name).uuid != configuration.uuid } catch {
            let code = (error as? KeychainError)?.code
            return code == .noSuchKeychain || code == .notInitialized
        }
    }

    /// The error with what to do where the vault is not there, or the PIN that Keyfob made.
    private func remedied(_ error: KeychainError, _ configuration: KeychainConfiguration) -> KeychainError {
        let hint: String
        if error.code == .vaultUnavailable, lacksVault(configuration) {
            hint = remedyOfMissingVault(configuration)
        } else if let file = ownPINFile(lackedBy: error, configuration) {
            hint = "Mount what it lies on, or restore it from a backup: \(file). "
                + "Keyfob made that PIN, and nobody has it but that file."
        } else {
            return error
        }
        return KeychainError(error.code, error.message, hint: hint, details: error.details, cause: error.cause)
    }

    /// The file in which Keyfob keeps a PIN that it made itself, where the error is that it is not there or empty.
    private func ownPINFile(lackedBy error: KeychainError, _ configuration: KeychainConfiguration) -> String? {
        let file = KeychainConfiguration.pinFile(of: configuration.uuid, in: directories).filePath
        // Another source may be named in its place, and one of somebody's own says what to do with it.
        switch error.code {
        case .fileUnavailable where error.details["path"] == file: return file
        case .pinRequired where error.details["source"] == PINSource.file(file).description: return file
        default: return nil
        }
    }

    /// What to do where the vault of a keychain is not there.
    func remedyOfMissingVault(_ configuration: KeychainConfiguration) -> String {
        if let way = wayToVault(configuration) { return way }
        let loss = configuration.module == .softHSM
            ? "remove the keychain, and with it the keys and certificates on its token" : "remove the keychain"
        return "Mount what it lies on. \(KeychainError.restoring(vault: configuration.vault))     Where it is gone for "
            + "good, \(loss): keyfob keychain rm \(ShellWord.quoted(configuration.name)) --without-vault"
    }

    /// Where the vault of a keychain is that our directory lacks, and how it is reached; `nil` where it is nowhere.
    private func wayToVault(_ configuration: KeychainConfiguration) -> String? {
        let own = directories.data.filePath
        if let other = configuration.vaultElsewhere, !Self.isMissing(other) {
            let hint = "Restore it from a backup. The configuration names \(other), which stays as it is: this "
                + "keychain may be a copy of that one. "
            guard let place = otherData(of: configuration) else {
                return hint + "Where it is meant, move it, and what lies beside it, to \(own)/vaults"
            }
            return hint + "Where it is meant, say so as when it was made: \(Self.variable(for: place))     "
                + "Or move what lies in \(place) to \(own)"
        }
        // Where it is unless that variable says otherwise.
        let usual = Directories(environment: ["HOME": EnvironmentVariable.value("HOME") ?? ""]).data.filePath
        guard !Self.isMissing(usual + Self.vaultName(configuration)) else { return nil }
        return "It is in \(usual). Say so as when it was made: \(Self.variable(for: usual))     "
            + "Or move what lies there to \(own)"
    }

    /// What the path of a vault that Keyfob made ends with.
    private static func vaultName(_ configuration: KeychainConfiguration) -> String {
        "/vaults/\(configuration.uuid.uuidString.lowercased()).sqlite"
    }

    /// The directory of Keyfob's data that a keychain was made in, where ours has no vault of it and `XDG_DATA_HOME`
    /// can name the other.
    func otherData(of configuration: KeychainConfiguration) -> String? {
        let name = Self.vaultName(configuration)
        guard let vault = configuration.vaultElsewhere, vault.hasSuffix("/keyfob" + name) else { return nil }
        return String(vault.dropLast(name.count))
    }

    /// The assignment that makes `place` the directory of Keyfob's data.
    static func variable(for place: String) -> String {
        "XDG_DATA_HOME=" + ShellWord.quoted(URL(fileURLWithPath: place).deletingLastPathComponent().filePath)
    }

    /// Whether it is certain that nothing is there.
    static func isMissing(_ path: String) -> Bool {
        guard unsafe access(path, F_OK) != 0 else { return false }
        return errno == ENOENT || errno == ENOTDIR
    }
}
