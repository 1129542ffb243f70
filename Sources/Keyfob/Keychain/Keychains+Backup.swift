public import Foundation
import Glibc
import KeyfobPrimitives
import PKCS11

/// Backups of keychains.
extension Keychains {
    /// The content of a backup.
    public struct Backup: Sendable {
        /// The name of the keychain.
        public let keychain: String
        /// Whether it contains the token's PIN, as the backup of an unattended keychain does. Protect such a file like
        /// a key.
        public let containsPIN: Bool
        /// Whether it contains the token, encrypted with its PIN. Only tokens that Keyfob made can be copied.
        public let containsToken: Bool
    }

    /// The names of a backup's members.
    private enum Part {
        static let configuration = KeychainConfiguration.fileName
        static let vault = "vault.sqlite"
        static let pin = "pin"
        /// The prefix of the token's files; the name of the token's directory and that of the file follow.
        static let token = "token/"
    }

    /// Writes a backup of a keychain: one file of mode 0600.
    ///
    /// Other processes can use the keychain at the same time. Changes to the token wait until the copy is made. The
    /// backup contains everything that was stored before the call.
    ///
    /// - Parameters:
    ///   - name: The keychain; `nil` for the default one.
    ///   - url: The file.
    ///   - isReplacing: Whether an existing file is replaced.
    ///   - timeout: How long to wait for another process that changes the token or the vault.
    /// - Returns: The content of the backup.
    /// - Throws: `KeychainError` with code `refused` if the file exists or an interrupted removal is not finished,
    ///   `vaultUnavailable`, `vaultDamaged`, `tokenAbsent` if the token that Keyfob made is missing, `vaultBusy` or
    ///   `timedOut` if another process does not finish in time, or the code of an error of the system.
    @discardableResult
    public func backUp(
        _ name: String? = nil, to url: URL, isReplacing: Bool = false, timeout: Duration = .seconds(10)
    ) throws -> Backup {
        let deadline = Deadline.after(timeout)
        let configuration = try configuration(name)
        if !isReplacing, FileManager.default.fileExists(atPath: url.filePath) {
            throw KeychainArchive.exists(url.filePath)
        }
        var members = [try member(Part.configuration, configuration.configurationFile)]
        let containsPIN = configuration.written.pinSource == KeychainConfiguration.ownPINSource
        if containsPIN { members.append(try member(Part.pin, configuration.pinFile)) }
        // The directory has a temporary name, so the next creation removes it after a kill.
        let copies = try KeychainDraft(configuration.name, in: folder)
        let folder = copies.url
        // If the directory cannot be removed now, the next creation removes it.
        defer { try? KeychainDirectory.remove(folder) }
        let vault = folder.appendingPathComponent(Part.vault, isDirectory: false)
        let token = try configuration.module == .softHSM ? ownTokenDirectory(of: configuration) : nil
        let tokenCopy = folder.appendingPathComponent("token", isDirectory: true)
        let lock = VaultLock(path: configuration.lockFile.filePath, name: "keychain \"\(configuration.name)\"")
        try lock.withLock(until: deadline) {
            try SQLiteStore.copy(
                configuration.vault, to: vault.filePath, keychain: configuration.name,
                busyTimeout: deadline.remainingSeconds)
            if let token { try copyToken(at: token, to: tokenCopy, until: deadline) }
        }
        members.append(try member(Part.vault, vault))
        if let token {
            for file in try OpenDirectory.names(in: tokenCopy).sorted() where !file.hasPrefix(".") {
                members.append(
                    try member(
                        Part.token + token.lastPathComponent + "/" + file,
                        tokenCopy.appendingPathComponent(file, isDirectory: false)))
            }
        }
        try KeychainArchive(members).write(to: url, isReplacing: isReplacing)
        return Backup(keychain: configuration.name, containsPIN: containsPIN, containsToken: token != nil)
    }

    private func member(_ name: String, _ url: URL) throws(KeychainError) -> KeychainArchive.Member {
        guard let content = try PrivateFile.read(url, limit: 1 << 32) else { throw .file("read", url.filePath, ENOENT) }
        return KeychainArchive.Member(name: name, content: content)
    }

    /// Returns the directory of the token that Keyfob made for a keychain.
    private func ownTokenDirectory(of configuration: KeychainConfiguration) throws -> URL {
        guard let uri = Self.ownTokenURI(of: configuration), let serial = uri.serial, let label = uri.token,
            case .whole(let token) = try softHSM.awaitToken(serial: serial, label: label)
        else {
            throw KeychainError(
                .tokenAbsent,
                "the token of keychain \"\(configuration.name)\" is not in \(softHSM.tokensDirectory.filePath).",
                hint: "Mount what it lies on.", details: ["keychain": configuration.name])
        }
        return token.directory
    }

