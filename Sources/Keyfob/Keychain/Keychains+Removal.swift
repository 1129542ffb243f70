import Foundation
import Glibc
package import KeyfobPrimitives
import PKCS11

/// Removing keychains.
extension Keychains {
    /// The effect of removing a keychain.
    public enum Removal: Sendable {
        /// The keychain is complete: its directory is removed, and also its token if Keyfob made it.
        case whole(KeychainConfiguration)
        /// A creation or a removal was interrupted: its remains are removed.
        case rest
        /// The configuration cannot be read, so the token is unknown.
        ///
        /// The keychain leaves the list, and its files stay in a hidden directory beside the others.
        case configuration(KeychainError)
    }

    private static let removedSuffix = ".removed"
    private static let keptSuffix = ".kept"

    /// Returns what `delete(_:)` would remove.
    ///
    /// - Parameters:
    ///   - name: The keychain.
    ///   - withoutToken: Whether to remove the keychain even if the token that Keyfob made for it is missing.
    ///   - withoutVault: Whether to remove the keychain even if its vault is missing.
    ///   - timeout: How long to wait for another process that makes or repairs a token.
    /// - Returns: The effect of removing the keychain.
    /// - Throws: `KeychainError` with code `noSuchKeychain`, `notInitialized`, `unsafeFile` if other users can write
    ///   its files, `refused` if it is unknown whether its token exists, `tokenAbsent`, `vaultUnavailable` if only the
    ///   vault is missing, or `timedOut` while another process makes or repairs a token or keeps rewriting one.
    public func removal(
        of name: String, withoutToken: Bool = false, withoutVault: Bool = false, timeout: Duration = .seconds(10)
    ) throws -> Removal {
        try removal(of: name, withoutToken: withoutToken, withoutVault: withoutVault, until: .after(timeout))
    }

    private func removal(
        of name: String, withoutToken: Bool, withoutVault: Bool, until deadline: Deadline
    ) throws -> Removal {
        do {
            let configuration = try configuration(name)
            switch try ownToken(of: configuration, until: deadline) {
            case .present where !withoutVault: try requireVault(configuration)
            case .absent where !withoutToken: throw tokenAbsent(configuration)
            case .unclear(let directories) where !withoutToken: throw tokenUnclear(configuration, directories)
            case .present, .absent, .unclear: break
            }
            return .whole(configuration)
        } catch let error as KeychainError {
            switch error.code {
            case .invalidConfiguration, .fileDamaged: return .configuration(error)
            case .noSuchKeychain, .notInitialized:
                guard try !unfinishedRemovals(of: name).isEmpty
                    || KeychainDraft.exists(name, isRunning: false, in: folder)
                else { throw error }
                return .rest
            default: throw error
            }
        }
    }

    /// Removes a keychain: its directory, and the token if Keyfob made it.
    ///
    /// The directory loses its name first, so no partial keychain is visible. If a kill or a failure interrupts the
    /// rest, the next call of `delete(_:)` for this name, or the next creation of a keychain, finishes it. If the
    /// configuration of a keychain cannot be read, the keychain leaves the list, and its token and files stay.
    ///
    /// > Important: Its passwords are lost permanently. On a token that Keyfob made, all keys are lost too.
    ///
    /// - Parameters:
    ///   - name: The keychain.
    ///   - withoutToken: Whether to remove the keychain even if the token that Keyfob made for it is missing. That
    ///     token stays where it is, but its PIN is lost.
    ///   - withoutVault: Whether to remove the keychain even if its vault is missing, with the token that Keyfob made.
    ///   - timeout: How long to wait for another process that makes or repairs a token.
    /// - Throws: `KeychainError` with code `noSuchKeychain`, `notInitialized`, `unsafeFile`, `timedOut`, `tokenAbsent`,
    ///   `vaultUnavailable`, `refused` if it is unknown whether its token exists, or the code of an error of the
    ///   system.
    public func delete(
        _ name: String, withoutToken: Bool = false, withoutVault: Bool = false, timeout: Duration = .seconds(10)
    ) throws {
        let deadline = Deadline.after(timeout)
        switch try removal(of: name, withoutToken: withoutToken, withoutVault: withoutVault, until: deadline) {
        case .whole(let configuration):
            // Finishes the removal of an earlier keychain of the same name.
            try finishRemovals(of: name, until: deadline)
            try UnlockedState(directories: directories).remove(configuration.uuid.uuidString.lowercased())
            let hidden = HiddenName(name, Self.removedSuffix)
            try hide(name, as: hidden)
            try finish(hidden, until: deadline)
        case .rest:
            try finishRemovals(of: name, until: deadline)
            try KeychainDraft.removeRemains(of: name, in: folder)
        case .configuration:
            try hide(name, as: HiddenName(name, Self.keptSuffix))
            try clearDefault(name)
        }
    }

