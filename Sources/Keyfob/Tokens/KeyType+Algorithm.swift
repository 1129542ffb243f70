import KeyfobOpenSSL
import PKCS11

extension KeyType {
    /// Whether a key of this type can have an algorithm. Vendor-defined types can have any.
    func fits(_ algorithm: KeyAlgorithm) -> Bool {
        guard [.rsa, .ec, .ecEdwards].contains(self) else { return true }
        return switch algorithm {
        case .rsa: self == .rsa
        case .ec: self == .ec
        default: self != .rsa
        }
    }
}
