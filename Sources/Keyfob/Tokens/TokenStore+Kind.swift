import PKCS11

extension TokenStore {
    /// Whether the token is managed by SoftHSM, in Keyfob's directory or elsewhere.
    func isSoftHSM() throws -> Bool {
        if softHSM != nil { return true }
        let info = try pool().tokenInfo()
        return info.manufacturer == "SoftHSM project" && info.model.hasPrefix("SoftHSM")
    }
}
