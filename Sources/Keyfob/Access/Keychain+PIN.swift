import Foundation
import KeyfobPrimitives
import PKCS11

/// Where the PIN comes from, and what it is.
extension Keychain {
    /// The source that the PIN or passphrase comes from, and who named it.
    ///
    /// - Throws: `KeychainError` with code `invalidArgument` where what names it is no source.
    public func pinSource() throws -> PINSourceSelection {
        try PINSourceSelection(
            option: options.pinSource, uri: token.uri.pinSource,
            configured: configuration.pinSource.map { try PINSource(parsing: $0) }, environment: pinEnvironment)
    }

    /// Has somebody who knows the passphrase or the PIN say it, although the keychain is unlocked.
    ///
    /// Blocks for as long as it takes a person to answer.
    ///
    /// - Throws: `KeychainError`; `pinRequired` where nobody can be asked, `passphraseIncorrect` or `pinIncorrect` for
    ///   a wrong answer, `cancelled`.
    @available(*, noasync, message: "call it from a thread of your own")
    package func confirmPresence() throws {
        let source = try pinSource().source
        guard source.isInteractive else {
            throw KeychainError(
                .pinRequired,
                "an item of keychain \"\(name)\" asks for somebody to be there, and its PIN comes from a file.",
                hint: "Add the item without the constraint, or give the keychain a PIN source that asks: "
                    + "prompt, pinentry")
        }
        try requireLogin()
        // A sealed PIN is proved by opening its seal; another one only by comparing, for it is not sent twice.
        let given = try pin(from: read(source, pinPurpose), isRecoveryCode: false)
        guard configuration.sealedPIN == nil else { return }
        _ = try keys()
        guard let known = lockState.withLock({ $0.pin }) else {
            _ = try logIn(pin: given)
            return
        }
        guard known == given else {
            throw KeychainError(.pinIncorrect, "this is not the PIN of keychain \"\(name)\".")
        }
    }

    func read(_ source: PINSource, _ purpose: PINPurpose) throws -> SecretBytes {
        // A source may take a variable out of the environment, which a module that is being loaded reads.
        token.awaitOpening()
        do throws(KeychainError) { return try source.read(purpose, from: pinEnvironment) } catch {
            // The file that a PIN lies in goes with its keychain.
            throw Keychains(directories).explanation(of: error, configuration)
        }
    }

    var pinPurpose: PINPurpose {
        configuration.sealedPIN == nil ? .unlock(keychain: name) : .passphrase(keychain: name)
    }

    /// The token's PIN: what a source gave, or what the passphrase that it gave unseals.
    ///
    /// - Parameter stored: The source, where it gives the same again.
    func pin(from secret: SecretBytes, isRecoveryCode: Bool, stored: PINSource? = nil) throws -> SecretBytes {
        let uuid = configuration.uuid.uuidString.lowercased()
        if isRecoveryCode {
            guard let seal = configuration.recoverySeal else {
                throw KeychainError(.refused, "keychain \"\(name)\" has no recovery code.")
            }
            return try seal.open(with: RecoveryCode(parsing: secret).text, keychain: uuid, purpose: .recovery)
        }
        guard let seal = configuration.sealedPIN else { return secret }
        do { return try seal.open(with: secret, keychain: uuid, purpose: .passphrase) } catch {
            throw wrongPassphrase(error, stored)
        }
    }

    /// A wrong passphrase with the names of the keychain and of the source that gave it; another error as it is.
    private func wrongPassphrase(_ error: KeychainError, _ stored: PINSource?) -> KeychainError {
        guard error.code == .passphraseIncorrect else { return error }
        return KeychainError(
            .passphraseIncorrect, "wrong passphrase for keychain \"\(name)\".",
            remedies: stored.map { ["Check the PIN source (\($0.name)). You can try again; there is no limit."] }
                ?? error.remedies,
            details: ["keychain": name])
    }
}
