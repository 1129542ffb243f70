import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL

// Keys as bytes: PKCS#1 for RSA, X9.63 for elliptic curves, 32 raw bytes for Ed25519.
extension SecKey {
    /// Creates a key in memory from its bytes.
    ///
    /// - Throws: `StatusError`; `errSecUnimplemented` for a symmetric key, `errSecParam` for an unknown type or class.
    ///   `KeyFileError` for bytes that are not such a key.
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

    /// Creates a key in memory from its bytes; `nil` for bytes that are not such a key.
    convenience init?(externalRepresentation data: Data, _ type: KeyAlgorithmType, _ keyClass: KeyClass) {
        do { try self.init(representation: data, type, keyClass) } catch { return nil }
    }

    /// Returns the bytes of the key, exporting a token key after any user confirmation.
    ///
    /// - Throws: `KeychainError`, `CryptoError`; the errors of `confirmUse()`.
    func externalRepresentation() throws -> Data {
        switch material {
        case .public(let key): return key.bits
        case .memory, .token: return try inMemory().externalRepresentation
        }
    }

    /// Returns the private key, exporting a token key after any user confirmation.
    ///
    /// - Throws: `KeychainError`; `StatusError` (`errSecParam`) for a public key; the errors of `confirmUse()`.
    func inMemory() throws -> PrivateKey {
        switch material {
        case .memory(let key):
            guard !staysInMemory else {
                throw StatusError(errSecUnimplemented, "a key of the Secure Enclave does not leave it")
            }
            return key
        case .token(let key):
            // The user is not asked for a key that cannot be exported.
            if item?.attributes[.isExtractable]?.number != 0 { try confirmUse() }
            return try key.exported()
        case .public: throw StatusError.parameter("this takes a private key")
        }
    }

    /// Returns the curve for which one byte and so many coordinates have the given length.
    private static func curve(ofBytes count: Int, parts: Int) throws(StatusError) -> NamedCurve {
        let curve = [NamedCurve.p256, .p384, .p521].first { curve in
            curve.bits.map { 1 + parts * (($0 + 7) / 8) == count } ?? false
        }
        guard let curve else { throw .parameter("the length is that of no EC key of this class") }
        return curve
    }
}

extension PrivateKey {
    /// The bytes of the key in memory that is not wiped.
    ///
    /// - Throws: `CryptoError` for types that Apple has no form for.
    var externalRepresentation: Data { get throws { try rawRepresentation().copyData() } }
}

extension PublicKey {
    /// The RSA key of a SubjectPublicKeyInfo, as in PEM files; `nil` for other bytes, which may be PKCS#1.
    init?(ofRSAIn data: Data) {
        guard let key = try? PublicKey(subjectPublicKeyInfo: data), case .rsa = key.algorithm else { return nil }
        self = key
    }
}
