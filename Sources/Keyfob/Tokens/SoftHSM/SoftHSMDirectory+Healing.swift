import CLinux
import Foundation
package import KeyfobPrimitives
import KeyfobOpenSSL
package import PKCS11

extension SoftHSMDirectory {
    /// What `heal()` did.
    package struct Healing: Sendable, Hashable {
        /// The tokens whose `token.object` was put back. A module that was initialised before does not
        /// see them until it is initialised again.
        package let restored: [SoftHSMToken]

        /// Directories whose `token.object` is unusable and of which there is no copy: tokens that a
        /// kill stopped while they were being made, or that never were logged into here.
        package let unusable: [String]
    }

    /// The tokens that are in the directory and well-formed. Blocks for reading one small file each.
    ///
    /// Empty where nothing has been made yet. - Throws: `fileUnavailable`.
    public func tokens() throws(KeychainError) -> [SoftHSMToken] {
        try survey().tokens
    }

    /// The one token with this serial number and label; `nil` where there is none.
    ///
    /// - Throws: `tokenAmbiguous` when there are two, which only copying directories by hand can make.
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

    /// The tokens, with those of `expected` that a login is rewriting at this moment: a list without them would have
    /// their owner look for a backup.
    ///
    /// Blocks for up to half a second for each that is not there. - Throws: `fileUnavailable`; `tokenAmbiguous`.
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

    /// How a token was found.
    enum Sight: Equatable {
        case whole(SoftHSMToken)
        /// Not among the tokens that can be read, and there are some that cannot.
        case unclear
        case absent
    }

    /// Looks for a token, for up to half a second where its file may just be being rewritten.
    ///
    /// - Throws: `fileUnavailable`; `tokenAmbiguous`.
    func awaitToken(serial: String, label: String) throws(KeychainError) -> Sight {
        let deadline = Deadline.after(.milliseconds(500))
        while true {
            let survey = try survey()
            if let token = try one(of: survey.tokens, serial: serial, label: label) { return .whole(token) }
            if survey.unusable.isEmpty { return .absent }
            if deadline.hasPassed { return .unclear }
            usleep(2_000)
        }
    }

