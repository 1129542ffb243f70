import CLinux
package import Foundation
import Glibc
package import KeyfobPrimitives
import PKCS11

/// Removing keychains.
extension Keychains {
    /// What removing a keychain comes to.
    public enum Removal: Sendable {
        /// The keychain is whole: its vault, its configuration, and its token if Keyfob made it.
        case whole(KeychainConfiguration)
        /// It was being made or removed when a kill or a failure came: the rest of it.
        case rest
        /// Its configuration cannot be read, and goes alone: nobody knows which token and which vault were its own.
        case configuration(KeychainError)
    }

    /// What `delete(_:)` would remove.
    ///
    /// - Parameters:
    ///   - name: The keychain.
    ///   - withoutToken: Whether it goes also where the token that Keyfob made for it is not there.
    ///   - withoutVault: Whether it goes also where its vault is not there.
    ///   - timeout: How long to wait for another process that makes or repairs a token.
    /// - Throws: `KeychainError`; `noSuchKeychain`, `notInitialized`, `unsafeFile` where others can write its file,
    ///   `refused` where its vault is the one of another home directory, nobody can tell whether its token is there, or
    ///   that is there again after a removal that was stopped, `tokenAbsent`, `vaultUnavailable` where its token is
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
            try requireOwnVault(configuration)
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
                let notes: Set = [
                    note(name).lastPathComponent, tokenlessNote(name).lastPathComponent,
                    KeychainDraft(name, in: directories).file.lastPathComponent,
                ]
                guard try !notes.isDisjoint(with: fileNames()) else { throw error }
                try requireTokenGone(name, withoutToken: withoutToken, until: deadline)
                return .rest
            default: throw error
            }
        }
    }

    /// The token, and the `CKA_ID`s, of keys that an attempt to make a keychain may have left on a token of somebody
    /// else's; `nil` where there are none. They seal nothing, and removing the rest of the keychain does not remove
    /// them.
    ///
    /// - Throws: `KeychainError` where the note of it cannot be read.
    package func leftWrappingKeys(of name: String) throws -> (token: String, ids: [Data])? {
        try KeychainDraft(name, in: directories).leftKeys().map { ($0.token, $0.ids) }
    }

    /// Removes a keychain: its vault and its configuration, and the token if Keyfob made it.
    ///
    /// The configuration is taken away first, so that there is never half a keychain; what a kill or a failure leaves
    /// after that, the same call removes: the token's PIN only where the token was destroyed, or nobody wants to wait
    /// for it. Of a keychain whose configuration cannot be read only that file goes.
    ///
    /// > Important: Every password of it, and on a token of ours every key, is gone for good.
    ///
    /// - Parameters:
    ///   - name: The keychain.
    ///   - withoutToken: Whether it goes also where the token that Keyfob made for it is not there. Wherever that
    ///     is, it stays, and its PIN goes.
    ///   - withoutVault: Whether it goes also where its vault is not there, and with it the token that Keyfob made.
    ///   - timeout: How long to wait for another process that makes or removes one, or makes or repairs a token.
    /// - Throws: `KeychainError`; `noSuchKeychain`, `notInitialized`, `vaultBusy` and `timedOut` while another process
    ///   makes or removes one, `refused`, `tokenAbsent` and `vaultUnavailable` as
    ///   `removal(of:withoutToken:withoutVault:timeout:)`, and what the system refuses.
    public func delete(
        _ name: String, withoutToken: Bool = false, withoutVault: Bool = false, timeout: Duration = .seconds(10)
    ) throws {
        let deadline = Deadline.after(timeout)
        // Without a lock first: who has no keychain has no directory for one.
        _ = try removal(of: name, withoutToken: withoutToken, withoutVault: withoutVault, until: deadline)
        try withLock(until: deadline) {
            switch try removal(of: name, withoutToken: withoutToken, withoutVault: withoutVault, until: deadline) {
            case .whole(let configuration):
                // An earlier one of the same name, which no longer has a configuration.
                try finishRemoval(name, withoutToken: withoutToken, until: deadline)
                try UnlockedState(directories: directories).remove(configuration.uuid.uuidString.lowercased())
                guard unsafe rename(file(name).path, note(name).path) == 0 else {
                    throw KeychainError.file("remove", file(name).path, errno)
                }
                try PrivateFile.synchronizeDirectory(folder)
                try finishRemoval(name, withoutToken: withoutToken, until: deadline)
            case .rest:
                try finishRemoval(name, withoutToken: withoutToken, until: deadline)
                try KeychainDraft(name, in: directories).clear(besides: all(), until: deadline)
            case .configuration:
                try PrivateFile.remove(file(name))
                try clearDefault(name)
            }
        }
    }

    /// One at a time: two processes that both find a name free must not both make a token.
    func withLock<Result>(until deadline: Deadline, _ body: () throws -> Result) throws -> Result {
        let lock = VaultLock(
            path: directories.configuration.appendingPathComponent(".lock", isDirectory: false).path,
            name: "the list of keychains")
        return try lock.withLock(until: deadline, body)
    }

    /// Removes what kills have left of keychains that were being made or removed. Call it with the lock held.
    ///
    /// - Throws: `KeychainError` for what is left of `name`; what is left of others is theirs to report.
    func clearRemains(for name: String, until deadline: Deadline) throws {
        try finishRemoval(name, until: deadline)
        try KeychainDraft(name, in: directories).clear(besides: all(), until: deadline, keepingKeys: true)
        let known = try listing()
        for file in try fileNames() where file.hasPrefix(".") {
            // A note that was being written: only who holds the lock writes one.
            if file.hasSuffix(OpenFile.unfinishedSuffix), file.contains(KeychainDraft.suffix + ".") {
                try PrivateFile.remove(folder.appendingPathComponent(file, isDirectory: false))
            }
            for suffix in [KeychainDraft.suffix, Self.noteSuffix, Self.tokenlessSuffix] where file.hasSuffix(suffix) {
                let other = String(file.dropFirst().dropLast(suffix.count))
                // A damaged configuration does not say which token is its own.
                guard other != name, !known.damaged.map(\.name).contains(other) else { continue }
                do {
                    if suffix == KeychainDraft.suffix {
                        try KeychainDraft(other, in: directories).clear(
                            besides: known.keychains, until: deadline, keepingKeys: true)
                    } else {
                        try finishRemoval(other, until: deadline)
                    }
                } catch { continue }
            }
        }
    }

    /// How the token that Keyfob made for a keychain was found.
    package enum OwnToken: Sendable, Equatable {
        /// It is there, or Keyfob made none.
        case present
        /// It is not there: destroyed by somebody, or out of sight.
        case absent
        /// It is none of those that can be read, and may be one of these directories, which cannot.
        case unclear([String])
    }

    /// Looks for the token that Keyfob made for a keychain.
    ///
    /// Blocks for up to a second where a token's file is just being rewritten.
    ///
    /// - Parameter deadline: Until when another process that makes or repairs a token is waited for.
    /// - Throws: As `SoftHSMDirectory.heal`; `timedOut` also where another process rewrites a token without end.
    package func ownToken(of configuration: KeychainConfiguration, until deadline: Deadline) throws -> OwnToken {
        guard configuration.module == .softHSM, let uri = try? PKCS11URI(configuration.token),
            let serial = uri.serial, let label = uri.token
        else { return .present }
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
            hint: "Mount what it lies on. Where it is gone for good, remove the rest: keyfob keychain rm "
                + "\(configuration.name) --without-token",
            details: ["keychain": configuration.name, "path": tokens])
    }

    func tokenUnclear(_ configuration: KeychainConfiguration, _ directories: [String]) -> KeychainError {
        let (name, places) = (configuration.name, directories.joined(separator: ", "))
        return KeychainError(
            .refused,
            "nobody can tell whether the token of keychain \"\(name)\" is there: \(places) cannot be read; nothing was "
                + "removed.",
            hint: "Restore token.object in it from a backup. Where the token is gone for good, remove the rest: "
                + "keyfob keychain rm \(name) --without-token",
            details: ["keychain": name, "path": directories.first ?? ""])
    }

    /// Removes what belongs to the configuration in the note, and then the note.
    ///
    /// - Parameter withoutToken: As for `delete(_:withoutToken:withoutVault:timeout:)`.
    /// - Throws: `KeychainError`; as `requireTokenGone(_:withoutToken:until:)`.
    private func finishRemoval(_ name: String, withoutToken: Bool = false, until deadline: Deadline) throws {
        try requireTokenGone(name, withoutToken: withoutToken, until: deadline)
        for (place, isTokenGone) in [(tokenlessNote(name), true), (note(name), false)] {
            guard let bytes = try PrivateFile.read(place, limit: 1 << 20) else { continue }
            do {
                // It was a configuration that could be read; what it is now says nothing about anything.
                let configuration = KeychainConfiguration(json: bytes.copyBytes())?.moved(to: directories)
                if let configuration, !isBack(configuration, as: name) {
                    try UnlockedState(directories: directories).remove(configuration.uuid.uuidString.lowercased())
                    if !isTokenGone {
                        try destroyToken(of: configuration, name, isDispensable: withoutToken, until: deadline)
                    } else if configuration.module == .softHSM, let uri = try? PKCS11URI(configuration.token) {
                        // One that names no token has left nothing of it.
                        try softHSM.removeRest(of: uri, deadline: deadline)
                    }
                    try removeFiles(of: configuration)
                }
                // The second has become the first, unless it had no token to lose.
                try PrivateFile.remove(place)
                try PrivateFile.remove(tokenlessNote(name))
            } catch let error as KeychainError {
                throw KeychainError(
                    error.code, "keychain \"\(name)\" is removed only in part: \(error.message)",
                    hint: error.code == .tokenAbsent ? error.hint : "Remove the rest: keyfob keychain rm \(name)",
                    details: error.details, cause: error)
            }
        }
    }

    /// Destroys the token that Keyfob made for a keychain, and notes that it is gone.
    ///
    /// - Parameter isDispensable: Whether the rest goes also where the token is not there.
    /// - Throws: `KeychainError`; `tokenAbsent` where nobody has destroyed it and it is not there: once it is in sight
    ///   again, what is left of the keychain is all that opens it.
    private func destroyToken(
        of configuration: KeychainConfiguration, _ name: String, isDispensable: Bool, until deadline: Deadline
    ) throws {
        func noteGone() throws(KeychainError) {
            guard unsafe rename(note(name).path, tokenlessNote(name).path) == 0 else {
                throw .file("remove", note(name).path, errno)
            }
            try PrivateFile.synchronizeDirectory(folder)
        }
        // A token that nobody can name is nobody's to remove.
        guard configuration.module == .softHSM, let uri = try? PKCS11URI(configuration.token) else { return }
        // What was only copied here, as from another home, opens nothing; nor is there anything to be kept for it.
        let isDispensable = isDispensable || !isOwnVault(configuration)
        let isThere = FileManager.default.fileExists(atPath: softHSM.root.filePath)
        if isThere {
            do throws(KeychainError) {
                return try softHSM.destroyToken(
                    uri, deadline: deadline, keepingCopies: !isDispensable, didLeave: noteGone)
            } catch {
                guard error.code == .tokenAbsent else { throw error }
            }
        }
        guard isDispensable else {
            let tokens = softHSM.tokensDirectory.filePath
            throw KeychainError(
                .tokenAbsent, "its token is not to be seen in \(tokens), and its PIN is kept for it.",
                hint: "Mount what it lies on, and try again. Where it is gone for good, remove the rest: "
                    + "keyfob keychain rm \(name) --without-token",
                details: ["keychain": name, "path": tokens])
        }
        try noteGone()
    }

    /// Removes what else Keyfob has of a keychain: PIN, vault, and what waits for renewals.
    private func removeFiles(of configuration: KeychainConfiguration) throws {
        // Whatever file its PIN source names besides is somebody's own, also where it lies beside ours.
        if configuration.module == .softHSM {
            try PrivateFile.remove(KeychainConfiguration.pinFile(of: configuration.uuid, in: directories))
        }
        try PendingHooks(keychain: configuration.uuid, directories).removeAll()
        try PendingOrders(keychain: configuration.uuid, directories).removeAll()
        try OrderLocks(keychain: configuration.uuid, directories).removeAll()
        if try !fileNames().contains(configuration.name + ".json") { try clearDefault(configuration.name) }
        // Not even what the note of a removal says: notes are copied as configurations are.
        guard isOwnVault(configuration) else { return }
        try SQLiteStore.remove(path: configuration.vault)
    }
}
