import CLinux
import Foundation

/// Whose the vault of a keychain is, and whether it is there, before the keychain is removed.
extension Keychains {
    /// Whether it is certain that the vault of a keychain is not there.
    package func lacksVault(_ configuration: KeychainConfiguration) -> Bool { Self.isMissing(configuration.vault) }

    /// Refuses a keychain whose vault is not there: it may be out of sight, and what is on the token is whole.
    func requireVault(_ configuration: KeychainConfiguration) throws(KeychainError) {
        guard lacksVault(configuration) else { return }
        let (name, vault) = (configuration.name, configuration.vault)
        throw KeychainError(
            .vaultUnavailable, "the vault of keychain \"\(name)\" is not there: \(vault); nothing was removed.",
            hint: remedyOfMissingVault(configuration), details: ["keychain": name, "path": vault])
    }

    /// Whether the vault lies where every keychain that is made here has it.
    func isOwnVault(_ configuration: KeychainConfiguration) -> Bool {
        guard configuration.vaultElsewhere == nil else { return false }
        let data = directories.data.standardizedPath.filePath
        let vault = URL(fileURLWithPath: configuration.vault, isDirectory: false)
        return vault.standardizedPath.filePath.hasPrefix(data + "/")
    }

    /// Refuses a keychain whose vault lies elsewhere: its configuration alone was copied here, and the vault is still
    /// in use where it came from. One that is certain not to exist is nobody's.
    func requireOwnVault(_ configuration: KeychainConfiguration) throws(KeychainError) {
        let (vault, name) = (configuration.vaultElsewhere ?? configuration.vault, configuration.name)
        guard !isOwnVault(configuration) else { return }
        var status = stat()
        if unsafe lstat(vault, &status) != 0, errno == ENOENT || errno == ENOTDIR { return }
        var hint = "Where the configuration was copied from there, remove the copy alone: rm "
            + ShellWord.quoted(file(name).filePath)
        if let other = otherData(of: configuration) {
            let command = "\(Self.variable(for: other)) keyfob keychain rm \(ShellWord.quoted(name))"
            hint += "     Where it is yours, made with another XDG_DATA_HOME, and to go with all that is in it: "
                + command
        }
        throw KeychainError(
            .refused,
            "the vault of keychain \"\(name)\" is not in \(directories.data.filePath), and not removed: \(vault).",
            hint: hint,
            details: ["keychain": name, "path": vault])
    }
}
