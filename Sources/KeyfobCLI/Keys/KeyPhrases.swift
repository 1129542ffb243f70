import Foundation
import Keyfob
import KeyfobPrimitives
import OpenSSL

/// How keys are described to people and programs.
enum KeyPhrases {
    /// Such as `EC P-256` or `AES-256`.
    static func kind(_ key: KeyItem, _ publicKey: PublicKey?) -> String {
        if let publicKey { return publicKey.algorithm.description }
        let size = key.sizeInBits.map { String($0) } ?? ""
        return switch key.keyType {
        case .rsa: "RSA \(size)"
        case .ec: "EC \(size)"
        case .ed25519: "Ed25519"
        case .aes: "AES-\(size)"
        default: "unknown"
        }
    }

    /// `private`, `public` or `secret`.
    static func half(_ key: KeyItem) -> String {
        switch key.keyClass {
        case .private: "private"
        case .public: "public"
        case .symmetric: "secret"
        default: "unknown"
        }
    }

    /// What the key is allowed to do.
    static func uses(_ key: KeyItem) -> [String] {
        let names: [(AttributeName, String)] = [
            (.canSign, "sign"), (.canVerify, "verify"), (.canEncrypt, "encrypt"), (.canDecrypt, "decrypt"),
            (.canWrap, "wrap"), (.canUnwrap, "unwrap"), (.canDerive, "derive"),
        ]
        return names.filter { key.attributes[$0.0]?.number == 1 }.map(\.1)
    }

    /// The members by which JSON documents describe a key.
    static func members(_ key: KeyItem, _ publicKey: PublicKey?, uri: String) -> [Value.Member] {
        [
            .init("name", .optional(key.label)), .init("class", .string(half(key))),
            .init("type", .string(kind(key, publicKey))), .init("bits", key.sizeInBits.map { .count($0) } ?? .null),
            .init("uses", .array(uses(key).map { .string($0) })),
            .init("extractable", .boolean(key.isExtractable)), .init("sensitive", .boolean(key.isSensitive)),
            .init("id", .optional(key.publicKeyHash?.hexadecimal)),
            .init(
                "fingerprint",
                publicKey.map { .fingerprint(sha256: Digest.sha256($0.subjectPublicKeyInfo)) } ?? .null),
            .init("created", .time(key.creationDate)), .init("uri", .string(uri)),
        ]
    }
}
