/// An operation with a key; `SecKeyOperationType` of SecKey.h.
public enum SecKeyOperationType: CFIndex, Sendable {
    /// Making a signature.
    case sign = 0
    /// Verifying a signature.
    case verify = 1
    /// Encryption.
    case encrypt = 2
    /// Decryption.
    case decrypt = 3
    /// Key agreement.
    case keyExchange = 4
}
