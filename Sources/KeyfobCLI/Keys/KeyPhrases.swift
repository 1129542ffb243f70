import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11

/// Phrases and document members that describe keys.
enum KeyPhrases {
    /// The kind of a key, such as `EC P-256` or `AES-256`.
    static func kind(_ key: KeyItem, _ publicKey: PublicKey?) -> String {
        kind(key.keyType, bits: key.sizeInBits, publicKey?.algorithm) ?? "unknown"
    }

    /// The kind of a key object on the token; `nil` for certificates.
    ///
    /// Kinds that no item can have keep their PKCS#11 name, without `CKK_`.
    static func kind(_ object: TokenContents.Object) -> String? {
        object.keyType.map { type in
            kind(KeyAlgorithmType(type), bits: object.sizeInBits, object.algorithm)
                ?? sized(type.name.replacing("CKK_", with: ""), " ", object.sizeInBits)
        }
    }

    private static func kind(_ type: KeyAlgorithmType?, bits: Int?, _ algorithm: KeyAlgorithm?) -> String? {
        if let algorithm { return algorithm.description }
        return switch type {
        case .rsa: sized("RSA", " ", bits)
        case .ec: sized("EC", " ", bits)
        case .ed25519: "Ed25519"
        case .aes: sized("AES", "-", bits)
        default: nil
        }
    }

    private static func sized(_ name: String, _ separator: String, _ bits: Int?) -> String {
        bits.map { name + separator + String($0) } ?? name
    }

    /// `private`, `public` or `secret`.
    static func half(_ key: KeyItem) -> String { half(key.keyClass) }

    /// The class of an object on the token: `private`, `public`, `secret` or `certificate`.
    static func half(_ object: TokenContents.Object) -> String {
        switch object.objectClass {
        case .certificate: "certificate"
        case .privateKey: half(KeyClass.private)
        case .publicKey: half(KeyClass.public)
        case .secretKey: half(KeyClass.symmetric)
        default: object.objectClass.name
        }
    }

    private static func half(_ keyClass: KeyClass?) -> String {
        switch keyClass {
        case .private: "private"
        case .public: "public"
        case .symmetric: "secret"
        default: "unknown"
        }
    }

    /// The operations that the key is allowed to do.
    static func uses(_ key: KeyItem) -> [String] {
        let names: [(AttributeName, String)] = [
            (.canSign, "sign"), (.canVerify, "verify"), (.canEncrypt, "encrypt"), (.canDecrypt, "decrypt"),
            (.canWrap, "wrap"), (.canUnwrap, "unwrap"), (.canDerive, "derive"),
        ]
        return names.filter { key.attributes[$0.0]?.number == 1 }.map(\.1)
    }

    /// Returns the members that describe a key in JSON documents.
    ///
    /// - Parameters:
    ///   - key: `nil` for a key that does not exist yet.
    ///   - known: Values that are already known for such a key, by member name. All other members are null.
    static func members(
        _ key: KeyItem?, _ publicKey: PublicKey?, uri: String?, known: Members = [:]
    ) -> Members {
        let members: Members = [
            "name": key?.label, "class": key.map { half($0) }, "type": key.map { kind($0, publicKey) },
            "bits": key?.sizeInBits, "uses": key.map(uses), "extractable": key?.isExtractable,
            "sensitive": key?.isSensitive, "id": key?.publicKeyHash?.hexadecimal,
            "fingerprint": publicKey.map { Value.fingerprint(sha256: Digest.sha256($0.subjectPublicKeyInfo)) },
            "created": key?.creationDate, "uri": uri,
        ]
        return members.replacing(known)
    }
}
