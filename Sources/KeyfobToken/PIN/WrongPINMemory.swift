public import Foundation
public import KeyfobPrimitives
import KeyfobOpenSSL

/// The stored PINs that a token has refused, so that no process sends one of them again.
///
/// Otherwise a script that runs every minute with an outdated PIN would block the token within the hour. The file
/// contains salted scrypt hashes, not PINs, and has mode 0600. Every call reads the file again, so that processes learn
/// from each other at once. Only stored PINs are recorded, not those that a person types.
///
/// For tokens that do not report their tries, the memory also counts the wrong PINs since the last successful login.
public struct WrongPINMemory: Sendable {
    private struct File: Codable {
        var version = 1
        var salt: Data
        var entries: [Entry] = []
        var counts: [Count] = []
    }

    /// The number of wrong PINs that a token has refused in a row.
    private struct Count: Codable {
        let token: Data
        var failures: Int
    }

    private struct Entry: Codable {
        let token: Data
        let pin: Data
        /// Identifies the token's PIN at the time of the refusal.
        let edition: Data?
    }

    /// The maximum number of PINs in total and for one token. The oldest are removed first.
    package static let capacity = 64
    package static let capacityPerToken = 8

    private let file: URL

    /// The memory in a directory. Does not access the file system.
    package init(directory: URL) {
        file = directory.appendingPathComponent("wrong-pins.json", isDirectory: false)
    }

    /// Whether the token has refused `pin` before. Blocks for some 10 ms if the token has an entry.
    ///
    /// - Parameters:
    ///   - pin: The PIN.
    ///   - serial: The token's serial number.
    ///   - label: The token's label.
    ///   - edition: Identifies the token's current PIN; entries for another edition do not count. `nil` if it is
    ///     unknown, so that all entries count.
    /// - Returns: Whether it was refused.
    /// - Throws: `KeychainError` with code `unsafeFile` or `fileUnavailable` if the file cannot be read; a damaged file
    ///   counts as empty.
    public func contains(
        _ pin: SecretBytes, serial: String, label: String, edition: @autoclosure () -> Data? = nil
    ) throws(KeychainError) -> Bool {
        guard let content = try load() else { return false }
        let token = Self.tokenDigest(serial, label, content.salt)
        var entries = content.entries.filter { $0.token == token }
        guard !entries.isEmpty else { return false }
        if let edition = edition() { entries.removeAll { $0.edition != edition } }
        guard !entries.isEmpty else { return false }
        let digest = try Self.pinDigest(pin, token, content.salt)
        return entries.contains { constantTimeEqual($0.pin, digest) }
    }

    /// Records that the token refused `pin`.
    ///
    /// - Parameters:
    ///   - pin: The PIN.
    ///   - serial: The token's serial number.
    ///   - label: The token's label.
    ///   - edition: Identifies the token's current PIN; `nil` if it is unknown.
    ///   - deadline: The limit for waiting for another process that writes the file.
    /// - Throws: `KeychainError` with code `unsafeFile` or `fileUnavailable` if the file cannot be read or written,
    ///   `timedOut` at `deadline`.
    public func remember(
        _ pin: SecretBytes, serial: String, label: String, edition: Data? = nil, until deadline: Deadline
    ) throws(KeychainError) {
        try update(until: deadline) { (content: inout File) throws(KeychainError) in
            let token = Self.tokenDigest(serial, label, content.salt)
            let digest = try Self.pinDigest(pin, token, content.salt)
            guard !content.entries.contains(where: { $0.token == token && $0.pin == digest && $0.edition == edition })
            else { return false }
            let others = content.entries.filter { $0.token == token }.count - Self.capacityPerToken + 1
            if others > 0 {
                for _ in 0..<others {
                    guard let oldest = content.entries.firstIndex(where: { $0.token == token }) else { break }
                    content.entries.remove(at: oldest)
                }
            }
            content.entries.append(Entry(token: token, pin: digest, edition: edition))
            content.entries.removeFirst(max(0, content.entries.count - Self.capacity))
            return true
        }
    }