    /// Copies the directory of a token in a child process.
    ///
    /// Closing a file of SoftHSM in this process would release the locks that SoftHSM holds on it. A login rewrites the
    /// token's own file, so the copy is repeated until that file is complete.
    ///
    /// - Throws: `KeychainError` with code `timedOut` if the file is not complete by `deadline`.
    private func copyToken(at source: URL, to target: URL, until deadline: Deadline) throws {
        while true {
            let copied = try ProgramRun.run(
                ["cp", "-R", "--", source.filePath + "/.", target.filePath], deadline: deadline)
            let state = target.appendingPathComponent("token.object", isDirectory: false)
            if copied.status == 0, let bytes = try PrivateFile.read(state, limit: TokenFile.maximumLength),
                TokenFile(bytes.copyBytes()) != nil
            {
                return
            }
            guard !deadline.hasPassed else {
                throw KeychainError(
                    .timedOut, "the token in \(source.filePath) cannot be copied.",
                    hint: "Try again when no other process logs in to it.", details: ["path": source.filePath])
            }
            usleep(20_000)
        }
    }

    // MARK: Restoring

    /// Makes a keychain from a backup.
    ///
    /// The whole backup is checked before anything is written. The keychain keeps its PIN or passphrase.
    ///
    /// - Parameters:
    ///   - url: The file.
    ///   - name: The name of the keychain; `nil` for the name in the backup.
    /// - Returns: The content of the backup, with the name of the keychain that was made.
    /// - Throws: `KeychainError` with code `fileDamaged` if the file is not a complete backup, `duplicateKeychain` if
    ///   there is a keychain of that name or the same keychain under another name, `tokenAmbiguous` if its token exists
    ///   already, `vaultTooNew`, or the code of an error of the system.
    @discardableResult
    public func restore(from url: URL, as name: String? = nil) throws -> Backup {
        let archive = try KeychainArchive(reading: url)
        let damage = KeychainArchive.damaged(url.filePath)
        let backup = try check(archive, name, damage)
        let name = backup.keychain
        try PrivateFile.createDirectory(folder)
        let draft = try KeychainDraft(name, in: folder)
        let place = draft.url
        var placed: (staged: URL, target: URL)?
        do {
            var configuration = try configuration(in: archive, place, damage)
            configuration.name = name
            try write(configuration)
            for part in [Part.vault, Part.pin] {
                guard let content = archive[part] else { continue }
                try PrivateFile.write(content, to: place.appendingPathComponent(part, isDirectory: false))
            }
            // Keychains that this version cannot open are not restored.
            _ = try open(configuration)
            if let token = try stageToken(of: archive, in: place, damage) {
                placed = try placeToken(token, of: configuration)
            }
            try draft.publish(as: directory(name))
            return backup
        } catch {
            // The first error is the one to report.
            if let placed { _ = unsafe rename(placed.target.filePath, placed.staged.filePath) }
            try? KeychainDirectory.remove(place)
            throw error
        }
    }

    /// Checks a backup, and whether `restore(from:as:)` would make a keychain from it, without writing anything.
    ///
    /// - Parameters:
    ///   - url: The file.
    ///   - name: The name of the keychain; `nil` for the name in the backup.
    /// - Returns: The content of the backup, with the name of the keychain that would be made.
    /// - Throws: `KeychainError` with code `fileDamaged` if the file is not a complete backup, `duplicateKeychain` if
    ///   there is a keychain of that name or the same keychain under another name, or `invalidArgument` for an invalid
    ///   name.
    public func checkBackup(at url: URL, as name: String? = nil) throws -> Backup {
        try check(KeychainArchive(reading: url), name, KeychainArchive.damaged(url.filePath))
    }

