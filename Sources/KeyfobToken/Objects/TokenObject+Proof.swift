package import KeyfobOpenSSL
package import PKCS11

extension TokenObject {
    /// How a private key signs 32 random bytes to prove itself; `nil` for unsupported key types.
    ///
    /// The mechanism follows from the key type itself: SoftHSM accepts any key for any mechanism, and crashes with a
    /// key of another type.
    package func proof(of challenge: [UInt8]) -> (scheme: SignatureScheme, mechanism: Mechanism, input: [UInt8])? {
        switch keyType {
        case .ec: (.ecdsa(.sha256), Mechanism(.ecdsa), challenge)
        case .ecEdwards: (.ed25519, .eddsa, challenge)
        case .rsa: (.rsaPKCS1(.sha256), Mechanism(.rsaPKCS), Digest.sha256.informationPrefix + challenge)
        default: nil
        }
    }
}
