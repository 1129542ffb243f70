import Foundation
import KeyfobPrimitives
public import OpenSSL
import PKCS11

/// Which public key belongs to a key on the token.
extension Keychain {
    /// The public key of a key, from the token's object or its certificate; `nil` for secret keys, and where nobody
    /// knows it.
    ///
    /// A certificate is believed where its key's hash is the identifier of both, or where it verifies a signature that
    /// the key has just made: identifiers such as 01, and none at all, are shared by what does not belong together.
    /// Whose word were taken for it would see one key destroyed under another's fingerprint.
    ///
    /// - Throws: `OpenSSLError` for a key that libcrypto refuses, and the errors of `unlock()`.
    @available(*, noasync, message: "use the asynchronous form")
    public func publicKey(of key: KeyItem) throws -> PublicKey? {
        guard let object = key.item.object, object.objectClass != .secretKey else { return nil }
        return try publicKey(of: object)
    }

    /// The public key of a key that is of no use without it.
    ///
    /// - Throws: `KeychainError` with code `invalidArgument` where nobody knows it; as `publicKey(of:)`.
    package func knownPublicKey(of key: KeyItem) throws -> PublicKey {
        if let publicKey = try publicKey(of: key) { return publicKey }
        let name = key.label.map { "key \"\($0)\"" } ?? "the key"
        guard let object = key.item.object, object.objectClass != .secretKey else {
            throw KeychainError(
                .invalidArgument, "\(name) has no public half.", hint: "It is a secret key.",
                details: key.label.map { ["key": $0] } ?? [:])
        }
        let hint = object.id.isEmpty
            ? "Write its public key to the token, and give both one identifier: pkcs11-tool --set-id"
            : "Write its public key to the token: "
                + "pkcs11-tool --write-object FILE --type pubkey --id \(object.id.hexadecimal)"
        throw KeychainError(
            .invalidArgument,
            "nobody knows the public key of \(name): token \"\(token.label)\" does not tell it, and has no public key "
                + "or certificate that is surely the key's.",
            hint: hint, details: ["token": token.label].merging(key.label.map { ["key": $0] } ?? [:]) { $1 })
    }

    private func publicKey(of object: TokenObject) throws -> PublicKey? {
        if let info = object.publicKeyInfo { return try PublicKey(subjectPublicKeyInfo: info) }
        guard !object.id.isEmpty else { return nil }
        var candidates: [PublicKey] = []
        for other in try index.objects(keys()) where other.objectClass == .certificate && other.id == object.id {
            // Something that calls itself a certificate and is none tells nothing.
            guard let key = try? other.certificate.publicKey, !candidates.contains(key) else { continue }
            candidates.append(key)
        }
        if let named = candidates.first(where: { $0.identifier == object.id }) { return named }
        return try candidates.first { try isProven($0, of: object) }
    }

    /// Whether a private key makes a signature that a public key verifies. Keys that want the PIN for it are not asked.
    private func isProven(_ publicKey: PublicKey, of object: TokenObject) throws -> Bool {
        guard object.objectClass == .privateKey, object.flags.contains(.sign),
            !object.flags.contains(.alwaysAuthenticate), object.fits(publicKey),
            let scheme = SignatureScheme.preferred(for: publicKey.algorithm)
        else { return false }
        do {
            return try !TokenKey(keychain: self, object: object, publicKey: publicKey).proven([scheme]).isEmpty
        } catch let error as KeychainError
            where [.identityMismatch, .mechanismUnsupported, .itemNotFound, .tokenDisobeyed, .failed]
            .contains(error.code)
        {
            // Another's, or a key that does not sign now: nothing is proved.
            return false
        }
    }
}

extension TokenObject {
    /// Whether a public key is of the kind and size that the token says the key is; what it does not say may be any.
    func fits(_ publicKey: PublicKey) -> Bool {
        (keyType?.fits(publicKey.algorithm) ?? true) && (sizeInBits.map { $0 == publicKey.size } ?? true)
    }
}
