import Keyfob
import PKCS11

extension SelectedToken {
    /// The profile of the token and its library.
    ///
    /// - Parameter info: The token's information.
    func profile(_ info: TokenInfo) -> TokenProfile { slot.module.profile(of: info) }

    /// The state of the token's PIN, in words.
    ///
    /// - Parameter info: The token's information.
    /// - Throws: `KeychainError` if the count of wrong PINs cannot be read.
    func pinState(_ info: TokenInfo) throws -> String {
        let warnings: TokenFlags = [.userPINLocked, .userPINFinalTry, .userPINCountLow, .userPINToBeChanged]
        guard info.flags.isDisjoint(with: warnings), info.flags.isSuperset(of: [.loginRequired, .userPINInitialized]),
            let limit = profile(info).pinTries
        else { return info.pinState }
        let failures = try WrongPINMemory(directories: Directories()).failures(
            serial: info.serialNumber, label: info.label)
        return "set; the token does not report its tries, \(failures) of \(limit) are used by keyfob's count"
    }
}
