import Foundation
import KeyfobOpenSSL
import KeyfobPrimitives

/// An agent for ssh(1): signs with the keys that it was given, and with no others.
///
/// Keys can be removed, but none can be added. When the last key was removed or has expired, the agent no longer refers
/// to the keychain of the keys.
package final class SSHAgent: Sendable {
    /// An event that a person may want to know of.
    package enum Event: Sendable {
        /// The key made a signature.
        case signed(SSHAgentKey)
        /// The person did not allow the use of the key, or could not be asked.
        case denied(SSHAgentKey)
        /// The client asked for a signature that the agent does not make: RSA with SHA-1.
        case refusedAlgorithm(SSHAgentKey)
        /// The key could not sign.
        case failed(SSHAgentKey, any Error)
    }

    private struct State {
        var keys: [SSHAgentKey]
        /// The scrypt hash of the passphrase, and its salt, while the agent is locked.
        var lock: (hash: SecretBytes, salt: [UInt8])?
        /// Whether an attempt to lock or unlock is in progress.
        var isChangingLock = false
        /// The number of wrong passphrases since the last right one.
        var wrongPassphrases = 0
    }

    private let state: Lock<State>
    private let expiry: ContinuousClock.Instant?
    private let confirm: (@Sendable (SSHAgentKey) async -> Bool)?
    private let tell: @Sendable (Event) -> Void

    /// Creates an agent.
    ///
    /// - Parameters:
    ///   - keys: The keys. Each is served once, under its first comment.
    ///   - lifetime: How long it serves them, also counting the time that the machine sleeps; `nil` for no limit.
    ///   - confirm: Returns whether a person allows one use of a key; `nil` to ask for no confirmation.
    ///   - tell: Gets each event.
    package init(
        _ keys: [SSHAgentKey], lifetime: Duration? = nil, confirm: (@Sendable (SSHAgentKey) async -> Bool)? = nil,
        tell: @escaping @Sendable (Event) -> Void = { _ in }
    ) {
        state = Lock(State(keys: keys.reduce(into: []) { distinct, key in
            if !distinct.contains(where: { $0.blob == key.blob }) { distinct.append(key) }
        }))
        expiry = lifetime.map { ContinuousClock.now + $0 }
        self.confirm = confirm
        self.tell = tell
        guard let expiry else { return }
        Task { [weak self] in
            // Throws only if the task is cancelled, which nothing does. Requests check the time themselves.
            try? await Task.sleep(until: expiry, clock: .continuous)
            _ = self?.currentKeys()
        }
    }

    /// The keys that have not expired and were not removed, whether or not the agent is locked.
    package func currentKeys() -> [SSHAgentKey] {
        let isOver = expiry.map { ContinuousClock.now >= $0 } ?? false
        let removed = state.withLock { state -> [SSHAgentKey] in
            guard isOver else { return [] }
            defer { state.keys = [] }
            return state.keys
        }
        // Released outside the lock, because the keychain closes with its last key.
        _ = removed
        return state.withLock { $0.keys }
    }

    /// Carries a request out.
    package func answer(_ request: SSHAgentRequest) async -> SSHAgentAnswer {
        if case .unlock(let passphrase) = request { return await changeLock { try self.unlock(passphrase) } }
        guard !isLocked else { return request == .listKeys ? .keys([]) : .failure }
        switch request {
        case .listKeys: return .keys(currentKeys().map { ($0.blob, $0.comment) })
        case .sign(let blob, let data, let flags): return await sign(blob, data, flags)
        case .remove(let blob): return remove { $0.blob == blob } ? .success : .failure
        case .removeAll:
            _ = remove { _ in true }
            return .success
        case .lock(let passphrase): return await changeLock { try self.lock(passphrase) }
        case .queryExtensions: return .extensions(["query"])
        case .unlock, .unsupported: return .failure
        }
    }

    /// Whether an attempt to lock or unlock is in progress.
    var isChangingLock: Bool { state.withLock { $0.isChangingLock } }

    private var isLocked: Bool { state.withLock { $0.lock != nil } }

    private func remove(_ isMeant: (SSHAgentKey) -> Bool) -> Bool {
        let keys = currentKeys()
        state.withLock { $0.keys.removeAll(where: isMeant) }
        return keys.contains(where: isMeant)
    }

    // MARK: Signing

    private func key(_ blob: [UInt8]) -> SSHAgentKey? {
        isLocked ? nil : currentKeys().first { $0.blob == blob }
    }

    private func sign(_ blob: [UInt8], _ data: [UInt8], _ flags: UInt32) async -> SSHAgentAnswer {
        guard let key = key(blob) else { return .failure }
        guard let format = SSHSignatureFormat(key.algorithm, flags: flags) else {
            tell(.refusedAlgorithm(key))
            return .failure
        }
        if let confirm {
            // The key may have been removed, or the agent locked, while the person was asked.
            guard await confirm(key), self.key(blob) != nil else {
                tell(.denied(key))
                return .failure
            }
        }
        do {
            let signature = try format.encoded(await key.sign(data, format.scheme))
            tell(.signed(key))
            return .signature(signature)
        } catch {
            tell(.failed(key, error))
            return .failure
        }
    }

    // MARK: Locking

    /// Runs one attempt to lock or unlock. Others fail in the meantime, so that many clients guess no faster than one.
    private func changeLock(_ attempt: @escaping @Sendable () throws -> Bool) async -> SSHAgentAnswer {
        let mayTry = state.withLock { state in
            defer { state.isChangingLock = true }
            return !state.isChangingLock
        }
        guard mayTry else { return .failure }
        defer { state.withLock { $0.isChangingLock = false } }
        // scrypt fails if memory runs out.
        let isDone = (try? await BlockingExecutor.shared.run(attempt)) ?? false
        let wrong = state.withLock { state in
            if isDone { state.wrongPassphrases = 0 } else { state.wrongPassphrases += 1 }
            return state.wrongPassphrases
        }
        // 100 ms more for each wrong passphrase, 10 s at most, as OpenSSH's agent does. A task of its own, because a
        // client that closes the connection cancels the task of its request, and must not shorten the wait.
        if wrong > 0 { await Task { try? await Task.sleep(for: .milliseconds(100 * min(wrong, 100))) }.value }
        return isDone ? .success : .failure
    }

    private func lock(_ passphrase: SecretBytes) throws -> Bool {
        let salt = (0..<16).map { _ in UInt8.random(in: 0...255) }
        let hash = try Self.hash(passphrase, salt)
        return state.withLock { state in
            guard state.lock == nil else { return false }
            state.lock = (hash, salt)
            return true
        }
    }

    private func unlock(_ passphrase: SecretBytes) throws -> Bool {
        guard let lock = state.withLock({ $0.lock }), try Self.hash(passphrase, lock.salt) == lock.hash else {
            return false
        }
        state.withLock { $0.lock = nil }
        return true
    }

    /// A hash that takes 16 MiB of memory and some 50 ms.
    private static func hash(_ passphrase: SecretBytes, _ salt: [UInt8]) throws -> SecretBytes {
        try Scrypt.derive(passphrase: passphrase, salt: salt, n: 1 << 14, r: 8, p: 1, count: 32)
    }
}
