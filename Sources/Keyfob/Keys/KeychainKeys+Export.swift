import KeyfobPrimitives
package import KeyfobOpenSSL
import PKCS11

extension KeychainKeys {
    /// Exports a private key from the token; only if it is extractable.
    ///
    /// - Throws: `KeychainError`; `keyNotExtractable`, `invalidArgument` for an item that is not a private key on the
    ///   token, `mechanismUnsupported`, and the errors of `unlock()`.
    @available(*, noasync, message: "call it from a thread of your own")
    package func export(_ item: Item) throws -> PrivateKey {
        try keychain.withDeadline { [self] in
            guard let object = item.object, object.objectClass == .privateKey else {
                throw KeychainError(.invalidArgument, "the item is not a private key on the token.")
            }
            return try export(object)
        }
    }

    /// Exports a private key from the token; only if it is extractable.
    func export(_ object: TokenObject) throws -> PrivateKey {
        guard object.flags.contains(.extractable) else {
            throw KeychainError(
                .keyNotExtractable,
                "the key cannot leave token \"\(keychain.token.label)\": it is marked not extractable.")
        }
        _ = try keychain.vaultKeys()
        let wrappingKey = try RandomBytes.secret(count: 32)
        let (wrapped, wrapping) = try keychain.token.withSession(.export) { session in
            let wrapping = try Self.paddedKeyWrap(in: session)
            let carrier = try session.create([
                .objectClass(.secretKey), .keyType(.aes), .token(false), .isPrivate(true), .sensitive(true),
                .extractable(false), .encrypt(false), .decrypt(false), .wrap(true), .unwrap(false),
                .secret(.value, wrappingKey),
            ])
            // The session object is destroyed with the session at the latest.
            defer { try? session.destroy(carrier) }
            let wrapped = try session.wrap(
                keychain.token.verifiedHandle(of: object, in: session), with: carrier, using: Mechanism(wrapping))
            return (wrapped, wrapping)
        }
        let pkcs8: SecretBytes
        do { pkcs8 = try AESKeyWrap.unwrapPadded(wrapped, key: wrappingKey) } catch let error as CryptoError {
            throw KeychainError(
                .mechanismUnsupported,
                "token \"\(keychain.token.label)\" wraps keys in a way of its own: the key does not come out whole.",
                remedies: [
                    "The key stays where it is.", Remedy("See what the token can do", .listMechanisms),
                ],
                details: ["token": keychain.token.label, "mechanism": wrapping.name], cause: error)
        }
        return try PrivateKey.load(der: pkcs8.prefix(Self.lengthOfDER(pkcs8)))
    }

    /// The mechanism that wraps a private key by RFC 5649.
    ///
    /// PKCS#11 3.0 defines one. Before, tokens used `CKM_AES_KEY_WRAP_PAD` for it. Tokens that have both use that one
    /// for PKCS#7 padding instead.
    private static func paddedKeyWrap(in session: borrowing Session) throws(PKCS11Error) -> MechanismType {
        do throws(PKCS11Error) {
            // Ask the session's slot: looking up the token's slot may reinitialize the module under the session.
            let info = try session.slot.mechanismInfo(.aesKeyWrapKWP)
            return info.flags.contains(.wrap) ? .aesKeyWrapKWP : .aesKeyWrapPad
        } catch {
            // A token that has no information about the mechanism does not support it.
            guard error.recovery == .final else { throw error }
            return .aesKeyWrapPad
        }
    }

    /// The length of the first DER element of `bytes`.
    ///
    /// SoftHSM pads a wrapped key with zeros to a multiple of 8 and counts them as part of the key.
    private static func lengthOfDER(_ bytes: SecretBytes) -> Int {
        let start = unsafe bytes.withUnsafeBytes { unsafe Array($0.prefix(8)) }
        return DERHeader(start).map { min($0.total, bytes.count) } ?? bytes.count
    }
}
