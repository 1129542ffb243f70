import Foundation
import Glibc

/// What it means to a keychain that a part of it is not where it was.
extension Keychains {
    /// What an error of a keychain means that was opened by `configuration`; the error itself, mostly.
    ///
    /// Where another process has removed the keychain meanwhile, all else that is wrong with it comes of that.
    func explanation(of error: KeychainError, _ configuration: KeychainConfiguration) -> KeychainError {
        guard wasRemoved(configuration) else { return error }
        let name = configuration.name
        return KeychainError(
            .noSuchKeychain, "keychain \"\(name)\" was removed while it was in use; nothing was stored in it.",
            hint: "Which there are: keyfob keychain ls", details: ["keychain": name], cause: error)
    }

    /// Whether the keychain is gone, or is just being removed. Of one that is being made there is a vault, and no
    /// configuration yet.
    private func wasRemoved(_ configuration: KeychainConfiguration) -> Bool {
        guard Self.isMissing(configuration.vault) || !Self.isMissing(note(configuration.name).filePath) else {
            return false
        }
        do { return try self.configuration(configuration.name).uuid != configuration.uuid } catch {
            let code = (error as? KeychainError)?.code
            return code == .noSuchKeychain || code == .notInitialized
        }
    }

    /// Whether it is certain that nothing is there.
    static func isMissing(_ path: String) -> Bool {
        guard unsafe access(path, F_OK) != 0 else { return false }
        return errno == ENOENT || errno == ENOTDIR
    }
}
