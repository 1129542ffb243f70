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
        if info.flags.contains(.userPINLocked) { return "blocked" }
        if info.flags.contains(.userPINFinalTry) { return "set, ONE try left" }
        if info.flags.contains(.userPINCountLow) { return "set, a few tries left" }
        if !info.flags.contains(.loginRequired) { return "not required: any program can use the token" }
        guard info.flags.contains(.userPINInitialized) else { return "not set" }
        if info.flags.contains(.userPINToBeChanged) { return "set, must be changed" }
        guard let limit = profile(info).pinTries else { return "set, tries ok" }
        let failures = try WrongPINMemory(directories: Directories()).failures(
            serial: info.serialNumber, label: info.label)
        return "set; the token does not report its tries, \(failures) of \(limit) are used by keyfob's count"
    }
}
