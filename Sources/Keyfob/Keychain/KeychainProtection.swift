import Foundation
public import KeyfobPrimitives
import Logging

/// The protection of a keychain's PIN, after a proof that the caller may change it.
///
/// ```swift
/// let protection = try keychain.protection(with: recoveryCode, isRecoveryCode: true)
/// try protection.setPassphrase(passphrase)
/// ```
///
/// The random PIN of the token stays the same, and only its protection changes. So a copy of the former configuration
/// still opens with the former passphrase or recovery code. Each change replaces one file at once: a kill leaves the
/// old protection or the new one. Keychains that are open keep the configuration that they were opened with.
public struct KeychainProtection: Sendable {
    private let keychain: Keychain
    private let pin: SecretBytes

    fileprivate init(_ keychain: Keychain, pin: SecretBytes) {
        self.keychain = keychain
        self.pin = pin
    }

    /// Protects the PIN by a new passphrase. The former passphrase, or the file with the PIN, no longer opens the
    /// keychain.
    ///
    /// Blocks for about 0.2 s. A keychain that opened without a passphrase is locked.
    ///
    /// - Parameters:
    ///   - passphrase: The passphrase.
    ///   - source: The source that gives the passphrase from now on; `nil` asks the user.
    ///   - save: Stores a recovery code. It is called only if the keychain has none; `nil` makes none.
    /// - Returns: The new configuration.
    /// - Throws: `KeychainError` with code `invalidArgument` for an empty passphrase, `timedOut`; errors of writing the
    ///   configuration and of `save`, after which the former protection is in effect.
    @discardableResult
    public func setPassphrase(
        _ passphrase: SecretBytes, source: PINSource? = nil,
        savingRecoveryCode save: ((RecoveryCode) throws -> Void)? = nil
    ) throws -> KeychainConfiguration {
        let seal = try PassphraseSeal(pin, under: passphrase, keychain: keychain.stateName, purpose: .passphrase)
        let wasSealed = keychain.configuration.sealedPIN != nil
        let changed = try change { configuration in
            // First, because the unlocked state of an unattended keychain opens it without the passphrase.
            if !wasSealed { try keychain.unlockedState.remove(keychain.stateName) }
            if let save, configuration.recoverySeal == nil {
                configuration.recoverySeal = try recoverySeal(saving: save)
            }
            configuration.sealedPIN = seal
            configuration.pinSource = source?.description
        }
        // The passphrase is in effect by now, so a failure must not look like one of the change.
        if !wasSealed { removingRest { try keychain.unlockedState.remove(keychain.stateName) } }
        removingRest { try keychain.removeLeftPINFile() }
        return changed
    }

    private func removingRest(_ body: () throws -> Void) {
        do { try body() } catch {
            keychain.options.logger.warning(
                "a PIN without the passphrase's protection is left; the next unlocking removes it",
                metadata: ["keychain": "\(keychain.name)", "error": "\(error)"])
        }
    }

    /// Keeps the PIN in a file that only its owner can read, so that the keychain opens without a passphrase.
    ///
    /// The recovery code stays valid.
    ///
    /// - Returns: The new configuration.
    /// - Throws: `KeychainError` with code `timedOut`; errors of writing the files, after which the passphrase is in
    ///   effect.
    @discardableResult
    public func removePassphrase() throws -> KeychainConfiguration {
        try change { configuration in
            // Written first: a kill leaves the passphrase in effect, and the next unlocking removes the file.
            try PrivateFile.removeUnfinished(configuration.pinFile)
            try PrivateFile.write(pin, to: configuration.pinFile)
            configuration.sealedPIN = nil
            configuration.pinSource = configuration.resolved(pinSource: KeychainConfiguration.ownPINSource)
        }
    }

