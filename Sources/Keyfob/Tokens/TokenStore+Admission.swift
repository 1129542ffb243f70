import Foundation
import KeyfobPrimitives
import Logging
import PKCS11

/// The one way by which a PIN gets to a token.
extension TokenStore {
    /// What this process knows of the PINs that it sent.
    struct Admissions {
        /// The PIN that was sent last, or is being sent.
        var sent: TokenPIN?
        /// The stored PIN that the token refused last: not to be sent again where that could not be noted for all.
        var refused: (pin: SecretBytes, edition: Data?)?
        /// Whether the last refusal was noted for other processes.
        var isNoted = true
    }

    /// Runs `send`, which sends a PIN to the token, unless the token has refused the same stored PIN before.
    ///
    /// A card has three tries, and ten processes that begin together have ten. So one process at a time sends a PIN,
    /// and notes that it was refused before the next one looks. SoftHSM counts no tries: for tokens of our own no
    /// process waits.
    ///
    /// - Parameters:
    ///   - send: Sends the PIN by one `C_Login`.
    ///   - isProof: Whether `send` came back because the token found the PIN right.
    /// - Throws: `KeychainError` with code `pinRemembered` for a stored PIN that was refused before; `PKCS11Error` as
    ///   the token's refusal for one that an earlier unlocking left; `timedOut` where another process takes too long;
    ///   what `send` throws.
    func admit<Output>(
        _ pin: TokenPIN, _ send: () throws -> Output, isProof: (Output) -> Bool = { _ in false }
    ) throws -> Output {
        guard let memory else { return try send() }
        admissions.withLock { $0.sent = pin }
        guard softHSM == nil else { return try admit(pin, memory, send, isProof) }
        return try memory.sending(serial: uri.serial ?? "", label: label, deadline: .after(configuration.deadline)) {
            try admit(pin, memory, send, isProof)
        }
    }

    private func admit<Output>(
        _ pin: TokenPIN, _ memory: WrongPINMemory, _ send: () throws -> Output, _ isProof: (Output) -> Bool
    ) throws -> Output {
        try requireUnrefused(pin)
        do {
            let output = try send()
            // What was left says nothing of a source's PIN.
            if isProof(output), pin.origin != .left { forgetRefused(memory) }
            return output
        } catch let error as PKCS11Error where Self.isVerdict(error) {
            if pin.origin != .given { note(pin.secret, memory) }
            throw error
        }
    }

    /// Whether the token has looked at the PIN and found it wrong.
    private static func isVerdict(_ error: PKCS11Error) -> Bool {
        error.function == .login && [.pinIncorrect, .pinInvalid, .pinLengthRange].contains(error.returnValue)
    }

    /// - Throws: Where the token has refused this stored PIN before; as `admit(_:_:isProof:)`.
    func requireUnrefused(_ pin: TokenPIN) throws {
        guard let memory, pin.origin != .given else { return }
        let edition = { self.pinEdition }
        var isRefused = false
        if let last = admissions.withLock({ $0.refused }), last.pin == pin.secret {
            isRefused = last.edition == edition()
        }
        do throws(KeychainError) {
            if !isRefused {
                isRefused = try memory.contains(
                    pin.secret, serial: uri.serial ?? "", label: label, edition: edition())
            }
        } catch {
            // A memory that cannot be read takes nothing from a keychain that is unlocked.
            guard pin.origin == .left else { throw error }
        }
        guard isRefused else { return }
        guard case .stored(let source) = pin.origin else {
            // As the token would answer: who left it is told, and the PIN's source is asked next.
            throw PKCS11Error(function: .login, returnValue: .pinIncorrect, detail: "refused before, and not sent again")
        }
        throw KeychainError(
            .pinRemembered, "the stored PIN of token \"\(label)\" was refused before; it is not sent again.",
            remedies: [
                "Correct the PIN source (\(source.name)).",
                Remedy("If that PIN is right, type it once", .unlock(keychain: keychain, .typing)),
            ],
            details: ["token": label, "source": source.name])
    }

    private func note(_ pin: SecretBytes, _ memory: WrongPINMemory) {
        let edition = pinEdition
        var isNoted = true
        do throws(KeychainError) {
            // For two seconds at least: a PIN that is not noted the next process sends again.
            try memory.remember(
                pin, serial: uri.serial ?? "", label: label, edition: edition,
                until: .after(max(configuration.deadline, .seconds(2))))
        } catch {
            // The refusal is what the caller is told. A full disk or a busy file in its place would have the caller
            // try again, and so send the PIN again.
            isNoted = false
            logger.warning("a refused PIN cannot be noted", metadata: ["token": "\(label)", "error": "\(error)"])
        }
        admissions.withLock { ($0.refused, $0.isNoted) = ((pin, edition), isNoted) }
    }

    private func forgetRefused(_ memory: WrongPINMemory) {
        admissions.withLock { $0.refused = nil }
        do throws(KeychainError) {
            try memory.forget(serial: uri.serial ?? "", label: label, until: .after(configuration.deadline))
        } catch {
            // The PIN is right, whatever becomes of those that were wrong.
            logger.warning("refused PINs cannot be forgotten", metadata: ["token": "\(label)", "error": "\(error)"])
        }
    }

    /// Which PIN a token of our own has, without telling it; `nil` for any other token, which does not tell.
    ///
    /// SoftHSM calls the right PIN wrong where the token's file is damaged. What was noted then counts no more when the
    /// file is restored.
    private var pinEdition: Data? { softHSM?.pinEdition(serial: uri.serial ?? "", label: label) }

    /// The refusal of a PIN with the source that gave it, and with what becomes of it.
    func namingSource(_ refusal: KeychainError, _ error: PKCS11Error) -> KeychainError {
        let admissions = admissions.withLock { $0 }
        guard refusal.code == .pinIncorrect, error.function == .login,
            case .stored(let source)? = admissions.sent?.origin
        else { return refusal }
        var details = refusal.details
        details["source"] = source.name
        let advice = admissions.isNoted
            ? "nothing is retried automatically." : "it could not be noted, and the next command would send it again."
        let remedies = details["tries"] == "final"
            ? refusal.remedies : [Remedy("Check the PIN source (\(source.name)) before trying again; " + advice)]
        return KeychainError(
            refusal.code, refusal.message, remedies: remedies, details: details, cause: refusal.cause)
    }
}
