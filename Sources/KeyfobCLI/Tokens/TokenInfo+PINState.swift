import PKCS11

extension TokenInfo {
    /// The state of the user PIN in words, with the tries that are left as far as the token tells.
    var pinState: String {
        if flags.contains(.userPINLocked) { return "blocked" }
        if flags.contains(.userPINFinalTry) { return "set, ONE try left" }
        if flags.contains(.userPINCountLow) { return "set, a few tries left" }
        if !flags.contains(.loginRequired) { return "not required: any program can use the token" }
        guard flags.contains(.userPINInitialized) else { return "not set" }
        return flags.contains(.userPINToBeChanged) ? "set, must be changed" : "set, tries ok"
    }

    /// The state of the SO PIN in words.
    var securityOfficerPINState: String {
        if flags.contains(.securityOfficerPINLocked) { return "blocked" }
        if flags.contains(.securityOfficerPINFinalTry) { return "ONE try left" }
        return flags.contains(.securityOfficerPINCountLow) ? "a few tries left" : "tries ok"
    }
}
