import Foundation
import KeyfobPrimitives

/// The state that lies between two commands.
extension Keychain {
    /// The state that lies between two commands.
    public var unlockedState: UnlockedState { UnlockedState(directories: directories) }

    /// The name of this keychain's state in ``unlockedState``.
    public var stateName: String { configuration.uuid.uuidString.lowercased() }

    /// Whether a process has left state for others. Nothing is taken over from it.
    var isUnlockedForSession: Bool {
        // State that cannot be read is no state.
        ((try? unlockedState.location(of: stateName)) ?? nil) != nil
    }

    /// Leaves what unlocks the keychain for other processes of this user.
    ///
    /// - Parameter timeout: Seconds until it is no longer there; 0 never, `nil` as the keychain is configured.
    func leaveUnlocked(
        pin: SecretBytes, _ keys: VaultKeys, timeout: Int? = nil
    ) throws -> UnlockedState.Location {
        try unlockedState.store(
            encode(pin: pin, metadataKey: keys.metadataKey), for: stateName,
            timeout: timeout ?? configuration.unlockTimeout)
    }

    /// Takes over what another process has left; `nil` where there is nothing.
    func restoreUnlockedState() throws -> VaultKeys? {
        let lockings = lockState.withLock { $0.lockings }
        guard let payload = try unlockedState.load(stateName),
            let (pin, metadataKey, vault) = Self.decode(payload)
        else { return nil }
        // Under the keys of another vault nothing is found, as if there were nothing.
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
        // What was refused was another PIN than the one that somebody has unlocked it with since.
        token.forgetRefusal(unlessOf: pin)
        let isLocked = lockState.withLock { state in
            // Read before another thread locked the keychain, and with it removed what was read.
            guard state.lockings == lockings else { return true }
            state.keys = keys
            state.pin = pin
            state.isRestored = true
            return false
        }
        if isLocked { return nil }
        // Whoever looked at public objects before has sessions without a login.
        try token.adoptPIN()
        return keys
    }

    // The payload between commands: the PIN's length in two bytes, the PIN, the metadata key, the vault's identity.
    private func encode(pin: SecretBytes, metadataKey: SecretBytes) -> SecretBytes {
        let length = UInt16(truncatingIfNeeded: pin.count).bigEndianBytes
        return SecretBytes(joining: [SecretBytes(length), pin, metadataKey, SecretBytes(store.identity)])
    }

    static func decode(_ payload: SecretBytes) -> (pin: SecretBytes, metadataKey: SecretBytes, vault: Data)? {
        unsafe payload.withUnsafeBytes { bytes in
            guard bytes.count > 2 else { return nil }
            let count = unsafe Int(bytes[0]) << 8 | Int(bytes[1])
            let end = 2 + count + 32
            guard bytes.count == end + 16 else { return nil }
            guard let first = bytes.baseAddress else { return nil }
            // By addresses: to make data of a slice, Swift's runtime looks through all conformances of the program.
            return unsafe (
                SecretBytes(UnsafeRawBufferPointer(start: first + 2, count: count)),
                SecretBytes(UnsafeRawBufferPointer(start: first + 2 + count, count: 32)),
                Data(bytes: first + end, count: 16))
        }
    }
}