    /// Puts back what a kill in the middle of a login has emptied, and refuses what SoftHSM would end the process for.
    /// Call it before loading the module.
    ///
    /// SoftHSM rewrites `token.object` at each login: it truncates, gives its lock back and then writes,
    /// without a sync. A kill between the two leaves the file empty, and the token with all its keys is
    /// out of reach. Since a login may be between the two right now, an unusable file is believed only
    /// after it has stayed so, unchanged, for 100 ms. A login that is slower still does no harm: the copy
    /// is put in place by a rename, and the login then writes to a file that nobody sees any more.
    ///
    /// A file in which a few bytes have changed is unusable, too: SoftHSM would call the right PIN wrong, or not find
    /// the token.
    ///
    /// Costs one small read for each token when all is well; any number of processes may call it at once.
    ///
    /// - Throws: `timedOut` when another process holds the lock until `deadline`; `fileUnavailable`; `tokenAmbiguous`
    ///   as `requireDistinctTokens()`.
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
        // With what was put back.
        try requireDistinctTokens()
        return healing
    }

    /// `heal()` for a caller that holds the lock.
    func healLocked() throws(KeychainError) -> Healing {
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

    /// Saves the copy of a token's file as it was when it was read last, if that differs from the saved one. Call it
    /// after a good login, which proves that the file is not damaged.
    ///
    /// Reads nothing, since SoftHSM runs in this process: `heal()` has read the file before. A new copy is needed only
    /// if a PIN, the label or the serial number differs, not for the counters that every login changes.
    ///
    /// - Throws: As `heal()`.
    func saveCopy(serial: String, deadline: Deadline) throws(KeychainError) {
        for (path, file) in filesRead(serial: serial) where !file.isSaved {
            try holdingLock(until: deadline) { () throws(KeychainError) in
                try saveCopy(file.bytes, of: URL(fileURLWithPath: path).lastPathComponent)
            }
            Self.filesRead.withLock { $0[path]?.isSaved = true }
        }
    }

    /// What was read last of a token's file.
    private struct FileRead {
        let content: TokenFile
        let bytes: SecretBytes
        /// Whether there is a copy that differs in counters only.
        var isSaved: Bool
    }

    /// The files of tokens as this process read them last, by the token's directory.
    private static let filesRead = Lock<[String: FileRead]>([:])

    private func filesRead(serial: String) -> [String: FileRead] {
        Self.filesRead.withLock { files in
            files.filter { $0.key.hasPrefix(tokensDirectory.filePath + "/") && $0.value.content.serial == serial }
        }
    }

    /// The token, if this process has read its file before and the file is not empty. Opens no file.
    func knownToken(serial: String, label: String) -> SoftHSMToken? {
        for (path, file) in filesRead(serial: serial) where file.content.label == label {
            let identifier = URL(fileURLWithPath: path).lastPathComponent
            var status = stat()
            guard unsafe lstat(tokenFile(identifier).filePath, &status) == 0, status.st_size > 0 else { continue }
            return token(file.content, identifier)
        }
        return nil
    }

    /// Reads the files of all tokens, and saves the copies that differ. For a caller that knows the tokens to be whole.
    ///
    /// - Throws: As `heal()`.
    package func refreshCopies(deadline: Deadline) throws(KeychainError) {
        for token in try tokens() { try saveCopy(serial: token.serial, deadline: deadline) }
    }

    /// Copies one token's file, for a caller that holds the lock.
    func refreshCopyLocked(_ identifier: String) throws(KeychainError) {
        guard let current = try readToken(identifier) else { return }
        try saveCopy(current.bytes, of: identifier)
    }

    private func saveCopy(_ bytes: SecretBytes, of identifier: String) throws(KeychainError) {
        try PrivateFile.createDirectory(copiesDirectory)
        try PrivateFile.createDirectory(copyFile(identifier).deletingLastPathComponent())
        try PrivateFile.write(bytes, to: copyFile(identifier))
        try PrivateFile.write(SecretBytes(utf8: Self.checksum(bytes)), to: checksumFile(identifier))
    }

    /// A digest of the PIN that a token has, by what that PIN opens; empty if it cannot be told.
    ///
    /// By the file as this process read it last, which is before it loaded SoftHSM.
    func pinEdition(serial: String, label: String) -> Data {
        if filesRead(serial: serial).isEmpty {
            // A file that cannot be read tells nothing.
            _ = try? tokens()
        }
        let file = filesRead(serial: serial).values.first { $0.content.label == label }
        return file.map { Digest.sha256(Data($0.content.userPIN)) } ?? Data()
    }

    /// Heals, and returns the paths of the directories whose `token.object` stays unusable. - Throws: As `heal()`.
    func unusableDirectories(deadline: Deadline) throws(KeychainError) -> [String] {
        try heal(deadline: deadline).unusable.map {
            tokensDirectory.appendingPathComponent($0, isDirectory: true).filePath
        }
    }

    /// Where the objects of a token lie; `nil` where that cannot be told.
    func directory(serial: String?, label: String) -> URL? {
        // Asked after a failure, which is what the caller is told then.
        serial.flatMap { try? token(serial: $0, label: label) }?.directory
    }

    /// The names of SoftHSM's token directories.
    func identifiers() throws(KeychainError) -> [String] {
        try OpenDirectory.names(in: tokensDirectory).filter(Self.isIdentifier).sorted()
    }

    /// SoftHSM names its tokens' directories by UUIDs; what is named otherwise it has not made.
    private static func isIdentifier(_ name: String) -> Bool { UUID(uuidString: name) != nil }

    func tokenFile(_ identifier: String) -> URL {
        tokensDirectory.appendingPathComponent(identifier, isDirectory: true)
            .appendingPathComponent("token.object", isDirectory: false)
    }

    func copyFile(_ identifier: String) -> URL {
        copiesDirectory.appendingPathComponent(identifier, isDirectory: true)
            .appendingPathComponent("token.object", isDirectory: false)
    }

    /// The checksum of the copy: of two files that differ it tells which one is damaged.
    func checksumFile(_ identifier: String) -> URL {
        copyFile(identifier).appendingPathExtension("sha256")
    }

    private static func checksum(_ bytes: SecretBytes) -> String { Digest.sha256(bytes.copyData()).hexadecimal }

    /// Whether a copy is as it was written.
    private func isIntact(_ copy: SecretBytes, _ identifier: String) -> Bool {
        // A checksum that cannot be read proves nothing.
        let known = (try? PrivateFile.read(checksumFile(identifier), limit: 256)) ?? nil
        return known?.copyString() == Self.checksum(copy)
    }

    func token(_ file: TokenFile, _ identifier: String) -> SoftHSMToken {
        SoftHSMToken(
            label: file.label, serial: file.serial, hasUserPIN: file.hasUserPIN,
            directory: tokensDirectory.appendingPathComponent(identifier, isDirectory: true))
    }

    /// What lies among the tokens.
    struct Survey {
        /// Those that can be read.
        var tokens: [SoftHSMToken] = []
        /// The directories of those that cannot.
        var unusable: [String] = []
        /// What is called otherwise than SoftHSM calls its tokens' directories.
        var others: [String] = []
    }

    /// Looks at every token in one walk, for a login may empty a file between two, and its token would not be found.
    func survey() throws(KeychainError) -> Survey {
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

    /// A well-formed token file; `nil` when it is missing or unusable.
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

    /// Whether the file is unusable now and stays as it is for 100 ms.
    private func staysUnusable(_ identifier: String) throws(KeychainError) -> Bool {
        let url = tokenFile(identifier)
        var quiet = 0
        var last = Self.fingerprint(url)
        // A change of the file restarts the wait, which ends after two seconds. SoftHSM truncates and rewrites the
        // file at every login, so a tight loop of logins appears as changes; the file is usable most of the time.
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
