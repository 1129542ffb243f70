import Foundation
import Keyfob
import KeyfobPrimitives
import OpenSSL

/// Keys as bytes, in the form of SecKeyCopyExternalRepresentation: PKCS#1 for RSA, X9.63 for elliptic curves.
enum KeyMaterial {
    case `private`(PrivateKey)
    case `public`(PublicKey)

    /// The key that bytes hold, by the attributes they were given with; `nil` for other bytes, and for keys that no
    /// token holds: they are stored as they are.
    init?(_ data: Data, _ attributes: ItemAttributes) {
        // What has no half has the half that is 0, the public one.
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

    /// What new data makes of a certificate or key; bytes that are neither go to the vault.
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

    /// The bytes of a key on the token; `nil` for one that cannot leave it, and for one that has no form of bytes.
    static func data(of item: Item, in keychain: Keychain) throws -> Data? {
        try ofUsableKey { () throws -> Data? in
            if item.attributes[.keyClass]?.number == KeyClass.public.rawValue {
                return try keychain.publicKey(of: KeyItem(item: item))?.bits
            }
            return try keychain.exportKey(item).externalRepresentation
        }
    }

    /// What is made of a key on the token; `nil` where it is none that anything can be made of: it cannot leave, nobody
    /// knows its public half or tells it from another, its kind or curve has no form of Apple's, or the token cannot do
    /// what that takes.
    ///
    /// Tokens hold keys of other programs too, and one of theirs is no reason to refuse the others of a search.
    static func ofUsableKey<Value>(_ make: () throws -> Value?) throws -> Value? {
        do { return try make() } catch let error as KeychainError where unusable.contains(error.code) {
            return nil
        } catch is CryptoError, is KeyFileError { return nil }
    }

    private static let unusable: Set<KeychainError.Code> = [
        .keyNotExtractable, .invalidArgument, .identityMismatch, .mechanismUnsupported, .ambiguous,
    ]

    /// The reference to a key, on the token or in the vault; `nil` for bytes that are no key, and for a key that is of
    /// no use.
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
                return try keychain.publicKey(of: KeyItem(item: item)).map { SecKey(.public($0), item: item) }
            }
            return SecKey(.token(try keychain.tokenKey(for: KeyItem(item: item))), item: item)
        }
    }

    /// The public key of RSA in bytes that have more around it, as SecKeyCreateWithData takes them too.
    private static func publicRSAKey(_ data: SecretBytes, _ item: Item) -> SecKey? {
        guard item.attributes[.type]?.number == KeyAlgorithmType.rsa.rawValue,
            item.attributes[.keyClass]?.number ?? KeyClass.public.rawValue == KeyClass.public.rawValue
        else { return nil }
        return PublicKey(ofRSAIn: data.copyData()).map { SecKey(.public($0), item: item) }
    }
}
