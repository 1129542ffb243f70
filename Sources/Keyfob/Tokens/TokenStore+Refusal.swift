import Foundation
import KeyfobPrimitives
import PKCS11

/// What a token's refusals mean to a keychain.
extension TokenStore {
    /// What a refusal of this token means to a keychain; after a wrong PIN with how many tries the token says are left.
    func refusal(_ error: PKCS11Error, _ operation: TokenOperation) -> KeychainError {
        var flags: TokenFlags = []
        if error.returnValue == .pinExpired || error.function == .login && error.returnValue == .pinIncorrect {
            // A few words of the message, no more: a token that does not tell is no second failure.
            flags = (try? pool().tokenInfo().flags) ?? []
        }
        if error.function == .login, error.returnValue == .pinIncorrect {
            refusedPIN.withLock { $0 }?()
        }
        let refusal = namingSource(
            KeychainError.token(error, operation, token: label, serial: uri.serial, flags: flags), error)
        if let softHSM, refusal.code == .tokenAbsent {
            // Files are nothing that anybody could insert.
            return explain(
                KeychainError(
                    .tokenAbsent, refusal.message, remedies: remediesOfAbsence(from: softHSM),
                    details: refusal.details, cause: error))
        }
        guard let softHSM, [.failed, .tokenFull].contains(refusal.code) else { return refusal }
        // SoftHSM does not say that its directory is gone, nor that it takes no more. What cannot be found out of it
        // is no second failure.
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

    /// What to do if SoftHSM does not show a token that Keyfob made.
    ///
    /// Blocks for a second if the file of any token cannot be read: it may be the one.
    private func remediesOfAbsence(from softHSM: SoftHSMDirectory) -> [Remedy] {
        // What cannot be found out of it is no second failure.
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
