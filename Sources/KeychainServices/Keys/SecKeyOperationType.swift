/// What is done with a key; `SecKeyOperationType` of SecKey.h.
public enum SecKeyOperationType: CFIndex, Sendable {
    /// A signature is made.
    case sign = 0
    /// A signature is verified.
    case verify = 1
    /// Something is encrypted.
    case encrypt = 2
    /// Something is decrypted.
    case decrypt = 3
    /// A secret is agreed on with another key.
    case keyExchange = 4
}
