import Foundation
import KeyfobPrimitives
package import KeyfobOpenSSL

extension Keychain {
    /// Whether the token has a key, or one half of it; `nil` if the answer would need a PIN.
    package func hasKey(_ publicKey: PublicKey) -> Bool? {
        // This only improves hints, so a read error is ignored.
        guard (try? keysIfUnlocked()) != nil, let keys = try? find(.keys) else { return nil }
        return keys.contains { $0.publicKeyHash == publicKey.identifier }
    }

    /// The end of a message: how to find the key of a certificate that was given for another key.
    ///
    /// - Parameter isThere: Whether the token has the key; `nil` if unknown.
    package static func advice(toFind publicKey: PublicKey, isThere: Bool?) -> String {
        guard isThere != false else { return ". That key is not in the keychain either." }
        let fingerprint = Digest.sha256(publicKey.subjectPublicKeyInfo).hexadecimal.prefix(16)
        return ". Find the key: keyfob key ls --pub sha256:\(fingerprint)"
    }
}
