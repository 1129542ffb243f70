import Foundation
import KeyfobPrimitives
package import KeyfobOpenSSL

extension KeychainKeys {
    /// Whether the token has a key, or one half of it; `nil` if the answer would need a PIN.
    package func hasKey(_ publicKey: PublicKey) -> Bool? {
        // This only improves hints, so a read error is ignored.
        guard (try? keychain.keysIfUnlocked()) != nil, let keys = try? keychain.find(.keys) else { return nil }
        return keys.contains { $0.publicKeyHash == publicKey.identifier }
    }

    /// How to find the key of a certificate that was given for another key.
    ///
    /// - Parameters:
    ///   - start: The two keys.
    ///   - isThere: Whether the token has the key; `nil` if unknown.
    package static func advice(_ start: String, toFind publicKey: PublicKey, isThere: Bool?) -> [Remedy] {
        guard isThere != false else { return [Remedy(start + ". That key is not in the keychain either.")] }
        let fingerprint = "sha256:" + Digest.sha256(publicKey.subjectPublicKeyInfo).hexadecimal.prefix(16)
        return [Remedy(start + "."), Remedy("Find the key", .listKeys(fingerprint: fingerprint))]
    }
}
