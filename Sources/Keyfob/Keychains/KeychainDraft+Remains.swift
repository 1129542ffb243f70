import CLinux
import Foundation
import KeyfobPrimitives
import PKCS11

/// What a kill has left of a keychain that was being made.
extension KeychainDraft {
    /// The note of a creation that did not come to its end; `nil` where there is none, for one that came out of a
    /// backup, and where the vault is in use all the same.
    ///
    /// - Throws: `KeychainError` where the note cannot be read.
    private func remains() throws -> Note? {
        guard let note = try read(), let time = note.witness, witness(of: note.uuid).isOriginal(of: time),
            isVaultUsed(note.uuid) != true
        else { return nil }
        return note
    }

    /// Whether somebody has used the vault, as far as can be told: no creation puts more into it than one wrapping key.
    /// `nil` for one that is missing, or has not come further than the first page.
    private func isVaultUsed(_ uuid: UUID) -> Bool? {
        let path = Self.vault(of: uuid, in: directories).filePath
        do {
            return try SQLiteStore(path: path, use: .oneShot, busyTimeout: 2).read { vault in
                try vault.rowCount() > 0 || vault.wrappingKeys().count > 1
            }
        } catch {
            // One that is busy, damaged or too new is somebody's.
            var status = stat()
            return unsafe stat(path, &status) == 0 && status.st_size > 4096 ? true : nil
        }
    }

    /// The keys that an earlier attempt may have left on a token; `nil` where there are none.
    ///
    /// - Throws: `KeychainError` where the note cannot be read.
    func leftKeys() throws -> LeftKeys? {
        guard let note = try remains(), let token = note.token, let ids = note.wrappingKeys, !ids.isEmpty else {
            return nil
        }
        return LeftKeys(token: token, ids: ids)
    }

    /// Removes what a kill has left of an earlier attempt: token, PIN, vault and note.
    ///
    /// Call it with the lock of all creations held, and only where no keychain has the name. All but the note stays
    /// where it may be in use: where the note came out of a backup, where there is anything in the vault or more on the
    /// token than a creation puts there, or where another keychain names the token.
    ///
    /// Keys on a token of somebody else's stay: nobody has its PIN here. See `leftKeys()`.
    ///
    /// - Parameters:
    ///   - others: The keychains that there are.
    ///   - deadline: Until when to wait for another process that works on SoftHSM's tokens.
    ///   - keepsKeys: Whether a note of keys on a token of somebody else's stays, for who has the PIN some day.
    /// - Throws: `KeychainError`.
    func clear(
        besides others: [KeychainConfiguration], until deadline: Deadline, keepingKeys keepsKeys: Bool = false
    ) throws {
        guard FileManager.default.fileExists(atPath: file.filePath) else { return }
        try PrivateFile.remove(configuration)
        // What came to its end has left nothing.
        if let note = try remains(), !others.contains(where: { $0.uuid == note.uuid }) {
            // A configuration whose URI cannot be read names no token that could be spared for it.
            let serials = Set(others.compactMap { try? PKCS11URI($0.token).serial })
            if try removeTokens(of: note, besides: serials, until: deadline) { try removeFiles(of: note.uuid) }
            guard try !keepsKeys || leftKeys() == nil else { return }
        }
        try forget(read())
    }

    /// Removes the token that was made, or was being made, when the kill came.
    ///
    /// - Parameter taken: The serial numbers of the tokens that keychains name.
    /// - Returns: Whether PIN and vault may go; not where the token stays because it may be in use.
    private func removeTokens(of note: Note, besides taken: Set<String>, until deadline: Deadline) throws -> Bool {
        // What is no URI was never written here, and names no token.
        let made = note.made.flatMap { try? PKCS11URI($0).serial }
        if let made, taken.contains(made) { return false }
        func wasBefore(_ identifier: String) -> Bool { note.before?.contains(identifier) ?? true }
        // A token whose file the kill has emptied would come back later.
        let unusable = try softHSM.heal(deadline: deadline).unusable
        var doomed: [SoftHSMToken] = []
        for token in try softHSM.tokens() where token.label == name && !taken.contains(token.serial) {
            let objects = try ObjectListing(of: token).files.count
            if let made {
                guard token.serial == made else { continue }
                // Whoever makes the first key has made the vault, so that one can be read.
                guard objects == 0 || objects == 1 && isVaultUsed(note.uuid) == false else { return false }
            } else {
                // It is noted before anything is put on it: what has an object is somebody else's, who may have another
                // list of keychains.
                guard objects == 0, !wasBefore(token.directory.lastPathComponent) else { continue }
            }
            doomed.append(token)
        }
        for token in doomed {
            try softHSM.destroyToken(serial: token.serial, label: token.label, deadline: deadline)
        }
        // A token that was being made when the kill came has no PINs yet, and nothing on it.
        for identifier in unusable where !wasBefore(identifier) {
            try softHSM.removeUnusableToken(identifier, deadline: deadline)
        }
        return true
    }

    /// Removes PIN and vault. The witness stays, for as long as the note does.
    private func removeFiles(of uuid: UUID) throws {
        let vault = Self.vault(of: uuid, in: directories)
        // In its order, which keeps its log as long as it is there itself.
        try SQLiteStore.remove(path: vault.filePath)
        // By the beginning of their names: a kill may have come while one was being written.
        let kept = witness(of: uuid).path
        for folder in ["pins", "vaults"] {
            let folder = directories.data.appendingPathComponent(folder, isDirectory: true)
            for name in try OpenDirectory.names(in: folder) where name.hasPrefix(uuid.uuidString.lowercased() + ".") {
                let file = folder.appendingPathComponent(name, isDirectory: false)
                if file.filePath != kept { try PrivateFile.remove(file) }
            }
        }
    }
}
