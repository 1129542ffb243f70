import CLinux
package import Foundation
package import KeyfobPrimitives
import KeyfobOpenSSL
package import PKCS11

extension SoftHSMDirectory {
    /// The result of `heal()`.
    package struct Healing: Sendable, Hashable {
        /// The tokens whose `token.object` was restored. A module that was initialized before does not see them until
        /// it is initialized again.
        package let restored: [SoftHSMToken]

        /// Directories with an unusable `token.object` and no copy of it: tokens whose creation was killed, or that
        /// were never logged into here.
        package let unusable: [String]
    }

    /// The well-formed tokens in the directory; empty if no token was created yet. Blocks for reading one small file
    /// each.
    ///
    /// - Returns: The tokens.
    /// - Throws: `KeychainError` with code `fileUnavailable`.
    public func tokens() throws(KeychainError) -> [SoftHSMToken] {
        try survey().tokens
    }

    /// The token with this serial number and label; `nil` if there is none.
    ///
    /// - Parameters:
    ///   - serial: The serial number.
    ///   - label: The label.
    /// - Returns: The token.
    /// - Throws: `KeychainError` with code `tokenAmbiguous` if there are two, which happens only if directories are
    ///   copied by hand; `fileUnavailable`.
    public func token(serial: String, label: String) throws(KeychainError) -> SoftHSMToken? {
        try one(of: tokens(), serial: serial, label: label)
    }

    private func one(
        of tokens: [SoftHSMToken], serial: String, label: String
    ) throws(KeychainError) -> SoftHSMToken? {
        let found = tokens.filter { $0.serial == serial && $0.label == label }
        guard found.count < 2 else { throw ambiguity(found) }
        return found.first
    }

    /// The tokens, including those of `expected` that a login is rewriting at this moment.
    ///
    /// Without them, their owners would look for a backup. Blocks for up to half a second for each token that is
    /// missing.
    ///
    /// - Parameter expected: The tokens to wait for.
    /// - Returns: The tokens.
    /// - Throws: `KeychainError` with code `fileUnavailable` or `tokenAmbiguous`.
    package func tokens(awaiting expected: [PKCS11URI]) throws(KeychainError) -> [SoftHSMToken] {
        var tokens = try tokens()
        for uri in expected {
            guard let serial = uri.serial, let label = uri.token,
                !tokens.contains(where: { $0.serial == serial && $0.label == label }),
                case .whole(let token) = try awaitToken(serial: serial, label: label)
            else { continue }
            tokens.append(token)
        }
        return tokens.sorted { $0.directory.lastPathComponent < $1.directory.lastPathComponent }
    }

    /// The result of looking for a token.
    package enum Presence: Equatable {
        case whole(SoftHSMToken)
        /// Not among the readable tokens, but there are unreadable ones.
        case unclear
        case absent
    }

    /// Looks for a token, for up to half a second if its file may be being rewritten.
    ///
    /// - Throws: `KeychainError` with code `fileUnavailable` or `tokenAmbiguous`.
    package func awaitToken(serial: String, label: String) throws(KeychainError) -> Presence {
        let deadline = Deadline.after(.milliseconds(500))
        while true {
            let survey = try survey()
            if let token = try one(of: survey.tokens, serial: serial, label: label) { return .whole(token) }
            if survey.unusable.isEmpty { return .absent }
            if deadline.hasPassed { return .unclear }
            usleep(2_000)
        }
    }

    /// Restores token files that a kill during a login has truncated, and refuses tokens that make SoftHSM end the
    /// process. Call it before loading the module.
    ///
    /// SoftHSM rewrites `token.object` at each login: it truncates the file, releases its lock and then writes, without
    /// a sync. A kill between truncating and writing leaves the file empty and makes the token with all its keys
    /// inaccessible. A login may be at that point right now, so a file counts as unusable only after it has stayed so,
    /// unchanged, for 100 ms. An even slower login does no harm: the copy is moved into place with a rename, and the
    /// login then writes to the unlinked file.
    ///
    /// A file with a few changed bytes is unusable too: SoftHSM would report the right PIN as wrong, or not find the
    /// token.
    ///
    /// Costs one small read for each token if all is well. Any number of processes may call it at once.
    ///
    /// - Parameter deadline: The limit for waiting for the directory's lock.
    /// - Returns: The tokens that were restored, and those that could not be.
    /// - Throws: `KeychainError` with code `timedOut` if another process holds the lock until `deadline`,
    ///   `fileUnavailable`, or `tokenAmbiguous` if two tokens have the same serial number.
    @discardableResult
    package func heal(deadline: Deadline) throws(KeychainError) -> Healing {
        let survey = try survey()
        guard !survey.unusable.isEmpty else {
            try requireDistinct(survey)
            return Healing(restored: [], unusable: [])
        }
        let healing = try holdingLock(until: deadline) { () throws(KeychainError) in
            try healLocked()
        }
        // Check again, including the restored tokens.
        try requireDistinctTokens()
        return healing
    }