    /// Removes all entries of the token, after a successful login or a change of the PIN: a PIN that was refused may be
    /// the right one now.
    ///
    /// Takes no lock and writes nothing if there are no entries.
    ///
    /// - Parameters:
    ///   - serial: The token's serial number.
    ///   - label: The token's label.
    ///   - deadline: The limit for waiting for another process that writes the file.
    /// - Throws: `KeychainError` with code `unsafeFile` or `fileUnavailable` if the file cannot be read or written,
    ///   `timedOut` at `deadline`.
    public func forget(serial: String, label: String, until deadline: Deadline) throws(KeychainError) {
        guard let content = try load(), !content.entries.isEmpty else { return }
        let token = Self.tokenDigest(serial, label, content.salt)
        guard content.entries.contains(where: { $0.token == token }) else { return }
        try update(until: deadline) { (content: inout File) throws(KeychainError) in
            let token = Self.tokenDigest(serial, label, content.salt)
            let count = content.entries.count
            content.entries.removeAll { $0.token == token }
            return content.entries.count != count
        }
    }

    /// The number of wrong PINs that the token has refused since the last successful login, of any origin.
    ///
    /// - Parameters:
    ///   - serial: The token's serial number.
    ///   - label: The token's label.
    /// - Returns: The number; 0 for tokens whose tries are not counted here.
    /// - Throws: `KeychainError` with code `unsafeFile` or `fileUnavailable` if the file cannot be read.
    package func failures(serial: String, label: String) throws(KeychainError) -> Int {
        guard let content = try load() else { return 0 }
        let token = Self.tokenDigest(serial, label, content.salt)
        return content.counts.first { $0.token == token }?.failures ?? 0
    }

    /// Counts a wrong PIN that the token refused.
    ///
    /// - Parameters:
    ///   - serial: The token's serial number.
    ///   - label: The token's label.
    ///   - deadline: The limit for waiting for another process that writes the file.
    /// - Throws: `KeychainError` with code `unsafeFile` or `fileUnavailable` if the file cannot be read or written,
    ///   `timedOut` at `deadline`.
    package func countFailure(serial: String, label: String, until deadline: Deadline) throws(KeychainError) {
        try update(until: deadline) { (content: inout File) throws(KeychainError) in
            let token = Self.tokenDigest(serial, label, content.salt)
            let failures = (content.counts.first { $0.token == token }?.failures ?? 0) + 1
            content.counts.removeAll { $0.token == token }
            content.counts.append(Count(token: token, failures: failures))
            content.counts.removeFirst(max(0, content.counts.count - Self.capacity))
            return true
        }
    }

    /// Sets the token's count to 0, after a successful login. Writes nothing if it is 0.
    ///
    /// - Parameters:
    ///   - serial: The token's serial number.
    ///   - label: The token's label.
    ///   - deadline: The limit for waiting for another process that writes the file.
    /// - Throws: `KeychainError` with code `unsafeFile` or `fileUnavailable` if the file cannot be read or written,
    ///   `timedOut` at `deadline`.
    package func resetFailures(serial: String, label: String, until deadline: Deadline) throws(KeychainError) {
        guard try failures(serial: serial, label: label) > 0 else { return }
        try update(until: deadline) { (content: inout File) throws(KeychainError) in
            let token = Self.tokenDigest(serial, label, content.salt)
            content.counts.removeAll { $0.token == token }
            return true
        }
    }

    /// Runs `body`, which sends a PIN to the token, while no other process of this user does so.
    ///
    /// The next process then knows about a refusal. If the lock file cannot be opened, `body` runs without the lock.
    /// `body` may use the memory. A correct PIN costs four additional system calls.
    ///
    /// - Parameters:
    ///   - serial: The token's serial number.
    ///   - label: The token's label.
    ///   - deadline: The limit for waiting for other processes.
    ///   - body: Sends the PIN.
    /// - Returns: The result of `body`.
    /// - Throws: `KeychainError` with code `timedOut` at `deadline`; errors of `body`.
    package func sending<Result>(
        serial: String, label: String, deadline: Deadline, _ body: () throws -> Result
    ) throws -> Result {
        let lock: FileLock
        do throws(KeychainError) { lock = try self.lock("pin", serial, label, deadline) } catch {
            guard error.code != .timedOut else {
                throw KeychainError(
                    .timedOut, "another process takes too long to log in to token \"\(label)\".", hint: "Try again.",
                    details: ["token": label], cause: error)
            }
            return try body()
        }
        let result = Swift.Result { try body() }
        lock.release()
        return try result.get()
    }

