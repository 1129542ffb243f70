import Foundation
import KeyfobPrimitives
package import OpenSSL

extension Keychain {
    /// Whether the token has a key, or a half of it; `nil` where nobody can tell without asking for a PIN.
    package func hasKey(_ publicKey: PublicKey) -> Bool? {
        // It is about hints: what cannot be read is no second failure.
        guard (try? keysIfUnlocked()) != nil, let keys = try? find(.keys) else { return nil }
        return keys.contains { $0.publicKeyHash == publicKey.identifier }
    }

    /// How to find the key of a certificate that is not another one's, with the end of the sentence before it.
    ///
    /// - Parameter isThere: Whether the token has it, where somebody knows.
    package static func advice(toFind publicKey: PublicKey, isThere: Bool?) -> String {
        guard isThere != false else { return ". That key is not in the keychain either." }
        let fingerprint = Digest.sha256(publicKey.subjectPublicKeyInfo).hexadecimal.prefix(16)
        return ". Find the key: keyfob key ls --pub sha256:\(fingerprint)"
    }
}
