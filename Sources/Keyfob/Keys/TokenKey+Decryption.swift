import Foundation
public import KeyfobPrimitives
public import KeyfobOpenSSL
import PKCS11

/// Decryption and key agreement.
extension TokenKey {
    /// Decrypts with an RSA key.
    ///
    /// If the token does not support the padding, it does raw RSA and Keyfob removes the padding in constant time.
    ///
    /// > Important: With `.rsaPKCS1`, a program that reveals whether decryption succeeded can be abused as a decryption
    /// oracle.
    ///
    /// - Parameters:
    ///   - ciphertext: The ciphertext.
    ///   - scheme: The padding.
    /// - Returns: The plaintext.
    /// - Throws: `KeychainError`; `mechanismUnsupported` for another kind of key, or if the token does not even support
    ///   raw RSA; `invalidArgument` if the ciphertext is not for this key; `itemNotFound` if the key is gone; and the
    ///   errors of `unlock()`.
    @available(*, noasync, message: "use the asynchronous form")
    public func decrypt(_ ciphertext: [UInt8], using scheme: EncryptionScheme) throws -> SecretBytes {
        try keychain.withDeadline { [self] in
            guard case .rsa(let bits) = publicKey.algorithm else {
                throw KeychainError(.mechanismUnsupported, "\(scheme) takes an RSA key, not \(publicKey.algorithm).")
            }
            let size = (bits + 7) / 8
            guard ciphertext.count <= size else { throw Self.notForThisKey(nil) }
            // The ciphertext is a number whose leading zeros may have been left out.
            let input = [UInt8](repeating: 0, count: size - ciphertext.count) + ciphertext
            _ = try keychain.vaultKeys()
            let token = keychain.token
            do {
                return try token.withSession(.decrypt) { session in
                    let handle = try token.keepsHandles()
                        ? token.handle(of: object, in: session) : token.verifiedHandle(of: object, in: session)
                    if let mechanism = Self.mechanism(scheme), !token.refuses(mechanism, with: object) {
                        do {
                            return try authenticating(on: session.slot) { (pin) throws(PKCS11Error) in
                                try session.decryptSecret(
                                    input, with: handle, using: mechanism, authenticatingWith: pin)
                            }
                        } catch let error as PKCS11Error {
                            guard token.learns(from: error, using: mechanism, with: object) else { throw error }
                        }
                    }
                    let block = try authenticating(on: session.slot) { (pin) throws(PKCS11Error) in
                        try session.decryptSecret(
                            input, with: handle, using: Mechanism(.rsaX509), authenticatingWith: pin)
                    }
                    return try RSAPadding.message(inDecrypted: block, using: scheme)
                }
            } catch let error as CryptoError {
                throw Self.notForThisKey(error)
            } catch let error as KeychainError where Self.isRefusalOfCiphertext(error) {
                // Checked only here, after the pool has found the token working: a crashed daemon returns the same
                // errors as a bad ciphertext.
                throw Self.notForThisKey(error.cause)
            }
        }
    }

    /// Agrees on a secret with another key on the same curve: the x coordinate (SEC 1 3.3.1), from which a key has yet
    /// to be derived.
    ///
    /// The token derives it into a session object, which is read and destroyed.
    ///
    /// - Parameter other: The public key of the other party.
    /// - Returns: The shared secret.
    /// - Throws: `KeychainError`; `invalidArgument` if the keys are not on the same curve or the point is not on it;
    ///   `mechanismUnsupported` if the token cannot derive or does not reveal the result; `itemNotFound` if the key is
    ///   gone; and the errors of `unlock()`.
    @available(*, noasync, message: "call it from a thread of your own")
    public func sharedSecret(with other: PublicKey) throws -> SecretBytes {
        try keychain.withDeadline { [self] in
            guard case .ec(let name) = publicKey.algorithm, other.algorithm == publicKey.algorithm,
                EllipticCurve(name) != nil
            else { throw KeychainError(.invalidArgument, "key agreement takes two keys on one curve.") }
            do { try other.validate() } catch {
                throw KeychainError(.invalidArgument, "the other key is not on the curve.", cause: error)
            }
            _ = try keychain.vaultKeys()
            let token = keychain.token
            return try token.withSession(.derive) { session in
                let handle = try token.keepsHandles()
                    ? token.handle(of: object, in: session) : token.verifiedHandle(of: object, in: session)
                return try KeyAgreement.secret(of: handle, with: other, in: session)
            }
        }
    }

    /// The private key in memory; only for a key that was made extractable.
    ///
    /// - Returns: The key.
    /// - Throws: `KeychainError`; `keyNotExtractable`, `mechanismUnsupported`, and the errors of `unlock()`.
    @available(*, noasync, message: "call it from a thread of your own")
    public func exported() throws -> PrivateKey {
        try keychain.withDeadline { [self] in
            try keychain.keys.export(object)
        }
    }

    /// The token's mechanism for a padding.
    private static func mechanism(_ scheme: EncryptionScheme) -> Mechanism? {
        if scheme == .rsaPKCS1 { return Mechanism(.rsaPKCS) }
        return scheme.digest.flatMap { HashAlgorithm($0) }.map { .rsaOAEP(hash: $0) }
    }

    /// The errors by which tokens report that a ciphertext does not decrypt.
    private static let refusals: Set<ReturnValue> = [
        .encryptedDataInvalid, .encryptedDataLengthRange, .dataInvalid, .dataLengthRange, .generalError,
        .functionFailed,
    ]

    private static func isRefusalOfCiphertext(_ error: KeychainError) -> Bool {
        guard let cause = error.cause as? PKCS11Error else { return false }
        return cause.function == .decrypt && refusals.contains(cause.returnValue)
    }

    private static func notForThisKey(_ cause: (any Error)?) -> KeychainError {
        KeychainError(.invalidArgument, "the ciphertext was not made for this key, or was changed.", cause: cause)
    }
}
