import KeyfobOpenSSL
import PKCS11

extension KeyType {
    /// Whether a key of an algorithm may be of this kind; what others define may be anything.
    func fits(_ algorithm: KeyAlgorithm) -> Bool {
        guard [.rsa, .ec, .ecEdwards].contains(self) else { return true }
        return switch algorithm {
        case .rsa: self == .rsa
        case .ec: self == .ec
        default: self != .rsa
        }
    }
}
