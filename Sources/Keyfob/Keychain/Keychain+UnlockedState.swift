import Foundation
import KeyfobPrimitives

/// The unlocked state between commands.
extension Keychain {
    /// The store for the unlocked state between commands.
    public var unlockedState: UnlockedState { UnlockedState(directories: directories) }

    /// The name of this keychain's state in ``unlockedState``.
    public var stateName: String { configuration.uuid.uuidString.lowercased() }

    /// Whether a process has stored state for other processes. Does not restore it.
    var isUnlockedForSession: Bool {
        // State that cannot be read counts as absent.
        ((try? unlockedState.location(of: stateName)) ?? nil) != nil
    }

    /// Stores the PIN and metadata key for other processes of this user.
    ///
    /// - Parameters:
    ///   - pin: The PIN.
    ///   - keys: The vault's keys.
    ///   - timeout: Seconds until the state expires; 0 for never, `nil` for the keychain's configured timeout.
    /// - Returns: The location of the state.
    func leaveUnlocked(
        pin: SecretBytes, _ keys: VaultKeys, timeout: Int? = nil
    ) throws -> UnlockedState.Location {
        guard hasVault else {
            throw KeychainError(
                .refused, "token \"\(token.label)\" was opened without a keychain, so it cannot stay unlocked.",
                remedies: [Remedy("Make a keychain on it", .createKeychain)])
        }
        return try unlockedState.store(
            Self.encode(pin: pin, metadataKey: keys.metadataKey, vault: store.identity), for: stateName,
            timeout: timeout ?? configuration.unlockTimeout)
    }

    /// Restores the state that another process has stored; `nil` if there is none.
    func restoreUnlockedState() throws -> VaultKeys? {
        guard hasVault else { return nil }
        let lockings = lockState.withLock { $0.lockings }
        guard let payload = try unlockedState.load(stateName),
            let (pin, metadataKey, vault) = Self.decode(payload)
        else { return nil }
        // With the keys of another vault every search would be empty, so report the mismatch.
        guard vault == store.identity else {
            throw KeychainError(
                .vaultDamaged,
                "the vault of keychain \"\(name)\" is not the one that was unlocked: another file is in its place.",
                remedies: [
                    "Put it back. \(KeychainError.restoring(vault: configuration.vault))",
                    Remedy("If this one is right, unlock it again", .unlock(keychain: name, .anew)),
                ],
                details: ["path": configuration.vault])
        }
        let keys = try VaultKeys(metadataKey: metadataKey, vault: store.identity)
        // The refused PIN may differ from the one that another process has unlocked the keychain with since.
        token.forgetRefusal(unlessOf: pin)
        let isLocked = lockState.withLock { state in
            // Another thread has locked the keychain and removed the state since it was read.
            guard state.lockings == lockings else { return true }
            state.keys = keys
            state.pin = pin
            state.isRestored = true
            return false
        }
        if isLocked { return nil }
        // A thread that read public objects before has sessions without a login.
        try token.adoptPIN()
        return keys
    }

    // The payload: the PIN's length in two bytes, the PIN, the metadata key, the vault's identity.
    static func encode(pin: SecretBytes, metadataKey: SecretBytes, vault: Data) -> SecretBytes {
        let length = UInt16(truncatingIfNeeded: pin.count).bigEndianBytes
        return SecretBytes(joining: [SecretBytes(length), pin, metadataKey, SecretBytes(vault)])
    }

    static func decode(_ payload: SecretBytes) -> (pin: SecretBytes, metadataKey: SecretBytes, vault: Data)? {
        unsafe payload.withUnsafeBytes { bytes in
            guard bytes.count > 2 else { return nil }
            let count = unsafe Int(bytes[0]) << 8 | Int(bytes[1])
            let end = 2 + count + 32
            guard bytes.count == end + 16 else { return nil }
            guard let first = bytes.baseAddress else { return nil }
            // By address: creating Data from a slice makes Swift's runtime search all protocol conformances of the
            // program.
            return unsafe (
                SecretBytes(UnsafeRawBufferPointer(start: first + 2, count: count)),
                SecretBytes(UnsafeRawBufferPointer(start: first + 2 + count, count: 32)),
                Data(bytes: first + end, count: 16))
        }
    }
}