    /// Runs `body`, which initializes SoftHSM or logs in to a token outside Keyfob's own directory, with a lock if
    /// possible.
    ///
    /// Waits for the lock for at most two seconds and until `deadline`, then runs `body` without it. SoftHSM truncates
    /// the token's file for a moment at each login; an initialization at that moment misses the token.
    package func holdingLoginLock<Result>(
        serial: String, label: String, deadline: Deadline, _ body: () throws -> Result
    ) throws -> Result {
        let longest = Duration.seconds(2)
        let take = { () throws(KeychainError) in
            try lock("login", serial, label, .after(min(deadline.remaining ?? longest, longest)))
        }
        return try FileLock.attempting(take, body)
    }

    /// Takes a lock of a token. Creates the directory only if the file cannot be opened, since it usually exists.
    private func lock(
        _ kind: String, _ serial: String, _ label: String, _ deadline: Deadline
    ) throws(KeychainError) -> FileLock {
        let token = Digest.sha256(Data(Data(serial.utf8) + [0] + Data(label.utf8))).prefix(8).hexadecimal
        let url = file.deletingLastPathComponent().appendingPathComponent("\(kind)-\(token).lock", isDirectory: false)
        do throws(KeychainError) { return try FileLock(url, deadline: deadline) } catch {
            guard error.code == .fileUnavailable else { throw error }
            try PrivateFile.createDirectory(url.deletingLastPathComponent())
        }
        return try FileLock(url, deadline: deadline)
    }

    private func load() throws(KeychainError) -> File? {
        guard let bytes = try PrivateFile.read(file, limit: 64 << 10) else { return nil }
        do {
            let content = try JSONDecoder().decode(File.self, from: bytes.copyData())
            return content.version == 1 && content.salt.count == 16 ? content : nil
        } catch {
            // A damaged file counts as empty: the next write replaces it, and the token's own counter still protects
            // the token.
            return nil
        }
    }

    private func update(
        until deadline: Deadline, _ change: (inout File) throws(KeychainError) -> Bool
    ) throws(KeychainError) {
        try PrivateFile.createDirectory(file.deletingLastPathComponent())
        let lock = file.appendingPathExtension("lock")
        try FileLock.holding(lock, deadline: deadline) { () throws(KeychainError) in
            try updateLocked(change)
        }
    }

    private func updateLocked(_ change: (inout File) throws(KeychainError) -> Bool) throws(KeychainError) {
        var content: File
        if let loaded = try load() {
            content = loaded
        } else {
            let salt = try KeychainError.wrapping("cannot make random bytes.") { try RandomBytes.bytes(count: 16) }
            content = File(salt: Data(salt))
        }
        guard try change(&content) else { return }
        let encoded = content
        let data = try KeychainError.wrapping("cannot write \(file.filePath).") { try JSONEncoder().encode(encoded) }
        try PrivateFile.write(SecretBytes(data), to: file)
    }

    /// Identifies the token without naming it, since the file is easily copied.
    private static func tokenDigest(_ serial: String, _ label: String, _ salt: Data) -> Data {
        Digest.sha256(Data(salt + Data(serial.utf8) + [0] + Data(label.utf8))).prefix(16)
    }

    /// 8 MiB and about 10 ms for each guess: PINs are short, and a wrong PIN is often similar to the right one.
    private static func pinDigest(_ pin: SecretBytes, _ token: Data, _ salt: Data) throws(KeychainError) -> Data {
        try KeychainError.wrapping("cannot compare a PIN.") {
            let digest = try Scrypt.derive(
                passphrase: pin, salt: Array(salt + token), n: 1 << 13, r: 8, p: 1, count: 16)
            return digest.copyData()
        }
    }
}
