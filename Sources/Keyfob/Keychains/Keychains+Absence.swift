import Foundation
import Glibc

/// What it means to a keychain that a part of it is not where it was.
extension Keychains {
    /// What an error of a keychain means that was opened by `configuration`; the error itself, mostly.
    ///
    /// Where another process has removed the keychain meanwhile, all else that is wrong with it comes of that.
    func explanation(of error: KeychainError, _ configuration: KeychainConfiguration) -> KeychainError {
        guard wasRemoved(configuration) else { return elsewhere(error, configuration) }
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

    /// The error with the directory in which what is missing lies, where that is one of another `XDG_DATA_HOME`.
    private func elsewhere(_ error: KeychainError, _ configuration: KeychainConfiguration) -> KeychainError {
        guard let place = otherPlace(of: error.code, configuration) else { return error }
        return KeychainError(
            error.code, error.message,
            hint: "It is in \(place). Say so as when it was made: \(Self.variable(for: place))     "
                + "Or move what lies there to \(directories.data.filePath)",
            details: error.details, cause: error.cause)
    }

    private func otherPlace(of code: KeychainError.Code, _ configuration: KeychainConfiguration) -> String? {
        switch code {
        case .tokenAbsent where configuration.module == .softHSM && directories.tokens == directories.data:
            guard let made = otherData(of: configuration), !Self.isMissing(made + "/tokens") else { return nil }
            return made
        case .vaultUnavailable where Self.isMissing(configuration.vault):
            // Where it is unless that variable says otherwise.
            let usual = Directories(environment: ["HOME": EnvironmentVariable.value("HOME") ?? ""]).data.filePath
            return Self.isMissing(usual + Self.vaultName(configuration)) ? nil : usual
        default:
            return nil
        }
    }

    /// What the path of a vault that Keyfob made ends with.
    private static func vaultName(_ configuration: KeychainConfiguration) -> String {
        "/vaults/\(configuration.uuid.uuidString.lowercased()).sqlite"
    }

    /// The directory of Keyfob's data that a keychain was made in, where it is another than it would be now and
    /// `XDG_DATA_HOME` can name it.
    func otherData(of configuration: KeychainConfiguration) -> String? {
        let name = Self.vaultName(configuration)
        guard configuration.vault.hasSuffix("/keyfob" + name) else { return nil }
        let place = String(configuration.vault.dropLast(name.count))
        return place == directories.data.filePath ? nil : place
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
