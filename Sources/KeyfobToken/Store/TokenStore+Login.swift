package import Foundation
package import KeyfobPrimitives
import Logging
package import PKCS11

/// The only path by which a PIN is sent to a token.
extension TokenStore {
    /// A record of the PINs that this process has sent.
    package struct LoginRecord {
        /// The PIN that was sent last, or is being sent.
        package var sent: TokenPIN?
        /// The stored PIN that the token refused last. It is not sent again, even if it could not be recorded for other
        /// processes.
        package var refused: (pin: SecretBytes, edition: Data?)?
        /// Whether the last refusal was recorded for other processes.
        package var isNoted = true
    }

    /// Runs `send`, which sends a PIN to the token, unless the token has refused the same stored PIN before.
    ///
    /// A card allows about three tries, and ten processes that start together could use ten. So only one process at a
    /// time sends a PIN, and it records a refusal before the next one looks. SoftHSM does not count tries, so processes
    /// do not wait for each other on Keyfob's own tokens.
    ///
    /// - Parameters:
    ///   - pin: The PIN that `send` sends.
    ///   - send: Sends the PIN with one `C_Login`.
    ///   - isProof: Whether the output of `send` proves that the token accepted the PIN.
    /// - Returns: The output of `send`.
    /// - Throws: `KeychainError` with code `pinRemembered` for a stored PIN that was refused before, `timedOut` if
    ///   another process takes too long; `PKCS11Error` with `pinIncorrect` if the refused PIN was left by an earlier
    ///   unlock; errors of `send`.
    package func admit<Output>(
        _ pin: TokenPIN, _ send: () throws -> Output, isProof: (Output) -> Bool = { _ in false }
    ) throws -> Output {
        guard let memory else { return try send() }
        loginRecord.withLock { $0.sent = pin }
        guard softHSM == nil else { return try admit(pin, memory, send, isProof) }
        return try memory.sending(serial: uri.serial ?? "", label: label, deadline: .after(configuration.deadline)) {
            try admit(pin, memory, send, isProof)
        }
    }

    private func admit<Output>(
        _ pin: TokenPIN, _ memory: WrongPINMemory, _ send: () throws -> Output, _ isProof: (Output) -> Bool
    ) throws -> Output {
        try requireUnrefused(pin)
        try requireTry()
        let countsTries = loadedModule?.profile.pinTries != nil
        do {
            let output = try send()
            // A PIN left by an earlier unlock says nothing about the PIN of a source.
            if isProof(output), pin.origin != .left { forgetRefused(memory) }
            if isProof(output), countsTries { resetTries(memory) }
            return output
        } catch let error as PKCS11Error where error.isWrongPIN {
            if pin.origin != .given { note(pin.secret, memory) }
            if countsTries { countTry(memory) }
            throw error
        }
    }

    /// Checks that the token has not refused this stored PIN before.
    ///
    /// - Throws: `KeychainError` with code `pinRemembered` for a PIN from a source; `PKCS11Error` with `pinIncorrect`
    ///   for one left by an earlier unlock.
    package func requireUnrefused(_ pin: TokenPIN) throws {
        guard let memory, pin.origin != .given else { return }
        let edition = { self.pinEdition }
        var isRefused = false
        if let last = loginRecord.withLock({ $0.refused }), last.pin == pin.secret {
            isRefused = last.edition == edition()
        }
        do throws(KeychainError) {
            if !isRefused {
                isRefused = try memory.contains(
                    pin.secret, serial: uri.serial ?? "", label: label, edition: edition())
            }
        } catch {
            // A keychain that is unlocked does not depend on a readable memory.
            guard pin.origin == .left else { throw error }
        }
        guard isRefused else { return }
        guard case .stored(let source) = pin.origin else {
            // The error that the token would return. The caller drops the PIN that was left and asks the PIN's source
            // next.
            throw PKCS11Error(
                function: .login, returnValue: .pinIncorrect, detail: "refused before, and not sent again")
        }
        throw KeychainError(
            .pinRemembered, "the stored PIN of token \"\(label)\" was refused before; it is not sent again.",
            remedies: [
                "Correct the PIN source (\(source)).",
                Remedy("If that PIN is right, type it once", .unlock(keychain: keychain, .typing)),
            ],
            details: ["token": label, "source": source])
    }

    private func note(_ pin: SecretBytes, _ memory: WrongPINMemory) {
        let edition = pinEdition
        var isNoted = true
        do throws(KeychainError) {
            // Wait at least two seconds: the next process sends a PIN again that was not recorded.
            try memory.remember(
                pin, serial: uri.serial ?? "", label: label, edition: edition,
                until: .after(max(configuration.deadline, .seconds(2))))
        } catch {
            // Report the refusal, not this failure. An error about a full disk or a busy file would make the caller try
            // again, and so send the PIN again.
            isNoted = false
            logger.warning("a refused PIN cannot be noted", metadata: ["token": "\(label)", "error": "\(error)"])
        }
        loginRecord.withLock { ($0.refused, $0.isNoted) = ((pin, edition), isNoted) }
    }

    private func forgetRefused(_ memory: WrongPINMemory) {
        loginRecord.withLock { $0.refused = nil }
        do throws(KeychainError) {
            try memory.forget(serial: uri.serial ?? "", label: label, until: .after(configuration.deadline))
        } catch {
            // The PIN is right even if refused PINs cannot be forgotten.
            logger.warning("refused PINs cannot be forgotten", metadata: ["token": "\(label)", "error": "\(error)"])
        }
    }

    /// Identifies the current PIN of one of Keyfob's own tokens without revealing it; `nil` for other tokens.
    ///
    /// SoftHSM reports a right PIN as wrong when the token's file is damaged. Once the file is restored, the edition
    /// differs and the recorded refusal no longer applies.
    private var pinEdition: Data? { softHSM?.pinEdition(serial: uri.serial ?? "", label: label) }

    /// Adds to a refused PIN's error the source of the PIN and whether the refusal was recorded.
    package func namingSource(_ refusal: KeychainError, _ error: PKCS11Error) -> KeychainError {
        let loginRecord = loginRecord.withLock { $0 }
        guard refusal.code == .pinIncorrect, error.function == .login,
            case .stored(let source)? = loginRecord.sent?.origin
        else { return refusal }
        var details = refusal.details
        details["source"] = source
        let advice = loginRecord.isNoted
            ? "nothing is retried automatically." : "it could not be noted, and the next command would send it again."
        let remedies = details["tries"] == "final"
            ? refusal.remedies : [Remedy("Check the PIN source (\(source)) before trying again; " + advice)]
        return refusal.with(remedies: remedies, details: details)
    }
}