    /// Renames the directory of a keychain, so that no program finds the keychain any longer.
    ///
    /// - Throws: `KeychainError` with code `noSuchKeychain` if another process has already done so.
    private func hide(_ name: String, as hidden: HiddenName) throws {
        let place = directory(name).filePath
        guard unsafe rename(place, hidden.url(in: folder).filePath) == 0 else {
            guard errno == ENOENT else { throw KeychainError.file("remove", place, errno) }
            // Throws if there is no such keychain.
            _ = try configuration(name)
            return
        }
        try PrivateFile.synchronizeDirectory(folder)
    }

    // MARK: Removals that were interrupted

    /// Returns the directories of keychains whose removal was not finished.
    ///
    /// - Parameter name: The keychain; `nil` for all.
    /// - Throws: `KeychainError` if the directory of keychains cannot be read.
    func unfinishedRemovals(of name: String? = nil) throws(KeychainError) -> [HiddenName] {
        try HiddenName.all(Self.removedSuffix, in: folder).filter { name == nil || $0.name == name }
    }

    /// Returns the names of keychains whose removal was interrupted.
    ///
    /// - Throws: `KeychainError` if the directory of keychains cannot be read.
    package func namesOfUnfinishedRemovals() throws -> [String] {
        Set(try unfinishedRemovals().map(\.name)).sorted()
    }

    private func finishRemovals(of name: String, until deadline: Deadline) throws {
        for hidden in try unfinishedRemovals(of: name) { try finish(hidden, until: deadline) }
    }

    /// Removes the remains of killed creations and removals.
    ///
    /// - Throws: `KeychainError` for the remains of `name`. Errors about other keychains are reported when one of their
    ///   names is used.
    func clearRemains(for name: String, until deadline: Deadline) throws {
        try finishRemovals(of: name, until: deadline)
        try KeychainDraft.removeRemains(of: name, in: folder)
        try? KeychainDraft.removeRemains(in: folder)
        for hidden in try unfinishedRemovals() { try? finish(hidden, until: deadline) }
    }

    /// Finishes the removal of a keychain whose directory is hidden: its token, its state elsewhere, and the directory.
    ///
    /// Two processes may do so at once.
    ///
    /// - Throws: `KeychainError` if a part cannot be removed.
    private func finish(_ hidden: HiddenName, until deadline: Deadline) throws {
        let (name, place) = (hidden.name, hidden.url(in: folder))
        do {
            let file = place.appendingPathComponent(KeychainConfiguration.fileName, isDirectory: false)
            // An unreadable configuration names no token.
            if let bytes = try PrivateFile.read(file, limit: 1 << 20),
                let configuration = KeychainConfiguration(json: bytes.copyBytes(), in: place)
            {
                try destroyToken(of: configuration, until: deadline)
                try UnlockedState(directories: directories).remove(configuration.uuid.uuidString.lowercased())
                try PendingHooks(keychain: configuration.uuid, directories).removeAll()
                try PendingOrders(keychain: configuration.uuid, directories).removeAll()
                for kind in [StateFiles.manifests, StateFiles.renewalTimes] {
                    try StateFiles(kind, keychain: configuration.uuid, directories).removeAll()
                }
                try OrderLocks(keychain: configuration.uuid, directories).removeAll()
            }
            try KeychainDirectory.remove(place)
            try clearDefault(name)
        } catch let error as KeychainError {
            throw KeychainError(
                error.code, "keychain \"\(name)\" is removed only in part: \(error.message)",
                remedies: [Remedy("Remove the rest", .removeKeychain(name))], details: error.details, cause: error)
        }
    }

    /// Destroys the token that Keyfob made for a keychain, unless it is missing or another keychain uses it.
    ///
    /// - Throws: `KeychainError` if the token cannot be destroyed.
    private func destroyToken(of configuration: KeychainConfiguration, until deadline: Deadline) throws {
        guard let uri = Self.ownTokenURI(of: configuration), try !serialsInUse().contains(uri.serial),
            FileManager.default.fileExists(atPath: softHSM.root.filePath)
        else { return }
        do throws(KeychainError) { try softHSM.destroyToken(uri, deadline: deadline) } catch {
            guard error.code == .tokenAbsent else { throw error }
        }
    }

