package import KeyfobOpenSSL
import KeyfobPrimitives
package import PKCS11

/// The first signature of a new key.
extension TokenStore {
    /// Signs once with a private key that was just made or imported, and verifies the signature.
    ///
    /// Some tokens take keys that they cannot use: openCryptoki imports EC keys and has no mechanism for them. A key
    /// that needs the PIN at each use is not tried, since that could use up a try of the PIN.
    ///
    /// - Parameters:
    ///   - object: The private key.
    ///   - handle: Its handle.
    ///   - publicKey: The public half that it must have.
    ///   - session: A session of the token.
    /// - Throws: `KeychainError` with code `mechanismUnsupported` if the token does not sign with the key,
    ///   `tokenContractViolation` if the signature is wrong; `PKCS11Error` for other failures of the token.
    package func requireSignature(
        by object: TokenObject, _ handle: ObjectHandle, of publicKey: PublicKey, in session: borrowing Session
    ) throws {
        let challenge = try RandomBytes.bytes(count: 32)
        guard !object.flags.contains(.alwaysAuthenticate), let proof = object.proof(of: challenge) else { return }
        var signature: [UInt8]
        do {
            signature = try session.sign(proof.input, with: handle, using: proof.mechanism)
        } catch let refusal {
            guard refusal.isRefusalOfMechanism else { throw refusal }
            guard let padded = try signPadded(challenge, publicKey, handle, in: session) else {
                throw unusable(publicKey, refusal)
            }
            signature = padded
        }
        do {
            if proof.scheme == .ecdsa(.sha256) { signature = try ECDSASignature(raw: signature).der }
            if try publicKey.verify(signature, ofDigest: challenge, using: proof.scheme) { return }
        } catch is CryptoError {
            // The token returned something that is not a signature.
        }
        throw KeychainError(
            .tokenContractViolation,
            "token \"\(label)\" made a signature with the new key that the key's public half does not verify.",
            hint: "The key was not kept. The token or its module is broken.", details: ["token": label])
    }

    /// Signs with raw RSA and our padding, for tokens that have no other RSA mechanism; `nil` if that is refused too.
    private func signPadded(
        _ digest: [UInt8], _ publicKey: PublicKey, _ handle: ObjectHandle, in session: borrowing Session
    ) throws -> [UInt8]? {
        guard case .rsa(let bits) = publicKey.algorithm else { return nil }
        let block = try RSAPadding.block(toSign: digest, using: .rsaPKCS1(.sha256), bits: bits)
        do {
            return try session.sign(block, with: handle, using: Mechanism(.rsaX509))
        } catch let refusal {
            guard refusal.isRefusalOfMechanism else { throw refusal }
            return nil
        }
    }

    private func unusable(_ publicKey: PublicKey, _ refusal: PKCS11Error) -> KeychainError {
        KeychainError(
            .mechanismUnsupported,
            "token \"\(label)\" took the key and cannot sign with it: \(refusal.returnValue.name) from "
                + "\(refusal.function) with \(publicKey.algorithm).",
            remedies: [
                "The key was not kept. Use a key of another kind, or another token.",
                Remedy("See what it can do", .listMechanisms),
            ],
            details: ["token": label, "ckr": refusal.returnValue.name, "function": refusal.function.rawValue],
            cause: refusal)
    }
}
