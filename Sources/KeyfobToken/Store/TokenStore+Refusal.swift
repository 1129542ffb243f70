import Foundation
import KeyfobPrimitives
package import PKCS11

/// Conversion of a token's errors to errors about a keychain.
extension TokenStore {
    /// The error about the keychain for an error of this token.
    ///
    /// For a wrong PIN it says how many tries are left, as far as the token reports that.
    package func refusal(_ error: PKCS11Error, _ operation: TokenOperation) -> KeychainError {
        var flags: TokenFlags = []
        var tries: CountedTries?
        if error.returnValue == .pinExpired || error.function == .login && error.returnValue == .pinIncorrect {
            // Both are needed only for a few words of the message: the refusal is reported even if the token does not
            // answer.
            flags = (try? pool().tokenInfo().flags) ?? []
            tries = try? countedTries()
        }
        if error.function == .login, error.returnValue == .pinIncorrect {
            refusedPIN.withLock { $0 }?()
        }
        var error = error
        if operation.writes, error.isRefusalOfFunction, isWriteProtected {
            // Some write-protected tokens only say that they lack the function.
            error = PKCS11Error(function: error.function, returnValue: .tokenWriteProtected, detail: error.detail)
        }
        let refusal = namingSource(
            KeychainError.token(
                error, operation, token: label, serial: uri.serial, flags: flags, tries: tries,
                profile: loadedModule?.profile ?? .standard),
            error)
        if let softHSM, refusal.code == .tokenAbsent {
            // A SoftHSM token consists of files, so do not suggest inserting it.
            return explain(refusal.with(remedies: remediesOfAbsence(from: softHSM)))
        }
        if refusal.code == .tokenAbsent { return namingLookalikes(refusal) }
        guard let softHSM, [.failed, .tokenFull].contains(refusal.code) else { return refusal }
        // SoftHSM does not report that its directory is missing or its disk is full. Ignore failures of this look-up;
        // the refusal is the error to report.
        if let serial = uri.serial, case .absent? = try? softHSM.awaitToken(serial: serial, label: label) {
            return self.refusal(absence(), operation)
        }
        for directory in [softHSM.root, softHSM.directory(serial: uri.serial, label: label)].compactMap({ $0 }) {
            if let shortage = DiskSpace.shortage(in: directory, details: refusal.details, cause: error) {
                return shortage
            }
        }
        return refusal
    }

    /// Whether the token says that it is write-protected; `false` if it does not answer.
    private var isWriteProtected: Bool { (try? pool().tokenInfo().flags.contains(.writeProtected)) ?? false }

    /// The remedies for one of Keyfob's own tokens that is not found.
    ///
    /// Blocks for a second if there is a token with an unreadable file, since that may be the one.
    private func remediesOfAbsence(from softHSM: SoftHSMDirectory) -> [Remedy] {
        // Ignore failures of this look-up; the general advice follows.
        if let serial = uri.serial, case .unclear? = try? softHSM.awaitToken(serial: serial, label: label),
            let places = try? softHSM.unusableDirectories(deadline: .after(configuration.deadline)), !places.isEmpty
        {
            let list = places.joined(separator: ", ")
            return ["It may be in \(list), which cannot be read: restore token.object in it from a backup."]
        }
        let directory = softHSM.tokensDirectory.filePath
        return [
            "It belongs in \(directory). Mount the file system with that directory, or restore it from a backup.",
            Remedy("See which tokens there are", .listTokens),
        ]
    }
}
