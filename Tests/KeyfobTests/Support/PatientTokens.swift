import Keyfob
import KeyfobPrimitives
import PKCS11

/// Waits for other processes as long as a busy machine may need.
extension SoftHSMDirectory {
    @discardableResult
    func heal() throws(KeychainError) -> Healing { try heal(deadline: .after(.seconds(120))) }

    /// Saves copies of the files of all tokens, which must be intact.
    func refreshCopies() throws(KeychainError) {
        for token in try tokens() { try saveCopy(serial: token.serial, deadline: .after(.seconds(120))) }
    }

    func createToken(label: String) throws(KeychainError) -> CreatedToken {
        try createToken(label: label, deadline: .after(.seconds(120)))
    }

    func destroyToken(serial: String, label: String) throws(KeychainError) {
        try destroyToken(serial: serial, label: label, deadline: .after(.seconds(120)))
    }

    func destroyToken(_ uri: PKCS11URI) throws(KeychainError) {
        try destroyToken(uri, deadline: .after(.seconds(120)))
    }
}
