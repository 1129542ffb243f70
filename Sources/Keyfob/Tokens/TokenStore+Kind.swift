import PKCS11

extension TokenStore {
    /// Whether the token is one of SoftHSM's, in a directory of ours or elsewhere.
    func isSoftHSM() throws -> Bool {
        if softHSM != nil { return true }
        let info = try pool().tokenInfo()
        return info.manufacturer == "SoftHSM project" && info.model.hasPrefix("SoftHSM")
    }
}
