import COpenSSL
public import Foundation
public import KeyfobPrimitives

/// Encodings of keys that do not name the algorithm, such as X9.63 and RFC 8032.
extension PrivateKey {
    /// Decodes an EC key from `04 || X || Y || K`: the point, and the scalar padded to the size of the field.
    ///
    /// - Throws: `KeyFileError`: `damaged` if the length is wrong or the point does not belong to the scalar,
    ///   `unsupported` for an unknown curve.
    public init(x963: SecretBytes, curve: NamedCurve) throws {
        guard let bits = curve.bits else { throw KeyFileError(.unsupported, "curve \(curve) is not known") }
        let size = (bits + 7) / 8
        guard x963.count == 1 + 3 * size else { throw KeyFileError(.damaged, "it is not a key on \(curve)") }
        let point = unsafe x963.withUnsafeBytes { unsafe Array($0.prefix(1 + 2 * size)) }
        guard point[0] == 4 else { throw KeyFileError(.damaged, "the point is not in its long form") }
        // An ECPrivateKey (RFC 5915 section 3) with zeros in place of the scalar.
        let version = DERWriter.element(DERTag.integer, [1])
        let room = DERWriter.element(DERTag.octetString, [UInt8](repeating: 0, count: size))
        let tail = DERWriter.element(0xA0, curve.derOID) + DERWriter.element(0xA1, DERWriter.bitString(point))
        let form = DERWriter.sequence(version, room, tail)
        self = try PrivateKey.load(
            der: Self.filling(form, at: form.count - tail.count - size, with: x963, from: 1 + 2 * size))
    }

    /// Decodes an Ed25519 key from its 32-byte seed (RFC 8032 section 5.1.5).
    ///
    /// - Throws: `KeyFileError` (`damaged`) for another length.
    public init(ed25519Seed seed: SecretBytes) throws {
        guard seed.count == 32 else { throw KeyFileError(.damaged, "an Ed25519 key has 32 bytes") }
        // A OneAsymmetricKey with a CurvePrivateKey (RFC 8410 section 7) that ends with zeros in place of the seed.
        let room = DERWriter.element(DERTag.octetString, [UInt8](repeating: 0, count: 32))
        let form = DERWriter.sequence(
            DERWriter.element(DERTag.integer, [0]), DERWriter.sequence(KeyAlgorithm.ed25519OID.der ?? []),
            DERWriter.element(DERTag.octetString, room))
        self = try PrivateKey.load(der: Self.filling(form, at: form.count - 32, with: seed, from: 0))
    }

    /// Inserts the end of a secret into an encoding that has zeros in its place, without leaving memory that is wiped.
    private static func filling(
        _ form: [UInt8], at offset: Int, with secret: SecretBytes, from start: Int
    ) -> SecretBytes {
        let content = secret.suffix(from: start)
        let (head, tail) = (form[..<offset], form[(offset + content.count)...])
        return SecretBytes(joining: [SecretBytes(head), content, SecretBytes(tail)])
    }

    /// Decodes an RSA key from an RSAPrivateKey (RFC 8017 section A.1.2), without PKCS#8 and PEM.
    ///
    /// Like `load(_:passphrase:)`, it checks that the numbers belong together, which takes time for large keys.
    ///
    /// - Throws: `KeyFileError` (`damaged`) for other bytes.
    public init(pkcs1: SecretBytes) throws {
        var bytes = pkcs1.copyBytes()
        defer { unsafe bytes.withUnsafeMutableBytes { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) } }
        do {
            let parts = try DERReader.single(bytes[...], tag: DERTag.sequence).children()
            guard parts.count == 9, parts.allSatisfy({ $0.tag == DERTag.integer }) else { throw DERError() }
        } catch {
            throw KeyFileError(.damaged, "it is not an RSA private key")
        }
        self = try PrivateKey.load(der: pkcs1)
    }

    /// Returns the key in the form that `init(x963:curve:)`, `init(ed25519Seed:)` and `init(pkcs1:)` take.
    ///
    /// - Throws: `CryptoError` (`unsupportedKey`) for other types; `OpenSSLError` if libcrypto fails.
    public func rawRepresentation() throws -> SecretBytes {
        switch try components() {
        case .rsa: return try traditionalDER()
        case .ec(_, let d, let point): return SecretBytes(joining: [SecretBytes(point), d])
        case .ed25519(let seed): return seed
        }
    }
}

extension PublicKey {
    /// Decodes an RSA key from an RSAPublicKey (RFC 8017 section A.1.1), without SubjectPublicKeyInfo and PEM.
    ///
    /// - Throws: `KeyFileError` (`damaged`) for other bytes, and for an even modulus or exponent.
    public init(pkcs1: Data) throws {
        let numbers: [ArraySlice<UInt8>]
        do {
            let parts = try DERReader.single([UInt8](pkcs1)[...], tag: DERTag.sequence).children()
            numbers = parts.map(\.content)
            guard parts.count == 2, parts.allSatisfy({ $0.tag == DERTag.integer }) else { throw DERError() }
        } catch {
            throw KeyFileError(.damaged, "it is not an RSA public key")
        }
        guard numbers.allSatisfy({ ($0.last ?? 0) & 1 == 1 && ($0.first ?? 0x80) < 0x80 }) else {
            throw KeyFileError(.damaged, "its numbers are no RSA key's")
        }
        try self.init(rsaModulus: Data(numbers[0]), publicExponent: Data(numbers[1]))
        guard bits == pkcs1 else { throw KeyFileError(.damaged, "it is not DER") }
        try validate()
    }
}