    /// Does the work of `heal()` for a caller that holds the lock.
    package func healLocked() throws(KeychainError) -> Healing {
        var restored: [SoftHSMToken] = []
        var unusable: [String] = []
        for identifier in try survey().unusable {
            guard try staysUnusable(identifier) else { continue }
            guard let copy = try readCopy(identifier) else {
                unusable.append(identifier)
                continue
            }
            try PrivateFile.write(copy.bytes, to: tokenFile(identifier))
            restored.append(token(copy.content, identifier))
        }
        return Healing(restored: restored, unusable: unusable)
    }

    /// Saves a copy of a token's file as it was last read, unless the saved copy is equivalent. Call it after a
    /// successful login, which proves that the file is not damaged.
    ///
    /// Reads no file, because SoftHSM runs in this process: `heal()` has read it before. A new copy is needed only if a
    /// PIN, the label or the serial number differs, not for the counters that every login changes.
    ///
    /// - Parameters:
    ///   - serial: The token's serial number.
    ///   - deadline: The limit for waiting for the directory's lock.
    /// - Throws: `KeychainError` with code `timedOut` if another process holds the lock until `deadline`;
    ///   `fileUnavailable`.
    package func saveCopy(serial: String, deadline: Deadline) throws(KeychainError) {
        for (path, file) in filesRead(serial: serial) where !file.isSaved {
            try holdingLock(until: deadline) { () throws(KeychainError) in
                try saveCopy(file.bytes, of: URL(fileURLWithPath: path).lastPathComponent)
            }
            Self.filesRead.withLock { $0[path]?.isSaved = true }
        }
    }

    /// The content of a token's file when it was last read.
    private struct FileRead {
        let content: TokenFile
        let bytes: SecretBytes
        /// Whether there is a copy that differs only in counters.
        var isSaved: Bool
    }

    /// The token files as this process last read them, by the token's directory.
    private static let filesRead = Lock<[String: FileRead]>([:])

    private func filesRead(serial: String) -> [String: FileRead] {
        Self.filesRead.withLock { files in
            files.filter { $0.key.hasPrefix(tokensDirectory.filePath + "/") && $0.value.content.serial == serial }
        }
    }

    /// The token, if this process has read its file before and the file is not empty. Opens no file.
    package func knownToken(serial: String, label: String) -> SoftHSMToken? {
        for (path, file) in filesRead(serial: serial) where file.content.label == label {
            let identifier = URL(fileURLWithPath: path).lastPathComponent
            var status = stat()
            guard unsafe lstat(tokenFile(identifier).filePath, &status) == 0, status.st_size > 0 else { continue }
            return token(file.content, identifier)
        }
        return nil
    }

    /// Copies one token's file, for a caller that holds the lock.
    package func refreshCopyLocked(_ identifier: String) throws(KeychainError) {
        guard let current = try readToken(identifier) else { return }
        try saveCopy(current.bytes, of: identifier)
    }

    /// Saves a copy of one token's file, for a caller that holds the lock.
    func saveCopy(_ bytes: SecretBytes, of identifier: String) throws(KeychainError) {
        try PrivateFile.createDirectory(copiesDirectory)
        try PrivateFile.createDirectory(copyFile(identifier).deletingLastPathComponent())
        for file in [copyFile(identifier), checksumFile(identifier)] { try PrivateFile.removeUnfinished(file) }
        try PrivateFile.write(bytes, to: copyFile(identifier))
        try PrivateFile.write(SecretBytes(utf8: Self.checksum(bytes)), to: checksumFile(identifier))
    }

    /// A digest of what the token's user PIN decrypts, which changes with the PIN; empty if it is unknown.
    ///
    /// Uses the file as this process last read it, which is before it loaded SoftHSM.
    package func pinEdition(serial: String, label: String) -> Data {
        if filesRead(serial: serial).isEmpty {
            // If the file cannot be read, the result is empty.
            _ = try? tokens()
        }
        let file = filesRead(serial: serial).values.first { $0.content.label == label }
        return file.map { Digest.sha256(Data($0.content.userPIN)) } ?? Data()
    }

    /// Runs `heal()` and returns the paths of the directories whose `token.object` stays unusable.
    ///
    /// - Throws: `KeychainError`; the errors of `heal()`.
    package func unusableDirectories(deadline: Deadline) throws(KeychainError) -> [String] {
        try heal(deadline: deadline).unusable.map {
            tokensDirectory.appendingPathComponent($0, isDirectory: true).filePath
        }
    }

    /// The directory with the objects of a token; `nil` if it is unknown.
    package func directory(serial: String?, label: String) -> URL? {
        // Called to explain an earlier failure, so errors of this look-up are not reported.
        serial.flatMap { try? token(serial: $0, label: label) }?.directory
    }

    /// The names of SoftHSM's token directories.
    package func identifiers() throws(KeychainError) -> [String] {
        try OpenDirectory.names(in: tokensDirectory).filter(Self.isIdentifier).sorted()
    }

    /// SoftHSM names token directories by UUIDs. It has not created directories with other names.
    private static func isIdentifier(_ name: String) -> Bool { UUID(uuidString: name) != nil }

