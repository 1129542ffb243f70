import Foundation
import Keyfob
import KeyfobOpenSSL

/// A key: a private key on a token or in memory, or a public key; `SecKeyRef`.
///
/// Two are equal when both are private or both public and their public bytes are the same. Any thread may use one
/// at any time.
// Immutable after `init` and made of Sendable members. Unchecked because the superclass does not declare it.
public final class SecKey: NSObject, @unchecked Sendable {
    /// Where the key material is.
    enum Material: Sendable {
        /// A private key that a token holds; its operations run there.
        case token(TokenKey)
        /// A private key in this process's memory.
        case memory(PrivateKey)
        /// A public key.
        case `public`(PublicKey)
    }

    let material: Material
    /// The keychain item that the key was read from or stored as.
    let item: Item?

    /// The record of the import that stored the key; `nil` if no import did.
    let imported: ImportedItem?

    init(_ material: Material, item: Item? = nil, imported: ImportedItem? = nil) {
        self.material = material
        self.item = item
        self.imported = imported
    }

    /// The public half.
    var publicKey: PublicKey {
        switch material {
        case .token(let key): key.publicKey
        case .memory(let key): key.publicKey
        case .public(let key): key
        }
    }

    /// Whether it can sign, decrypt and agree on keys.
    var isPrivate: Bool {
        if case .public = material { false } else { true }
    }

    /// Whether it is in memory and was asked for as a key of the Secure Enclave: its bytes are not given out.
    var staysInMemory: Bool {
        guard case .memory = material else { return false }
        return !(item?.attributes[.tokenID]?.text ?? "").isEmpty
    }

    /// Whether both are the same half of the same pair.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? SecKey else { return false }
        return other.isPrivate == isPrivate && other.publicKey == publicKey
    }

    /// A hash of the public bytes and the half.
    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(isPrivate)
        hasher.combine(publicKey)
        return hasher.finalize()
    }
}
