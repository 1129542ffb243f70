import Foundation
import KeyfobPrimitives
import PKCS11

/// The PIN and its source.
extension Keychain {
    /// The source of the PIN or passphrase, and the setting that named it.
    ///
    /// - Returns: The source.
    /// - Throws: `KeychainError` with code `invalidArgument` if a setting does not name a valid source.
    public func pinSource() throws -> PINSourceSelection {
        try PINSourceSelection(
            option: options.pinSource, uri: token.uri.pinSource,
            configured: configuration.pinSource.map { try PINSource(parsing: $0) }, environment: pinEnvironment)
    }

    /// Asks a person for the passphrase or the PIN even if the keychain is unlocked.
    ///
    /// Blocks until the person answers.
    ///
    /// - Throws: `KeychainError`; `pinRequired` if no person can be asked, `refused` if the token needs no PIN,
    ///   `passphraseIncorrect` or `pinIncorrect` for a wrong answer, `cancelled`.
    @available(*, noasync, message: "call it from a thread of your own")
    package func confirmPresence() throws {
        let source = try pinSource().source
        guard source.isInteractive else {
            throw KeychainError(
                .pinRequired,
                "an item of keychain \"\(name)\" requires the presence of a person, and its PIN comes from a file.",
                hint: "Add the item without the constraint, or give the keychain a PIN source that asks: "
                    + "prompt, pinentry")
        }
        try requireLogin()
        // A sealed PIN is verified by opening its seal. Any other PIN is only compared, so that it is not sent twice.
        let given = try pin(readFrom: source, pinPurpose)
        guard configuration.sealedPIN == nil else { return }
        _ = try vaultKeys()
        guard let known = lockState.withLock({ $0.pin }) else {
            _ = try logIn(pin: given)
            return
        }
        guard known == given else {
            throw KeychainError(.pinIncorrect, "this is not the PIN of keychain \"\(name)\".")
        }
    }

    /// Reads a secret and returns the PIN that it gives.
    ///
    /// A person who enters a wrong passphrase or recovery code is asked again. A token counts its wrong PINs, so a PIN
    /// is asked for once.
    ///
    /// - Parameters:
    ///   - source: The source of the secret.
    ///   - purpose: The purpose of the secret.
    ///   - isRecoveryCode: Whether the source gives the recovery code.
    ///   - tries: How often a person is asked.
    /// - Returns: The PIN.
    /// - Throws: `KeychainError`; the errors of reading the source and of `pin(from:isRecoveryCode:stored:)`.
    func pin(
        readFrom source: PINSource, _ purpose: PINPurpose, isRecoveryCode: Bool = false, tries: Int = 3
    ) throws -> SecretBytes {
        let secret = try read(source, purpose)
        do {
            return try pin(from: secret, isRecoveryCode: isRecoveryCode, stored: source.isInteractive ? nil : source)
        } catch let error as KeychainError where source.isInteractive && tries > 1 {
            guard error.code == .passphraseIncorrect || isRecoveryCode && error.code == .invalidArgument else {
                throw error
            }
            return try pin(
                readFrom: source, purpose.afterWrongAnswer, isRecoveryCode: isRecoveryCode, tries: tries - 1)
        }
    }

    /// Reads the recovery code and returns the PIN that it unseals.
    ///
    /// The keychain's own source gives its passphrase, so only a source of the caller is read, or a person is asked.
    ///
    /// - Throws: `KeychainError`; `refused` if the keychain has no recovery code, and the errors of `pin(readFrom:_:)`.
    func pinFromRecoveryCode() throws -> SecretBytes {
        try requireRecoveryCode()
        return try pin(
            readFrom: options.pinSource ?? .prompt, .recoveryCode(keychain: name), isRecoveryCode: true)
    }

    /// The seal of the recovery code.
    ///
    /// - Throws: `KeychainError` with code `refused` if the keychain has no recovery code.
    @discardableResult
    private func requireRecoveryCode() throws -> PassphraseSeal {
        guard let seal = configuration.recoverySeal else {
            throw KeychainError(
                .refused, "keychain \"\(name)\" has no recovery code.", details: ["keychain": name])
        }
        return seal
    }

    func read(_ source: PINSource, _ purpose: PINPurpose) throws -> SecretBytes {
        // A source may take a variable out of the environment, which a module that is being loaded reads.
        token.awaitOpening()
        do throws(KeychainError) { return try source.read(purpose, from: pinEnvironment) } catch {
            // Explains a missing file of a keychain that was removed.
            throw Keychains(directories).explanation(of: error, configuration)
        }
    }

    var pinPurpose: PINPurpose {
        guard hasVault else { return .token(token.label) }
        return configuration.sealedPIN == nil ? .unlock(keychain: name) : .passphrase(keychain: name)
    }

    /// The token's PIN: the secret itself, or the PIN that the secret unseals.
    ///
    /// - Parameters:
    ///   - secret: The PIN, the passphrase or the recovery code.
    ///   - isRecoveryCode: Whether `secret` is the recovery code.
    ///   - stored: The source, if it gives the same secret again.
    /// - Returns: The PIN.
    /// - Throws: `KeychainError`; `passphraseIncorrect`, `refused` if the keychain has no recovery code,
    ///   `invalidArgument` for a malformed one.
    func pin(from secret: SecretBytes, isRecoveryCode: Bool, stored: PINSource? = nil) throws -> SecretBytes {
        let uuid = configuration.uuid.uuidString.lowercased()
        if isRecoveryCode {
            let seal = try requireRecoveryCode()
            return try seal.open(with: RecoveryCode(parsing: secret).text, keychain: uuid, purpose: .recovery)
        }
        guard let seal = configuration.sealedPIN else { return secret }
        do { return try seal.open(with: secret, keychain: uuid, purpose: .passphrase) } catch {
            throw wrongPassphrase(error, stored)
        }
    }

    /// Adds the names of the keychain and of the source to the error for a wrong passphrase; returns other errors
    /// unchanged.
    private func wrongPassphrase(_ error: KeychainError, _ stored: PINSource?) -> KeychainError {
        guard error.code == .passphraseIncorrect else { return error }
        return KeychainError(
            .passphraseIncorrect, "wrong passphrase for keychain \"\(name)\".",
            remedies: stored.map { ["Check the PIN source (\($0.name)). You can try again; there is no limit."] }
                ?? error.remedies,
            details: ["keychain": name])
    }
}
