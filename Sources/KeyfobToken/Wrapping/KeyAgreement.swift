import Foundation
package import KeyfobOpenSSL
package import KeyfobPrimitives
package import PKCS11

/// Key agreement with a private key on the token.
package enum KeyAgreement {
    /// Returns the x coordinate (SEC 1 section 3.3.1) that a private key on the token and a public key agree on.
    ///
    /// The token derives it into a session object, which is read and destroyed.
    ///
    /// - Parameters:
    ///   - key: The private key.
    ///   - other: The public key of the other party, on the same curve.
    ///   - session: A session of the token.
    /// - Returns: The shared secret.
    /// - Throws: `KeyFileError` if the point is not on its curve; `KeychainError` with code `mechanismUnsupported` if
    ///   the token does not reveal what it derives; `PKCS11Error`.
    package static func secret(
        of key: ObjectHandle, with other: PublicKey, in session: borrowing Session
    ) throws -> SecretBytes {
        // A point that is not on the curve could reveal bits of the private key, and not every token checks it.
        try other.validate()
        guard case .ec(let name) = other.algorithm, let curve = EllipticCurve(name),
            let point = ECPoint([UInt8](other.bits), curve: curve)
        else { throw KeychainError(.mechanismUnsupported, "the key is not on a curve that tokens support.") }
        let derived = try session.derive(
            from: key, using: .ecdh1Derive(peerPoint: point),
            template: [
                .objectClass(.secretKey), .keyType(.genericSecret), .token(false), .isPrivate(true),
                .sensitive(false), .extractable(true), .valueLength(UInt(curve.fieldBytes)),
            ])
        // The session object disappears with the session at the latest.
        defer { try? session.destroy(derived) }
        guard let secret = try session.secretAttribute(.value, of: derived), secret.count == curve.fieldBytes else {
            throw KeychainError(.mechanismUnsupported, "the token does not reveal what it derives.")
        }
        return secret
    }
}
