public import Foundation
public import KeyfobPrimitives
import KeyfobOpenSSL

/// The stored PINs that a token has refused, so that no process sends one of them again.
///
/// A script that runs every minute with a stale PIN would otherwise block the token within the hour.
/// Kept are salted scrypt values, not PINs; the file is the user's own, mode 0600. Every call looks at
/// the file anew, so that processes learn from each other at once. Only stored PINs belong here: what a
/// person types is the person's own risk.
public struct WrongPINMemory: Sendable {
    private struct File: Codable {
        var version = 1
        var salt: Data
        var entries: [Entry] = []
    }

    private struct Entry: Codable {
        let token: Data
        let pin: Data
        /// What told the token's PIN from an earlier and a later one when it was refused.
        let edition: Data?
    }

    /// The most PINs that are remembered, and the most for one token. The oldest go first.
    static let capacity = 64
    static let capacityPerToken = 8

    private let file: URL

    /// The memory in `directories.state`. Nothing is read or made yet.
    public init(directories: Directories) {
        file = directories.state.appendingPathComponent("wrong-pins.json", isDirectory: false)
    }

    /// Whether `pin` has failed at the token before. Blocks for some 10 ms if the token has an entry.
    ///
    /// - Parameter edition: Which PIN the token has now, where that can be told: what was noted of another one does
    ///   not count. `nil` takes in all.
    /// - Throws: `unsafeFile` and `fileUnavailable` as `PrivateFile` does; a file that is damaged counts
    ///   as empty.
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

    /// Remembers that the token refused `pin`.
    ///
    /// - Parameters:
    ///   - edition: Which PIN the token has now, where that can be told.
    ///   - deadline: Until when another process that writes the file is waited for.
    /// - Throws: As `contains`, and `timedOut` when it is not done by then.
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

    /// Forgets all about the token. For after a good login and after a PIN change: a PIN that failed
    /// may be the right one again.
    ///
    /// Costs no lock and no write when nothing is remembered.
    ///
    /// - Parameter deadline: As for `remember`. - Throws: As `remember`.
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

    /// Runs `body`, which sends a PIN to the token, while no other process of this user's does so: the next one is to
    /// know that it was refused.
    ///
    /// Without the lock where there is no place for it, as there is none for the memory then. `body` may use the
    /// memory. It costs a correct PIN four system calls.
    ///
    /// - Parameter deadline: Until when others are waited for.
    /// - Throws: `KeychainError` with code `timedOut` where they are not done by then; what `body` throws.
    func sending<Result>(
        serial: String, label: String, deadline: Deadline, _ body: () throws -> Result
    ) throws -> Result {
        let token = Digest.sha256(Data(Data(serial.utf8) + [0] + Data(label.utf8))).prefix(8).hexadecimal
        let url = file.deletingLastPathComponent().appendingPathComponent("pin-\(token).lock", isDirectory: false)
        let lock: FileLock
        do throws(KeychainError) { lock = try Self.lock(url, deadline) } catch {
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

    /// Runs `body`, which initialises SoftHSM or logs in to a token outside our own directory, with a lock if it can be
    /// had within two seconds and before `deadline`, else without.
    ///
    /// SoftHSM empties the token's file for a moment at each login. If it is initialised then, it overlooks the token.
    func holdingLoginLock<Result>(
        serial: String, label: String, deadline: Deadline, _ body: () throws -> Result
    ) throws -> Result {
        let token = Digest.sha256(Data(Data(serial.utf8) + [0] + Data(label.utf8))).prefix(8).hexadecimal
        let url = file.deletingLastPathComponent().appendingPathComponent("login-\(token).lock", isDirectory: false)
        let longest = Duration.seconds(2)
        let lock: FileLock
        do throws(KeychainError) {
            lock = try Self.lock(url, .after(min(deadline.remaining ?? longest, longest)))
        } catch {
            return try body()
        }
        let result = Swift.Result { try body() }
        lock.release()
        return try result.get()
    }

    /// The lock in a file; its directory is made where the file cannot be opened without, and hardly ever looked at.
    private static func lock(_ url: URL, _ deadline: Deadline) throws(KeychainError) -> FileLock {
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
            // A damaged file is worth no more than none: the next write replaces it, and the token's
            // own counter still protects the token.
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

    /// Which token, without naming it in a file that is easily copied.
    private static func tokenDigest(_ serial: String, _ label: String, _ salt: Data) -> Data {
        Digest.sha256(Data(salt + Data(serial.utf8) + [0] + Data(label.utf8))).prefix(16)
    }

    /// 8 MiB and about 10 ms a guess: PINs are short, and a wrong one is often almost the right one.
    private static func pinDigest(_ pin: SecretBytes, _ token: Data, _ salt: Data) throws(KeychainError) -> Data {
        try KeychainError.wrapping("cannot compare a PIN.") {
            let digest = try Scrypt.derive(
                passphrase: pin, salt: Array(salt + token), n: 1 << 13, r: 8, p: 1, count: 16)
            return digest.copyData()
        }
    }
}