    // MARK: Tokens that Keyfob made

    /// Returns the URI of the token that Keyfob made for a keychain; `nil` if it made none.
    static func ownTokenURI(of configuration: KeychainConfiguration) -> PKCS11URI? {
        // An unreadable URI names no token.
        guard configuration.module == .softHSM, let uri = try? PKCS11URI(configuration.token), uri.serial != nil,
            uri.token != nil
        else { return nil }
        return uri
    }

    /// Returns the serial numbers of Keyfob's own tokens that keychains use.
    private func serialsInUse() throws -> Set<String?> {
        Set(try all().compactMap { Self.ownTokenURI(of: $0)?.serial })
    }

    /// Returns Keyfob's own tokens that no keychain uses, such as the token of a killed creation.
    ///
    /// Keyfob never removes them by itself. The result is empty while the tokens in use are unknown: while another
    /// process makes a keychain, while a removal is unfinished, and while a configuration is damaged.
    ///
    /// - Throws: `KeychainError` if keychains or tokens cannot be read.
    package func unnamedTokens() throws -> [SoftHSMToken] {
        // Checked before the lists are read, because a running creation may finish in between.
        guard try !KeychainDraft.exists(isRunning: true, in: folder), try unfinishedRemovals().isEmpty else {
            return []
        }
        let tokens = try softHSM.tokens()
        guard try listing().damaged.isEmpty else { return [] }
        let used = try serialsInUse()
        return tokens.filter { !used.contains($0.serial) }
    }

    /// The state of the token that Keyfob made for a keychain.
    package enum OwnToken: Sendable, Equatable {
        /// The token exists, or Keyfob made none.
        case present
        /// The token is missing: it was destroyed, or its file system is not mounted.
        case absent
        /// The token is not among the readable ones, but may be in one of these unreadable directories.
        case unclear([String])
    }

    /// Looks for the token that Keyfob made for a keychain.
    ///
    /// The call blocks for up to a second while a token's file is being rewritten.
    ///
    /// - Parameters:
    ///   - configuration: The keychain.
    ///   - deadline: The end of the wait for another process that makes or repairs a token.
    /// - Returns: The state of the token.
    /// - Throws: `KeychainError` if the tokens cannot be read, or with code `timedOut` if another process makes,
    ///   repairs or keeps rewriting a token.
    package func ownToken(of configuration: KeychainConfiguration, until deadline: Deadline) throws -> OwnToken {
        guard let uri = Self.ownTokenURI(of: configuration), let serial = uri.serial, let label = uri.token else {
            return .present
        }
        switch try softHSM.awaitToken(serial: serial, label: label) {
        case .whole: return .present
        case .absent: return .absent
        case .unclear: break
        }
        // A kill may have left the token's file empty.
        let unusable = try softHSM.unusableDirectories(deadline: deadline)
        switch try softHSM.awaitToken(serial: serial, label: label) {
        case .whole: return .present
        case .absent: return .absent
        case .unclear where unusable.isEmpty: throw softHSM.rewriting(serial: serial, label: label)
        case .unclear: return .unclear(unusable)
        }
    }

    private func tokenAbsent(_ configuration: KeychainConfiguration) -> KeychainError {
        let tokens = softHSM.tokensDirectory.filePath
        return KeychainError(
            .tokenAbsent, "the token of keychain \"\(configuration.name)\" is not in \(tokens); nothing was removed.",
            remedies: [
                "Mount the file system that it is on.",
                Remedy("If it is lost, remove the rest", .removeKeychain(configuration.name, lacking: .token)),
            ],
            details: ["keychain": configuration.name, "path": tokens])
    }

    private func tokenUnclear(_ configuration: KeychainConfiguration, _ directories: [String]) -> KeychainError {
        let (name, places) = (configuration.name, directories.joined(separator: ", "))
        return KeychainError(
            .refused,
            "it is unknown whether the token of keychain \"\(name)\" is there: \(places) cannot be read; nothing was "
                + "removed.",
            remedies: [
                "Restore token.object in it from a backup.",
                Remedy("If the token is lost, remove the rest", .removeKeychain(name, lacking: .token)),
            ],
            details: ["keychain": name, "path": directories.first ?? ""])
    }
}