    /// Makes a new recovery code. The former one no longer opens the keychain.
    ///
    /// - Parameter save: Stores the new code, before the former one becomes invalid.
    /// - Returns: The new configuration.
    /// - Throws: `KeychainError` with code `timedOut`; errors of writing the configuration and of `save`, after which
    ///   the former code is in effect.
    @discardableResult
    public func replaceRecoveryCode(saving save: (RecoveryCode) throws -> Void) throws -> KeychainConfiguration {
        try change { $0.recoverySeal = try recoverySeal(saving: save) }
    }

    private func recoverySeal(saving save: (RecoveryCode) throws -> Void) throws -> PassphraseSeal {
        let code = try RecoveryCode()
        let seal = try PassphraseSeal(pin, under: code.text, keychain: keychain.stateName, purpose: .recovery)
        try save(code)
        return seal
    }

    private func change(
        _ body: (inout KeychainConfiguration) throws -> Void
    ) throws -> KeychainConfiguration {
        try Keychains(keychain.directories).changeConfiguration(keychain.name, until: keychain.deadline) {
            // Another process may have removed the keychain and made one of the same name.
            guard $0.uuid == keychain.configuration.uuid else {
                throw KeychainError(
                    .noSuchKeychain, "keychain \"\(keychain.name)\" was replaced by another one; nothing was changed.",
                    details: ["keychain": keychain.name])
            }
            try body(&$0)
        }
    }
}

extension Keychain {
    /// Proves that the caller may change the protection of the keychain's PIN, also while the keychain is unlocked.
    ///
    /// Blocks until a person answers, if one has to be asked, and for a login.
    ///
    /// - Parameters:
    ///   - secret: The passphrase or the recovery code; `nil` to take it from its source as `unlock()` and
    ///     `unlockForSession(timeout:with:isRecoveryCode:)` do.
    ///   - isRecoveryCode: Whether `secret` is the text of the keychain's recovery code.
    /// - Returns: The protection, for changes.
    /// - Throws: `KeychainError`; `refused` if Keyfob did not make the token, whose PIN is then the secret itself, and
    ///   the errors of `unlock()`.
    @available(*, noasync, message: "call it from a thread of your own")
    public func protection(
        with secret: SecretBytes? = nil, isRecoveryCode: Bool = false
    ) throws -> KeychainProtection {
        try requireOwnProtection()
        let pin: SecretBytes
        if let secret {
            pin = try self.pin(from: secret, isRecoveryCode: isRecoveryCode)
        } else if isRecoveryCode {
            pin = try pinFromRecoveryCode()
        } else {
            pin = try self.pin(readFrom: pinSource().source, pinPurpose.forChange(ofKeychain: name))
        }
        // The file of an unattended keychain may hold anything, and it is the only copy of the PIN.
        _ = try logIn(pin: pin)
        return KeychainProtection(self, pin: pin)
    }

    /// Checks that a passphrase or a file of the keychain protects its PIN.
    ///
    /// - Throws: `KeychainError` with code `refused` if it is the PIN of a token that Keyfob did not make.
    package func requireOwnProtection() throws {
        guard hasVault, configuration.module == .softHSM else {
            throw KeychainError(
                .refused,
                "no passphrase protects keychain \"\(name)\": it opens with the PIN of token \"\(token.label)\".",
                remedies: [Remedy("Change that PIN", .changePIN(token: token.label))], details: ["keychain": name])
        }
    }

    /// Removes the file with the PIN that a killed change of the protection has left beside a passphrase.
    func removeLeftPINFile() throws {
        guard hasVault, configuration.module == .softHSM, try hasPINFile() else { return }
        try Keychains(directories).holdingConfiguration(name, until: deadline) { current in
            guard current.sealedPIN != nil, !current.hasOwnPINFile else { return }
            try PrivateFile.removeUnfinished(current.pinFile)
            try PrivateFile.remove(current.pinFile)
        }
    }

    /// Whether there is a file with the PIN, or one that a killed write has left.
    private func hasPINFile() throws(KeychainError) -> Bool {
        if FileManager.default.fileExists(atPath: configuration.pinFile.filePath) { return true }
        return try !PrivateFile.unfinished(configuration.pinFile).isEmpty
    }
}
