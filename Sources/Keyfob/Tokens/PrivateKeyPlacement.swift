import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11

/// Puts a private key that was in a file onto a token: the ways there, tried in turn.
///
/// Many tokens refuse `C_CreateObject` of a private key, as their rules forbid plain keys, and take the same key
/// wrapped. Then a key is made on the token for this one purpose, a session object that is gone with the session; the
/// private key is sealed under it and unwrapped into its place:
///
/// 1. `C_CreateObject`;
/// 2. an AES key that the token generates; the token encrypts with `CKM_AES_CBC_PAD` and unwraps (NSS, openCryptoki);
/// 3. an RSA pair that the token generates; an AES key of ours goes in by RSA-OAEP, and under it the private key by
///    `CKM_AES_KEY_WRAP_PAD` (RFC 5649; SoftHSM).
///
/// The object has the same template whichever way it came, and is read back like any other.
struct PrivateKeyPlacement {
    let key: PrivateKey
    /// The private key's template, with the numbers of the key.
    let template: AttributeTemplate
    /// What messages call the token.
    let token: String

    private enum Way: CaseIterable { case blockCipher, keyTransport }

    /// What a token tells the unwrapped key by itself: the numbers. The kind of key it must be told.
    private var wrappedTemplate: AttributeTemplate {
        let numbers: Set<AttributeType> = [
            .modulus, .publicExponent, .privateExponent, .prime1, .prime2, .exponent1, .exponent2, .coefficient,
            .ecParameters, .value,
        ]
        return AttributeTemplate(template.attributes.filter { !numbers.contains($0.type) })
    }

    /// Makes the object by the first way that the token takes.
    ///
    /// - Throws: `PKCS11Error`; where no way works, that of the first, or `KeychainError` with code
    ///   `mechanismUnsupported` where it was about the key.
    func callAsFunction(in session: borrowing Session) throws -> ObjectHandle {
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
                    // A token that is gone, full or logged out would be so on every way.
                    guard error.recovery == .final, error.returnValue != .deviceMemory else { throw error }
                }
            }
            guard Self.isAboutTemplate(refusal.returnValue) else { throw refusal }
            throw KeychainError(
                .mechanismUnsupported,
                "token \"\(token)\" does not take a key of this kind: \(key.publicKey.algorithm) "
                    + "(\(refusal.returnValue.name)).",
                remedies: [Remedy("See what it can do", .listMechanisms)],
                details: ["token": token, "ckr": refusal.returnValue.name, "function": refusal.function.rawValue],
                cause: refusal)
        }
    }

    private static func isAboutTemplate(_ value: ReturnValue) -> Bool {
        [.templateInconsistent, .templateIncomplete, .attributeValueInvalid, .attributeTypeInvalid].contains(value)
    }

    /// The answers of tokens that do not take plain private keys; any other is a failure on every way.
    private static func mayTakeWrapped(_ value: ReturnValue) -> Bool {
        [
            .templateInconsistent, .templateIncomplete, .attributeValueInvalid, .attributeReadOnly,
            .attributeTypeInvalid, .functionNotSupported, .actionProhibited, .functionRejected, .attributeSensitive,
            .keyFunctionNotPermitted, .generalError, .functionFailed,
        ].contains(value)
    }

    /// Way 2. The key passes the token's own encryption, so the token sees it in clear as with way 1.
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

    /// Way 3. Only what is sealed passes the module.
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
            throw KeychainError(.tokenContractViolation, "the token does not tell the public half of a key it just made.")
        }
        let transport = try PublicKey(rsaModulus: .init(modulus), publicExponent: .init(exponent))
        let secret = try RandomBytes.secret(count: 32)
        // SHA-1 is safe within OAEP, and all that SoftHSM knows.
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
        // A session object: what cannot be destroyed now is gone with the session.
        do { try session.destroy(handle) } catch {}
    }
}
