import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL

/// Keys as bytes, in the form of SecKeyCopyExternalRepresentation: PKCS#1 for RSA, X9.63 for elliptic curves.
enum KeyMaterial {
    case `private`(PrivateKey)
    case `public`(PublicKey)

    /// Decodes a key from bytes and the attributes given with them.
    ///
    /// Returns `nil` for bytes that are not a key of that type; they are stored as they are.
    init?(_ data: Data, _ attributes: ItemAttributes) {
        // The class of a key defaults to 0, the public one.
        let half = attributes[.keyClass]?.number ?? KeyClass.public.rawValue
        guard let type = attributes[.type]?.number,
            let key = SecKey(externalRepresentation: data, KeyAlgorithmType(rawValue: type), KeyClass(rawValue: half))
        else { return nil }
        switch key.material {
        case .memory(let key): self = .private(key)
        case .public(let key): self = .public(key)
        case .token: return nil
        }
    }

    /// Returns the new content of a certificate or key. Bytes that are neither go to the vault.
    static func replacement(
        _ data: SecretBytes, _ itemClass: ItemClass, _ attributes: ItemAttributes
    ) -> Replacement {
        if itemClass == .certificate {
            return (try? Certificate(der: data.copyData())).map { .certificate($0) } ?? .secret(data)
        }
        switch KeyMaterial(data.copyData(), attributes) {
        case .private(let key):
            return .privateKey(key, isExtractable: (attributes[.isExtractable]?.number ?? 1) != 0)
        case .public(let key): return .publicKey(key)
        case nil: return .secret(data)
        }
    }

    /// Returns the bytes of a token key; `nil` if it cannot leave the token or has no external form.
    static func data(of item: Item, in keychain: Keychain) throws -> Data? {
        try ofUsableKey { () throws -> Data? in
            if item.attributes[.keyClass]?.number == KeyClass.public.rawValue {
                return try keychain.keys.publicKey(of: KeyItem(item: item))?.bits
            }
            return try keychain.keys.export(item).externalRepresentation
        }
    }

    /// Runs an operation on a token key, and returns `nil` if the key is unusable.
    ///
    /// A key is unusable if it cannot leave the token, its public half is unknown or ambiguous, Apple has no form for
    /// its type or curve, or the token lacks the mechanism. Tokens also hold keys of other programs, and one of those
    /// must not fail a search.
    static func ofUsableKey<Value>(_ make: () throws -> Value?) throws -> Value? {
        do { return try make() } catch let error as KeychainError where unusable.contains(error.code) {
            return nil
        } catch is CryptoError, is KeyFileError { return nil }
    }

    private static let unusable: Set<KeychainError.Code> = [
        .keyNotExtractable, .invalidArgument, .identityMismatch, .mechanismUnsupported, .ambiguous,
    ]

    /// Returns the reference to a key on the token or in the vault; `nil` for bytes that are not a key, and for an
    /// unusable key.
    static func reference(to item: Item, in keychain: Keychain) throws -> SecKey? {
        guard item.isOnToken else {
            guard item.hasSecret, let secret = try keychain.secret(of: item) else { return nil }
            switch KeyMaterial(secret.copyData(), item.attributes) {
            case .private(let key): return SecKey(.memory(key), item: item)
            case .public(let key): return SecKey(.public(key), item: item)
            case nil: return publicRSAKey(secret, item)
            }
        }
        return try ofUsableKey { () throws -> SecKey? in
            guard item.isPrivateKey else {
                return try keychain.keys.publicKey(of: KeyItem(item: item)).map { SecKey(.public($0), item: item) }
            }
            return SecKey(.token(try keychain.keys.tokenKey(for: KeyItem(item: item))), item: item)
        }
    }

    /// Returns the RSA public key in an enclosing structure, which SecKeyCreateWithData accepts too.
    private static func publicRSAKey(_ data: SecretBytes, _ item: Item) -> SecKey? {
        guard item.attributes[.type]?.number == KeyAlgorithmType.rsa.rawValue,
            item.attributes[.keyClass]?.number ?? KeyClass.public.rawValue == KeyClass.public.rawValue
        else { return nil }
        return PublicKey(ofRSAIn: data.copyData()).map { SecKey(.public($0), item: item) }
    }
}
