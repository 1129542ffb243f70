/// The five item classes of Keychain Services.
///
/// The set is closed, as Apple's `kSecClass` is, and every store supports all five.
public enum ItemClass: String, Sendable, Hashable, CaseIterable, Codable {
    /// A secret that is not bound to a server; `kSecClassGenericPassword`.
    case genericPassword = "genp"
    /// A secret for an account on a server; `kSecClassInternetPassword`.
    case internetPassword = "inet"
    /// An X.509 certificate; `kSecClassCertificate`.
    case certificate = "cert"
    /// A private, public or secret key; `kSecClassKey`.
    case key = "keys"
    /// A certificate with its private key; `kSecClassIdentity`. Not stored: it joins the two.
    case identity = "idnt"

    /// Whether items of this class are objects on the token rather than rows of the vault.
    public var livesOnToken: Bool {
        switch self {
        case .genericPassword, .internetPassword: false
        case .certificate, .key, .identity: true
        }
    }
}
