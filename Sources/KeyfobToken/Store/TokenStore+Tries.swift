import KeyfobPrimitives
import Logging
import PKCS11

/// Counting the wrong PINs of tokens that do not report their tries.
extension TokenStore {
    /// The counted tries; `nil` for a token that reports its tries, and without a memory.
    ///
    /// - Throws: `KeychainError` if the memory cannot be read.
    package func countedTries() throws(KeychainError) -> CountedTries? {
        guard let memory, let limit = loadedModule?.profile.pinTries else { return nil }
        return CountedTries(failures: try memory.failures(serial: uri.serial ?? "", label: label), limit: limit)
    }

    /// Checks that a wrong PIN would not lock a token that does not report its tries.
    ///
    /// - Throws: `KeychainError` with code `pinFinalTry`.
    func requireTry() throws {
        guard !configuration.allowFinalTry, let tries = try countedTries(), tries.isFinal else { return }
        throw KeychainError(
            .pinFinalTry,
            "token \"\(label)\" does not report its PIN tries. After \(tries.failures) wrong ones in a row, one more "
                + "may block it; the PIN was not sent.",
            remedies: ["Stop unless you are sure.", Remedy("To try", .change(.finalTry))],
            details: ["token": label, "tries": "final"])
    }

    func countTry(_ memory: WrongPINMemory) {
        do throws(KeychainError) {
            // Wait at least two seconds: the next process would allow a try too many.
            try memory.countFailure(
                serial: uri.serial ?? "", label: label, until: .after(max(configuration.deadline, .seconds(2))))
        } catch {
            // Report the refusal, not this failure.
            logger.warning("a wrong PIN cannot be counted", metadata: ["token": "\(label)", "error": "\(error)"])
        }
    }

    func resetTries(_ memory: WrongPINMemory) {
        do throws(KeychainError) {
            try memory.resetFailures(serial: uri.serial ?? "", label: label, until: .after(configuration.deadline))
        } catch {
            // The PIN is right even if the count stays.
            logger.warning("wrong PINs cannot be forgotten", metadata: ["token": "\(label)", "error": "\(error)"])
        }
    }
}
