import Foundation
import Keyfob
import KeyfobPrimitives
import OpenSSL

// Keys as bytes: PKCS#1 for RSA, X9.63 for elliptic curves, the plain 32 bytes for Ed25519.
extension SecKey {
    /// A key in memory from its bytes.
    ///
    /// - Throws: `StatusError`; `errSecUnimplemented` for a symmetric key. `KeyFileError` for bytes that are no such
    ///   key.
    convenience init(representation data: Data, _ type: KeyAlgorithmType, _ keyClass: KeyClass) throws {
        guard keyClass != .symmetric else { throw StatusError(errSecUnimplemented, "symmetric keys are no SecKey") }
        guard [.public, .private].contains(keyClass) else { throw StatusError.parameter("no such class of keys") }
        let bytes = SecretBytes(data)
        switch (type, keyClass) {
        case (.rsa, .private): self.init(.memory(try PrivateKey(pkcs1: bytes)))
        case (.rsa, _): self.init(.public(try PublicKey(pkcs1: data)))
        case (.ec, .private):
            self.init(.memory(try PrivateKey(x963: bytes, curve: Self.curve(ofBytes: data.count, parts: 3))))
        case (.ec, _):
            let key = try PublicKey(ecPoint: data, curve: Self.curve(ofBytes: data.count, parts: 2))
            try key.validate()
            self.init(.public(key))
        case (.ed25519, .private): self.init(.memory(try PrivateKey(ed25519Seed: bytes)))
        case (.ed25519, _): self.init(.public(try PublicKey(ed25519: data)))
        default: throw StatusError.parameter("keys of this type are not known")
        }
    }

    /// A key in memory from its bytes; `nil` for bytes that are no such key.
    convenience init?(externalRepresentation data: Data, _ type: KeyAlgorithmType, _ keyClass: KeyClass) {
        do { try self.init(representation: data, type, keyClass) } catch { return nil }
    }

    /// The bytes of the key; of one on a token, where it can leave, after somebody who is asked for has said so.
    ///
    /// - Throws: `KeychainError`, `CryptoError`; what `confirmUse()` throws.
    func externalRepresentation() throws -> Data {
        switch material {
        case .public(let key): return key.bits
        case .memory, .token: return try inMemory().externalRepresentation
        }
    }

    /// The private key, off the token where it is on one and may leave it, after somebody who is asked for has said so.
    ///
    /// - Throws: `KeychainError`; `StatusError` (`errSecParam`) for a public key; what `confirmUse()` throws.
    func inMemory() throws -> PrivateKey {
        switch material {
        case .memory(let key):
            guard !staysInMemory else {
                throw StatusError(errSecUnimplemented, "a key of the Secure Enclave does not leave it")
            }
            return key
        case .token(let key):
            // Nobody is troubled for a key that stays where it is.
            if item?.attributes[.isExtractable]?.number != 0 { try confirmUse() }
            return try key.exported()
        case .public: throw StatusError.parameter("this takes a private key")
        }
    }

    /// The curve of which so many numbers, and the byte in front of them, have this length.
    private static func curve(ofBytes count: Int, parts: Int) throws(StatusError) -> NamedCurve {
        let curve = [NamedCurve.p256, .p384, .p521].first { curve in
            curve.bits.map { 1 + parts * (($0 + 7) / 8) == count } ?? false
        }
        guard let curve else { throw .parameter("the length is that of no EC key of this class") }
        return curve
    }
}

extension PrivateKey {
    /// The bytes of the key, which nobody wipes. - Throws: `CryptoError` for kinds that Apple has no form for.
    var externalRepresentation: Data { get throws { try rawRepresentation().copyData() } }
}