    package func tokenFile(_ identifier: String) -> URL {
        tokensDirectory.appendingPathComponent(identifier, isDirectory: true)
            .appendingPathComponent("token.object", isDirectory: false)
    }

    package func copyFile(_ identifier: String) -> URL {
        copiesDirectory.appendingPathComponent(identifier, isDirectory: true)
            .appendingPathComponent("token.object", isDirectory: false)
    }

    /// The checksum file of a copy. If file and copy differ, it shows which one is damaged.
    package func checksumFile(_ identifier: String) -> URL {
        copyFile(identifier).appendingPathExtension("sha256")
    }

    private static func checksum(_ bytes: SecretBytes) -> String { Digest.sha256(bytes.copyData()).hexadecimal }

    /// Whether a copy matches its checksum.
    private func isIntact(_ copy: SecretBytes, _ identifier: String) -> Bool {
        // A checksum that cannot be read proves nothing.
        let known = (try? PrivateFile.read(checksumFile(identifier), limit: 256)) ?? nil
        return known?.copyString() == Self.checksum(copy)
    }

    package func token(_ file: TokenFile, _ identifier: String) -> SoftHSMToken {
        SoftHSMToken(
            label: file.label, serial: file.serial, hasUserPIN: file.hasUserPIN,
            directory: tokensDirectory.appendingPathComponent(identifier, isDirectory: true))
    }

    /// The contents of the tokens directory.
    package struct Survey {
        /// The readable tokens.
        package var tokens: [SoftHSMToken] = []
        /// The directory names of the unreadable tokens.
        package var unusable: [String] = []
        /// Names that SoftHSM does not use for its token directories.
        package var others: [String] = []
    }

    /// Reads all tokens in one pass. With two passes a login could truncate a file in between, and its token would be
    /// missed.
    package func survey() throws(KeychainError) -> Survey {
        var survey = Survey()
        for name in try OpenDirectory.names(in: tokensDirectory).sorted() {
            if !Self.isIdentifier(name) {
                survey.others.append(name)
            } else if let file = try readToken(name) {
                survey.tokens.append(token(file.content, name))
            } else {
                survey.unusable.append(name)
            }
        }
        return survey
    }

    /// The file of a token; `nil` if it is missing, unusable, or damaged according to its copy.
    private func readToken(_ identifier: String) throws(KeychainError) -> (content: TokenFile, bytes: SecretBytes)? {
        guard let file = try read(tokenFile(identifier)) else { return nil }
        // A copy that cannot be read proves nothing.
        let copy = (try? readCopy(identifier)) ?? nil
        let isCopyWhole = copy.map { isIntact($0.bytes, identifier) } ?? false
        if let copy, isCopyWhole, file.content.isDamaged(since: copy.content) { return nil }
        let isSaved = isCopyWhole && copy?.content.substance == file.content.substance
        let known = FileRead(content: file.content, bytes: file.bytes, isSaved: isSaved)
        Self.filesRead.withLock { $0[tokensDirectory.filePath + "/" + identifier] = known }
        return file
    }

    private func readCopy(_ identifier: String) throws(KeychainError) -> (content: TokenFile, bytes: SecretBytes)? {
        try read(copyFile(identifier), isCopy: true)
    }

    /// Reads a token file; `nil` if it is missing or not well-formed.
    private func read(
        _ url: URL, isCopy: Bool = false
    ) throws(KeychainError) -> (content: TokenFile, bytes: SecretBytes)? {
        guard let file = try SoftHSMFile(url.filePath, isCopy: isCopy, limit: TokenFile.maximumLength + 1) else {
            return nil
        }
        try PrivateFile.requirePrivate(file.status, path: url.filePath)
        guard file.bytes.count <= TokenFile.maximumLength, let content = TokenFile(file.bytes.copyBytes()) else {
            return nil
        }
        return (content, file.bytes)
    }

    /// Whether the file is unusable now and stays unchanged for 100 ms.
    private func staysUnusable(_ identifier: String) throws(KeychainError) -> Bool {
        let url = tokenFile(identifier)
        var quiet = 0
        var last = Self.fingerprint(url)
        // A change of the file restarts the wait, which ends after two seconds. SoftHSM truncates and rewrites the file
        // at every login, so a tight loop of logins appears as changes; the file is usable most of the time.
        for _ in 0..<200 {
            if try readToken(identifier) != nil { return false }
            let now = Self.fingerprint(url)
            quiet = now == last ? quiet + 1 : 0
            last = now
            if quiet > 10 { return true }
            usleep(10_000)
        }
        return false
    }

    private static func fingerprint(_ url: URL) -> [Int64] {
        var status = stat()
        guard unsafe lstat(url.filePath, &status) == 0 else { return [] }
        return [
            Int64(bitPattern: UInt64(status.st_ino)), Int64(status.st_size),
            Int64(status.st_mtim.tv_sec), Int64(status.st_mtim.tv_nsec),
        ]
    }
}
