import Foundation
import Glibc
package import KeyfobPrimitives
import PKCS11

/// Removing keychains.
extension Keychains {
    /// What removing a keychain comes to.
    public enum Removal: Sendable {
        /// The keychain is whole: its directory is removed, and its token if Keyfob made it.
        case whole(KeychainConfiguration)
        /// A creation or a removal was interrupted: the rest of it is removed.
        case rest
        /// Its configuration cannot be read, so that its token is unknown. The keychain leaves the list, and its files
        /// stay in a hidden directory beside the others.
        case configuration(KeychainError)
    }

    private static let removedSuffix = ".removed"
    private static let keptSuffix = ".kept"

    /// What `delete(_:)` would remove.
    ///
    /// - Parameters:
    ///   - name: The keychain.
    ///   - withoutToken: Whether it goes also where the token that Keyfob made for it is not there.
    ///   - withoutVault: Whether it goes also where its vault is not there.
    ///   - timeout: How long to wait for another process that makes or repairs a token.
    /// - Returns: What would be removed.
    /// - Throws: `KeychainError`; `noSuchKeychain`, `notInitialized`, `unsafeFile` where others can write its files,
    ///   `refused` where it is unknown whether its token is there, `tokenAbsent`, `vaultUnavailable` where its token is
    ///   there, or not Keyfob's, and its vault is not, `timedOut` while another process makes or repairs a token, or
    ///   rewrites one without end.
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
    /// The directory loses its name first, so that there is never half a keychain. If a kill or a failure interrupts the
    /// rest, the next call of `delete(_:)` for this name, or the next creation of a keychain, finishes it. If the
    /// configuration of a keychain cannot be read, the keychain leaves the list, and token and files stay.
    ///
    /// > Important: Every password of it, and on a token of ours every key, is gone for good.
    ///
    /// - Parameters:
    ///   - name: The keychain.
    ///   - withoutToken: Whether it goes also where the token that Keyfob made for it is not there. Wherever that
    ///     is, it stays, and its PIN goes.
    ///   - withoutVault: Whether it goes also where its vault is not there, and with it the token that Keyfob made.
    ///   - timeout: How long to wait for another process that makes or repairs a token.
    /// - Throws: `KeychainError`; `noSuchKeychain`, `notInitialized`, `timedOut`, `refused`, `tokenAbsent` and
    ///   `vaultUnavailable` as `removal(of:withoutToken:withoutVault:timeout:)`, and what the system refuses.
    public func delete(
        _ name: String, withoutToken: Bool = false, withoutVault: Bool = false, timeout: Duration = .seconds(10)
    ) throws {
        let deadline = Deadline.after(timeout)
        switch try removal(of: name, withoutToken: withoutToken, withoutVault: withoutVault, until: deadline) {
        case .whole(let configuration):
            // An earlier keychain of the same name.
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

    /// Takes the directory of a keychain out of the list, so that the keychain is gone for all programs.
    ///
    /// - Throws: `KeychainError`; `noSuchKeychain` where another process was faster.
    private func hide(_ name: String, as hidden: HiddenName) throws {
        let place = directory(name).filePath
        guard unsafe rename(place, hidden.url(in: folder).filePath) == 0 else {
            guard errno == ENOENT else { throw KeychainError.file("remove", place, errno) }
            // Throws that there is none.
            _ = try configuration(name)
            return
        }
        try PrivateFile.synchronizeDirectory(folder)
    }

    // MARK: Removals that were interrupted

    /// The directories of a keychain of that name whose removal was not finished.
    ///
    /// - Parameter name: The keychain; `nil` for all.
    /// - Throws: `KeychainError` where the directory of keychains cannot be read.
    func unfinishedRemovals(of name: String? = nil) throws(KeychainError) -> [HiddenName] {
        try HiddenName.all(Self.removedSuffix, in: folder).filter { name == nil || $0.name == name }
    }

    /// The names of keychains whose removal was interrupted.
    ///
    /// - Throws: `KeychainError` where the directory of keychains cannot be read.
    package func namesOfUnfinishedRemovals() throws -> [String] {
        Set(try unfinishedRemovals().map(\.name)).sorted()
    }

    private func finishRemovals(of name: String, until deadline: Deadline) throws {
        for hidden in try unfinishedRemovals(of: name) { try finish(hidden, until: deadline) }
    }

    /// Removes what kills have left of keychains that were being made or removed.
    ///
    /// - Throws: `KeychainError` for what is left of `name`. Errors about other keychains are reported when one of
    ///   their names is used.
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
    /// - Throws: `KeychainError`.
    private func finish(_ hidden: HiddenName, until deadline: Deadline) throws {
        let (name, place) = (hidden.name, hidden.url(in: folder))
        do {
            let file = place.appendingPathComponent(KeychainConfiguration.fileName, isDirectory: false)
            // A configuration that cannot be read any more names no token.
            if let bytes = try PrivateFile.read(file, limit: 1 << 20),
                let configuration = KeychainConfiguration(json: bytes.copyBytes(), in: place)
            {
                try destroyToken(of: configuration, until: deadline)
                try UnlockedState(directories: directories).remove(configuration.uuid.uuidString.lowercased())
                try PendingHooks(keychain: configuration.uuid, directories).removeAll()
                try PendingOrders(keychain: configuration.uuid, directories).removeAll()
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

    /// Destroys the token that Keyfob made for a keychain. Does nothing where it is gone, or another keychain names it.
    ///
    /// - Throws: `KeychainError`.
    private func destroyToken(of configuration: KeychainConfiguration, until deadline: Deadline) throws {
        guard let uri = Self.ownTokenURI(of: configuration), try !serialsInUse().contains(uri.serial),
            FileManager.default.fileExists(atPath: softHSM.root.filePath)
        else { return }
        do throws(KeychainError) { try softHSM.destroyToken(uri, deadline: deadline) } catch {
            guard error.code == .tokenAbsent else { throw error }
        }
    }

    // MARK: Tokens that Keyfob made

    /// The URI of the token that Keyfob made for a keychain; `nil` where it made none.
    static func ownTokenURI(of configuration: KeychainConfiguration) -> PKCS11URI? {
        // A URI that cannot be read names no token.
        guard configuration.module == .softHSM, let uri = try? PKCS11URI(configuration.token), uri.serial != nil,
            uri.token != nil
        else { return nil }
        return uri
    }

    /// The serial numbers of Keyfob's own tokens that keychains name.
    private func serialsInUse() throws -> Set<String?> { Set(try all().compactMap { Self.ownTokenURI(of: $0)?.serial }) }

    /// Keyfob's own tokens that no keychain names, such as the token of a creation that was killed.
    ///
    /// Keyfob never removes them by itself. The result is empty while it is unknown which tokens are in use: while another
    /// process makes a keychain, and where a configuration is damaged.
    ///
    /// - Returns: The tokens.
    /// - Throws: `KeychainError` where keychains or tokens cannot be read.
    package func unnamedTokens() throws -> [SoftHSMToken] {
        // Before the lists are read: a creation that is running now may finish in between.
        guard try !KeychainDraft.exists(isRunning: true, in: folder), try unfinishedRemovals().isEmpty else { return [] }
        let tokens = try softHSM.tokens()
        guard try listing().damaged.isEmpty else { return [] }
        let used = try serialsInUse()
        return tokens.filter { !used.contains($0.serial) }
    }

    /// How the token that Keyfob made for a keychain was found.
    package enum OwnToken: Sendable, Equatable {
        /// It is there, or Keyfob made none.
        case present
        /// It is not there: it was destroyed, or what it is on is not mounted.
        case absent
        /// It is none of those that can be read, and may be one of these directories, which cannot.
        case unclear([String])
    }

    /// Looks for the token that Keyfob made for a keychain.
    ///
    /// Blocks for up to a second where a token's file is just being rewritten.
    ///
    /// - Parameters:
    ///   - configuration: The keychain.
    ///   - deadline: Until when another process that makes or repairs a token is waited for.
    /// - Returns: How it was found.
    /// - Throws: As `SoftHSMDirectory.heal`; `timedOut` also where another process rewrites a token without end.
    package func ownToken(of configuration: KeychainConfiguration, until deadline: Deadline) throws -> OwnToken {
        guard let uri = Self.ownTokenURI(of: configuration), let serial = uri.serial, let label = uri.token else {
            return .present
        }
        switch try softHSM.awaitToken(serial: serial, label: label) {
        case .whole: return .present
        case .absent: return .absent
        case .unclear: break
        }
        // A kill may have emptied its file.
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
