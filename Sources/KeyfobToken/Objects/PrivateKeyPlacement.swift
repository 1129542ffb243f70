import Foundation
import KeyfobPrimitives
package import KeyfobOpenSSL
package import PKCS11

/// Imports a private key onto a token, trying several methods in turn.
///
/// Many tokens refuse `C_CreateObject` for a private key, because their policy forbids plaintext keys, but accept the
/// same key wrapped. In that case the token generates a wrapping key as a session object, which disappears with the
/// session. The private key is encrypted under it and unwrapped into place:
///
/// 1. `C_CreateObject`;
/// 2. an AES key that the token generates; the token encrypts with `CKM_AES_CBC_PAD` and unwraps (NSS, openCryptoki);
/// 3. an RSA pair that the token generates; RSA-OAEP transports an AES key made by Keyfob, and `CKM_AES_KEY_WRAP_PAD`
///    (RFC 5649) the private key under it (SoftHSM).
///
/// The object has the same template with every method, and is read back like any other.
package struct PrivateKeyPlacement {
    package let key: PrivateKey
    /// The private key's template, including the key material.
    package let template: AttributeTemplate
    /// The token's name in messages.
    package let token: String

    package init(key: PrivateKey, template: AttributeTemplate, token: String) {
        self.key = key
        self.template = template
        self.token = token
    }

    private enum Way: CaseIterable { case blockCipher, keyTransport }

    /// The template without the key material, which the token takes from the unwrapped key. It keeps the key type.
    private var wrappedTemplate: AttributeTemplate {
        let numbers: Set<AttributeType> = [
            .modulus, .publicExponent, .privateExponent, .prime1, .prime2, .exponent1, .exponent2, .coefficient,
            .ecParameters, .value,
        ]
        return AttributeTemplate(template.attributes.filter { !numbers.contains($0.type) })
    }

    /// Creates the object by the first method that the token accepts.
    ///
    /// - Parameter session: A session of the token.
    /// - Returns: The handle of the private key.
    /// - Throws: `KeychainError` with code `mechanismUnsupported` if the token accepts none; `PKCS11Error` of the first
    ///   method if that error does not show what the token accepts.
    package func callAsFunction(in session: borrowing Session) throws -> ObjectHandle {
        do {
            return try session.create(template)
        } catch let refusal {
            guard Self.mayTakeWrapped(refusal.returnValue) else { throw refusal }
            for way in Way.allCases {
                do {
                    return switch way {
                    case .blockCipher: try byBlockCipher(session)
                    case .keyTransport: try byKeyTransport(session)
                    }
                } catch let error as PKCS11Error {
                    // A token that is removed, full or logged out fails with every method.
                    guard error.recovery == .final, error.returnValue != .deviceMemory else { throw error }
                }
            }
            guard refusal.recovery == .final else { throw refusal }
            throw KeychainError.takesNoKey(refusal, key.publicKey.algorithm, token: token)
        }
    }

    /// The errors of tokens that refuse plaintext private keys. Any other error would occur with every method.
    private static func mayTakeWrapped(_ value: ReturnValue) -> Bool {
        [
            .templateInconsistent, .templateIncomplete, .attributeValueInvalid, .attributeReadOnly,
            .attributeTypeInvalid, .functionNotSupported, .actionProhibited, .functionRejected, .attributeSensitive,
            .keyFunctionNotPermitted, .generalError, .functionFailed,
        ].contains(value)
    }

    /// Method 2. The token encrypts the key itself, so it receives the key in clear as with method 1.
    private func byBlockCipher(_ session: borrowing Session) throws -> ObjectHandle {
        let wrapping = try session.generateKey(
            Mechanism(.aesKeyGeneration),
            template: [
                .objectClass(.secretKey), .keyType(.aes), .token(false), .isPrivate(true), .sensitive(true),
                .extractable(false), .valueLength(32), .encrypt(true), .unwrap(true),
            ])
        defer { discard(wrapping, session) }
        let mechanism = Mechanism.aesCBCPad(iv: try RandomBytes.bytes(count: 16))
        let sealed = try session.encryptSecret(key.pkcs8DER(), with: wrapping, using: mechanism)
        return try session.unwrap(sealed, with: wrapping, using: mechanism, template: wrappedTemplate)
    }

    /// Method 3. The module receives only encrypted keys.
    private func byKeyTransport(_ session: borrowing Session) throws -> ObjectHandle {
        let pair = try session.generateKeyPair(
            Mechanism(.rsaPKCSKeyPairGeneration),
            publicTemplate: [
                .objectClass(.publicKey), .token(false), .modulusBits(2048), .publicExponent([1, 0, 1]), .encrypt(true),
            ],
            privateTemplate: [
                .objectClass(.privateKey), .token(false), .isPrivate(true), .sensitive(true), .extractable(false),
                .decrypt(true), .unwrap(true),
            ])
        defer {
            discard(pair.publicKey, session)
            discard(pair.privateKey, session)
        }
        let numbers = try session.attributes([.modulus, .publicExponent], of: pair.publicKey)
        guard let modulus = numbers[.modulus], let exponent = numbers[.publicExponent] else {
            throw KeychainError(
                .tokenContractViolation, "the token does not tell the public half of a key it just made.")
        }
        let transport = try PublicKey(rsaModulus: .init(modulus), publicExponent: .init(exponent))
        let secret = try RandomBytes.secret(count: 32)
        // SHA-1 is safe within OAEP, and the only hash that SoftHSM supports there.
        let wrapping = try session.unwrap(
            transport.encryptOAEP(secret, hash: .sha1), with: pair.privateKey, using: .rsaOAEP(hash: .sha1),
            template: [
                .objectClass(.secretKey), .keyType(.aes), .token(false), .isPrivate(true), .sensitive(true),
                .extractable(false), .unwrap(true),
            ])
        defer { discard(wrapping, session) }
        let sealed = try AESKeyWrap.wrapPadded(key.pkcs8DER(), key: secret)
        return try session.unwrap(
            sealed, with: wrapping, using: Mechanism(.aesKeyWrapPad), template: wrappedTemplate)
    }

    private func discard(_ handle: ObjectHandle, _ session: borrowing Session) {
        // A session object: if it cannot be destroyed now, it disappears with the session.
        do { try session.destroy(handle) } catch {}
    }
}

extension KeychainError {
    /// The error of a token that does not store a key made elsewhere.
    package static func takesNoKey(
        _ refusal: PKCS11Error, _ algorithm: KeyAlgorithm?, token: String
    ) -> KeychainError {
        KeychainError(
            .mechanismUnsupported,
            "token \"\(token)\" takes no key from outside"
                + (algorithm.map { ", at least not of this kind: \($0)" } ?? "") + " (\(refusal.returnValue.name)).",
            remedies: [
                Remedy("Make a new key on the token instead", .generateKey),
                Remedy("See what it can do", .listMechanisms),
            ],
            details: ["token": token, "ckr": refusal.returnValue.name, "function": refusal.function.rawValue],
            cause: refusal)
    }
}
