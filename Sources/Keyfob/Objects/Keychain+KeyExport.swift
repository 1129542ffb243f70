import KeyfobPrimitives
package import OpenSSL
import PKCS11

extension Keychain {
    /// A private key as it is, off the token; only where it was made extractable.
    ///
    /// - Throws: `KeychainError`; `keyNotExtractable`, `invalidArgument` for an item that is no private key on the
    ///   token, `mechanismUnsupported`, and the errors of `unlock()`.
    @available(*, noasync, message: "call it from a thread of your own")
    package func exportKey(_ item: Item) throws -> PrivateKey {
        guard let object = item.object, object.objectClass == .privateKey else {
            throw KeychainError(.invalidArgument, "the item is not a private key on the token.")
        }
        return try exportKey(object)
    }

    /// A private key, off the token; only where it was made extractable.
    func exportKey(_ object: TokenObject) throws -> PrivateKey {
        guard object.flags.contains(.extractable) else {
            throw KeychainError(
                .keyNotExtractable, "the key cannot leave token \"\(token.label)\": it is marked not extractable.")
        }
        _ = try keys()
        let wrappingKey = try RandomBytes.secret(count: 32)
        let (wrapped, wrapping) = try token.withSession(.export) { session in
            let wrapping = try Self.paddedKeyWrap(in: session)
            let carrier = try session.create([
                .objectClass(.secretKey), .keyType(.aes), .token(false), .isPrivate(true), .sensitive(true),
                .extractable(false), .encrypt(false), .decrypt(false), .wrap(true), .unwrap(false),
                .secret(.value, wrappingKey),
            ])
            // It ends with the session at the latest.
            defer { try? session.destroy(carrier) }
            let wrapped = try session.wrap(
                token.verifiedHandle(of: object, in: session), with: carrier, using: Mechanism(wrapping))
            return (wrapped, wrapping)
        }
        let pkcs8: SecretBytes
        do { pkcs8 = try AESKeyWrap.unwrapPadded(wrapped, key: wrappingKey) } catch let error as CryptoError {
            throw KeychainError(
                .mechanismUnsupported,
                "token \"\(token.label)\" wraps keys in a way of its own: the key does not come out whole.",
                hint: "The key stays where it is. What the token can do: keyfob token mechanisms",
                details: ["token": token.label, "mechanism": wrapping.name], cause: error)
        }
        return try PrivateKey.load(der: pkcs8.prefix(Self.lengthOfDER(pkcs8)))
    }

    /// What seals a private key by RFC 5649. PKCS#11 3.0 has a number for that; before, tokens took `CKM_AES_KEY_WRAP_PAD`
    /// for it, which is another way (PKCS#7's) with those that have both.
    private static func paddedKeyWrap(in session: borrowing Session) throws(PKCS11Error) -> MechanismType {
        do throws(PKCS11Error) {
            // The session's slot: to look for the token's, the module may be initialised again under the session.
            let info = try session.slot.mechanismInfo(.aesKeyWrapKWP)
            return info.flags.contains(.wrap) ? .aesKeyWrapKWP : .aesKeyWrapPad
        } catch {
            // A token that tells nothing of it does not have it.
            guard error.recovery == .final else { throw error }
            return .aesKeyWrapPad
        }
    }

    /// How many bytes the first DER element of `bytes` takes: SoftHSM fills what it wraps with zeroes up to a
    /// multiple of 8 and counts them as part of the key.
    private static func lengthOfDER(_ bytes: SecretBytes) -> Int {
        let start = unsafe bytes.withUnsafeBytes { unsafe Array($0.prefix(8)) }
        return DERHeader(start).map { min($0.total, bytes.count) } ?? bytes.count
    }
}
