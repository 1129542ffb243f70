import COpenSSL
public import Foundation
public import KeyfobPrimitives

/// Keys from and to the encodings that name no algorithm, as X9.63 and RFC 8032 have them.
extension PrivateKey {
    /// An EC key from `04 || X || Y || K`: the point, and the scalar padded to the size of the field.
    ///
    /// - Throws: `KeyFileError` (`damaged`) where the length is another one or the point is not the scalar's.
    public init(x963: SecretBytes, curve: NamedCurve) throws {
        guard let bits = curve.bits else { throw KeyFileError(.unsupported, "curve \(curve) is not known") }
        let size = (bits + 7) / 8
        guard x963.count == 1 + 3 * size else { throw KeyFileError(.damaged, "it is no key on \(curve)") }
        let point = unsafe x963.withUnsafeBytes { unsafe Array($0.prefix(1 + 2 * size)) }
        guard point[0] == 4 else { throw KeyFileError(.damaged, "the point is not in its long form") }
        // ECPrivateKey (RFC 5915 3), with room for the scalar.
        let version = DERWriter.element(DERTag.integer, [1])
        let room = DERWriter.element(DERTag.octetString, [UInt8](repeating: 0, count: size))
        let tail = DERWriter.element(0xA0, curve.derOID) + DERWriter.element(0xA1, DERWriter.bitString(point))
        let form = DERWriter.sequence(version, room, tail)
        self = try PrivateKey.load(
            der: Self.filling(form, at: form.count - tail.count - size, with: x963, from: 1 + 2 * size))
    }

    /// An Ed25519 key from its 32-byte seed (RFC 8032 5.1.5).
    ///
    /// - Throws: `KeyFileError` (`damaged`) for another length.
    public init(ed25519Seed seed: SecretBytes) throws {
        guard seed.count == 32 else { throw KeyFileError(.damaged, "an Ed25519 key has 32 bytes") }
        // OneAsymmetricKey with CurvePrivateKey (RFC 8410 7), with room for the seed at its end.
        let room = DERWriter.element(DERTag.octetString, [UInt8](repeating: 0, count: 32))
        let form = DERWriter.sequence(
            DERWriter.element(DERTag.integer, [0]), DERWriter.sequence(KeyAlgorithm.ed25519OID.der ?? []),
            DERWriter.element(DERTag.octetString, room))
        self = try PrivateKey.load(der: Self.filling(form, at: form.count - 32, with: seed, from: 0))
    }

    /// An encoding with the rest of a secret in the room that it has for it: never outside of wiped memory.
    private static func filling(
        _ form: [UInt8], at offset: Int, with secret: SecretBytes, from start: Int
    ) -> SecretBytes {
        let content = secret.suffix(from: start)
        let (head, tail) = (form[..<offset], form[(offset + content.count)...])
        return SecretBytes(joining: [SecretBytes(head), content, SecretBytes(tail)])
    }

    /// An RSA key from RSAPrivateKey (RFC 8017 A.1.2) alone: no PKCS#8, no PEM.
    ///
    /// Takes the time to check that its numbers belong together, as `load(_:passphrase:)` does.
    ///
    /// - Throws: `KeyFileError` (`damaged`) for anything else.
    public init(pkcs1: SecretBytes) throws {
        var bytes = pkcs1.copyBytes()
        defer { unsafe bytes.withUnsafeMutableBytes { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) } }
        do {
            let parts = try DERReader.single(bytes[...], tag: DERTag.sequence).children()
            guard parts.count == 9, parts.allSatisfy({ $0.tag == DERTag.integer }) else { throw DERError() }
        } catch {
            throw KeyFileError(.damaged, "it is no RSA private key")
        }
        self = try PrivateKey.load(der: pkcs1)
    }

    /// The key as `init(x963:curve:)`, `init(ed25519Seed:)` and `init(pkcs1:)` take it.
    ///
    /// - Throws: `CryptoError` (`unsupportedKey`) for other kinds; `OpenSSLError` when libcrypto fails.
    public func rawRepresentation() throws -> SecretBytes {
        switch try components() {
        case .rsa: return try traditionalDER()
        case .ec(_, let d, let point): return SecretBytes(joining: [SecretBytes(point), d])
        case .ed25519(let seed): return seed
        }
    }
}

extension PublicKey {
    /// An RSA key from RSAPublicKey (RFC 8017 A.1.1) alone: no SubjectPublicKeyInfo, no PEM.
    ///
    /// - Throws: `KeyFileError` (`damaged`) for anything else, and for an even modulus, which is no key's.
    public init(pkcs1: Data) throws {
        let numbers: [ArraySlice<UInt8>]
        do {
            let parts = try DERReader.single([UInt8](pkcs1)[...], tag: DERTag.sequence).children()
            numbers = parts.map(\.content)
            guard parts.count == 2, parts.allSatisfy({ $0.tag == DERTag.integer }) else { throw DERError() }
        } catch {
            throw KeyFileError(.damaged, "it is no RSA public key")
        }
        guard numbers.allSatisfy({ ($0.last ?? 0) & 1 == 1 && ($0.first ?? 0x80) < 0x80 }) else {
            throw KeyFileError(.damaged, "its numbers are no RSA key's")
        }
        try self.init(rsaModulus: Data(numbers[0]), publicExponent: Data(numbers[1]))
        guard bits == pkcs1 else { throw KeyFileError(.damaged, "it is not DER") }
        try validate()
    }
}
