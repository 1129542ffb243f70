import Foundation
import KeyfobPrimitives
public import KeyfobOpenSSL
import PKCS11

/// Finding the public key of a key on the token.
extension KeychainKeys {
    /// The public key of a key, from its token object or its certificate; `nil` for secret keys, and if it is unknown.
    ///
    /// A certificate is accepted if the hash of its key is the key's identifier, or if it verifies a signature that the
    /// key has just made. Unrelated objects may share identifiers such as 01, or have none, and a key must not be
    /// destroyed under the fingerprint of another one.
    ///
    /// - Throws: `OpenSSLError` for a key that libcrypto refuses, and the errors of `unlock()`.
    @available(*, noasync, message: "use the asynchronous form")
    public func publicKey(of key: KeyItem) throws -> PublicKey? {
        try keychain.withDeadline { [self] in
            guard let object = key.item.object, object.objectClass != .secretKey else { return nil }
            return try publicKey(of: object)
        }
    }

    /// The public key of a key, for callers that cannot work without it.
    ///
    /// - Throws: `KeychainError` with code `invalidArgument` if it is unknown, `OpenSSLError` for a key that libcrypto
    ///   refuses, and the errors of `unlock()`.
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
            "the public key of \(name) is unknown: token \"\(keychain.token.label)\" does not tell it, and has no "
                + "public key or certificate that is surely the key's.",
            hint: hint, details: ["token": keychain.token.label].merging(key.label.map { ["key": $0] } ?? [:]) { $1 })
    }

    private func publicKey(of object: TokenObject) throws -> PublicKey? {
        if let info = object.publicKeyInfo { return try PublicKey(subjectPublicKeyInfo: info) }
        if let known = object.parsed.publicKey { return known }
        let objects = try keychain.index.objects(keychain.vaultKeys())
        guard object.objectClass == .privateKey else {
            return objects.lazy.filter { $0.objectClass == .certificate && $0.publicKeyHash == object.id }
                .compactMap { try? $0.certificate.publicKey }.first
        }
        return try keychain.tokenItems.recognizing(objects).first { $0 == object }?.parsed.publicKey
    }
}

extension TokenObject {
    /// Whether a public key has the type and size that the token reports for the key; unreported values match any.
    func fits(_ publicKey: PublicKey) -> Bool {
        (keyType?.fits(publicKey.algorithm) ?? true) && (sizeInBits.map { $0 == publicKey.size } ?? true)
    }
}