    private func check(_ archive: KeychainArchive, _ name: String?, _ damage: KeychainError) throws -> Backup {
        let saved = try configuration(in: archive, folder, damage)
        let (containsPIN, containsToken) = (archive[Part.pin] != nil, try !tokenMembers(of: archive, damage).isEmpty)
        guard archive[Part.vault] != nil, containsToken == (saved.module == .softHSM),
            containsPIN == (saved.written.pinSource == KeychainConfiguration.ownPINSource)
        else { throw damage }
        let name = name ?? saved.name
        try Self.validate(name)
        if let other = try all().first(where: { $0.uuid == saved.uuid }) {
            throw KeychainError(
                .duplicateKeychain, "keychain \"\(other.name)\" is the one in the backup; nothing was changed.",
                remedies: [Remedy("To go back to the backup, remove that keychain first", .removeKeychain(other.name))],
                details: ["keychain": other.name])
        }
        guard !exists(name) else {
            throw KeychainError(
                .duplicateKeychain, "a keychain \"\(name)\" exists already; nothing was changed.",
                remedies: [Remedy("Give the restored one another name", .change(.name))], details: ["keychain": name])
        }
        return Backup(keychain: name, containsPIN: containsPIN, containsToken: containsToken)
    }

    private func configuration(
        in archive: KeychainArchive, _ place: URL, _ damage: KeychainError
    ) throws -> KeychainConfiguration {
        guard let json = archive[Part.configuration],
            let configuration = KeychainConfiguration(json: json.copyBytes(), in: place),
            configuration.schema == KeychainConfiguration.schema
        else { throw damage }
        return configuration
    }

    /// Returns the files of the token in an archive, with the name of the token's directory.
    ///
    /// - Throws: `damage` if the names are not those of one token.
    private func tokenMembers(
        of archive: KeychainArchive, _ damage: KeychainError
    ) throws -> [(directory: String, file: String, content: SecretBytes)] {
        let members = try archive.members.filter { $0.name.hasPrefix(Part.token) }.map { member in
            let parts = member.name.dropFirst(Part.token.count).split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 2, UUID(uuidString: String(parts[0])) != nil, !parts[1].isEmpty,
                !parts[1].hasPrefix(".")
            else { throw damage }
            return (directory: String(parts[0]), file: String(parts[1]), content: member.content)
        }
        guard Set(members.map(\.directory)).count < 2 else { throw damage }
        return members
    }

    /// Writes the files of the token in an archive to a directory beside the other parts of the keychain.
    ///
    /// - Returns: The directory, named as among SoftHSM's tokens; `nil` if the archive has no token.
    /// - Throws: `damage` if the names are not those of a token; `KeychainError` if a file cannot be written.
    private func stageToken(of archive: KeychainArchive, in place: URL, _ damage: KeychainError) throws -> URL? {
        let members = try tokenMembers(of: archive, damage)
        guard let name = members.first?.directory else { return nil }
        let directory = place.appendingPathComponent(name, isDirectory: true)
        try PrivateFile.createDirectory(directory)
        for member in members {
            try PrivateFile.write(member.content, to: directory.appendingPathComponent(member.file, isDirectory: false))
        }
        return directory
    }

    /// Moves the directory of a token to the directory of SoftHSM's tokens.
    ///
    /// - Returns: The old and the new location; `nil` if an interrupted restoration had already moved it.
    /// - Throws: `KeychainError` with code `tokenAmbiguous` if the token exists already.
    private func placeToken(
        _ staged: URL, of configuration: KeychainConfiguration
    ) throws -> (staged: URL, target: URL)? {
        try softHSM.prepare()
        let target = softHSM.tokensDirectory.appendingPathComponent(staged.lastPathComponent, isDirectory: true)
        let serial = Self.ownTokenURI(of: configuration)?.serial
        let present = try softHSM.tokens().first { $0.serial == serial }?.directory
            ?? (FileManager.default.fileExists(atPath: target.filePath) ? target : nil)
        if let present {
            let isNamed = try all().contains { Self.ownTokenURI(of: $0)?.serial == serial }
            // Compared in a child process, which keeps the locks that SoftHSM holds on the files in this process.
            if !isNamed, present.lastPathComponent == target.lastPathComponent,
                try ProgramRun.run(
                    ["diff", "-rq", "--", staged.filePath, target.filePath], deadline: .after(.seconds(60))
                ).status == 0
            {
                try KeychainDirectory.remove(staged)
                return nil
            }
            throw KeychainError(
                .tokenAmbiguous,
                "the token in the backup is there already (serial \(serial ?? "")), and SoftHSM cannot hold it twice; "
                    + "nothing was changed.",
                remedies: isNamed
                    ? [Remedy("Remove the keychain that uses it first", .listKeychains)]
                    : [Remedy("No keychain uses it. Move it away, and keep it: \(present.filePath)")],
                details: ["path": present.filePath])
        }
        guard unsafe rename(staged.filePath, target.filePath) == 0 else {
            throw KeychainError.file("create", target.filePath, errno)
        }
        try PrivateFile.synchronizeDirectory(softHSM.tokensDirectory)
        return (staged, target)
    }
}
