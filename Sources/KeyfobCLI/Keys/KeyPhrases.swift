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
    ///
    /// - Parameters:
    ///   - key: `nil` for one that is not made yet.
    ///   - known: What is known of that before, by the members' names; all else is null.
    static func members(
        _ key: KeyItem?, _ publicKey: PublicKey?, uri: String?, known: [String: Value] = [:]
    ) -> [Value.Member] {
        func member(_ name: String, _ value: (KeyItem) -> Value) -> Value.Member {
            guard let key else { return Value.Member(name, known[name] ?? .null) }
            return Value.Member(name, value(key))
        }
        return [
            member("name") { .optional($0.label) },
            member("class") { .string(half($0)) },
            member("type") { .string(kind($0, publicKey)) },
            member("bits") { $0.sizeInBits.map { .count($0) } ?? .null },
            member("uses") { .array(uses($0).map { .string($0) }) },
            member("extractable") { .boolean($0.isExtractable) },
            member("sensitive") { .boolean($0.isSensitive) },
            member("id") { .optional($0.publicKeyHash?.hexadecimal) },
            .init(
                "fingerprint",
                publicKey.map { .fingerprint(sha256: Digest.sha256($0.subjectPublicKeyInfo)) } ?? .null),
            member("created") { .time($0.creationDate) },
            .init("uri", .optional(uri)),
        ]
    }
}
