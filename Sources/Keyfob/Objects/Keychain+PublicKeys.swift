import Foundation
import KeyfobPrimitives
public import OpenSSL
import PKCS11

/// Which public key belongs to a key on the token.
extension Keychain {
    /// The public key of a key, from the token's object or its certificate; `nil` for secret keys, and where nobody
    /// knows it.
    ///
    /// A certificate is believed where its key's hash is the key's identifier, or where it verifies a signature that
    /// the key has just made: identifiers such as 01, and none at all, are shared by objects that do not belong
    /// together, and a key must not be destroyed under another's fingerprint.
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
        if let known = object.parsed.publicKey { return known }
        let objects = try index.objects(keys())
        guard object.objectClass == .privateKey else {
            return objects.lazy.filter { $0.objectClass == .certificate && $0.publicKeyHash == object.id }
                .compactMap { try? $0.certificate.publicKey }.first
        }
        return try recognizing(objects).first { $0 == object }?.parsed.publicKey
    }
}

extension TokenObject {
    /// Whether a public key is of the kind and size that the token says the key is; what it does not say may be any.
    func fits(_ publicKey: PublicKey) -> Bool {
        (keyType?.fits(publicKey.algorithm) ?? true) && (sizeInBits.map { $0 == publicKey.size } ?? true)
    }
}
