package import KeyfobOpenSSL
import PKCS11

extension TokenObject {
    /// Returns the public half of a private key, which the token shows with the key or in a certificate of its id.
    ///
    /// - Parameter objects: The objects of the token.
    /// - Returns: The public half; `nil` if the token does not show it.
    /// - Throws: The errors of reading a key that libcrypto does not accept.
    package func publicHalf(among objects: [TokenObject]) throws -> PublicKey? {
        if let information = knownPublicKeyInfo { return try PublicKey(subjectPublicKeyInfo: information) }
        return try objects.first { $0.id == id && $0.objectClass == .certificate }?.certificate.publicKey
    }
}
