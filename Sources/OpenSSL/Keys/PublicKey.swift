import COpenSSL
public import Foundation
import KeyfobPrimitives

/// A public key. Equal when kind and key bits are equal.
///
/// Immutable and safe to use from any thread; EVP_PKEY counts its references and locks by itself.
public struct PublicKey: Hashable, Sendable {
    /// The whole SubjectPublicKeyInfo in DER (RFC 5280 4.1.2.7).
    public let subjectPublicKeyInfo: Data
    /// The content of its BIT STRING: PKCS#1 DER for RSA, the point for EC, 32 bytes for Ed25519.
    public let bits: Data
    /// The kind and size.
    public let algorithm: KeyAlgorithm
    /// SHA-1 of `bits`: RFC 5280's first method for key identifiers, Apple's `klbl`, and our `CKA_ID`.
    public let identifier: Data

    // Nil for a kind that this libcrypto does not know: such a certificate can still be stored and shown.
    let handle: OwnedPointer?

    /// A key from its SubjectPublicKeyInfo.
    ///
    /// - Throws: `KeyFileError`: `damaged` when the DER is broken or, for RSA, EC and Ed25519, when the key is
    ///   none (a point off its curve); `tooLarge` above 64 KiB.
    public init(subjectPublicKeyInfo: Data) throws {
        guard subjectPublicKeyInfo.count <= 65536 else {
            throw KeyFileError(.tooLarge, "a public key is below 64 KiB")
        }
        try KeyFileError.checkLength(of: subjectPublicKeyInfo.prefix(8), count: subjectPublicKeyInfo.count)
        let handle = unsafe subjectPublicKeyInfo.withUnsafeBytes { bytes in
            unsafe decoded(bytes, release: { unsafe EVP_PKEY_free($0) }) { unsafe d2i_PUBKEY(nil, $0, $1) }
        }
        let failure = handle == nil ? OpenSSLError(draining: "d2i_PUBKEY") : nil
        try self.init(subjectPublicKeyInfo: subjectPublicKeyInfo, handle: handle, failure: failure)
    }

    /// A key that libcrypto has decoded already, which is most of the cost, or refused with `failure`.
    init(subjectPublicKeyInfo: Data, handle: OwnedPointer?, failure: OpenSSLError?) throws {
        let parts: (oid: OID, curve: OID?, bits: [UInt8])
        do {
            let whole = try DERReader.single([UInt8](subjectPublicKeyInfo)[...], tag: DERTag.sequence)
            var reader = DERReader(whole.content)
            let identifier = try reader.next(DERTag.sequence).children()
            guard let first = identifier.first else { throw DERError() }
            let named = identifier.count == 2 && identifier[1].tag == DERTag.objectIdentifier
            let bits = try reader.next(DERTag.bitString).bitStringOctets()
            guard reader.isAtEnd else { throw DERError() }
            parts = (try first.objectIdentifier(), named ? try identifier[1].objectIdentifier() : nil, Array(bits))
        } catch {
            throw KeyFileError(.damaged, "it is not a SubjectPublicKeyInfo")
        }
        switch (parts.oid, parts.curve) {
        case (KeyAlgorithm.rsaOID, _):
            algorithm = .rsa(bits: Int(unsafe handle?.withPointer { unsafe EVP_PKEY_get_bits($0) } ?? 0))
        case (KeyAlgorithm.ecOID, let curve?): algorithm = .ec(NamedCurve(rawValue: curve.rawValue))
        case (KeyAlgorithm.ed25519OID, _): algorithm = .ed25519
        default: algorithm = .other(parts.oid.rawValue)
        }
        if let failure {
            switch algorithm {
            case .other: break
            case .ec(let curve) where curve.bits == nil: break
            default: throw KeyFileError(.damaged, "it is no \(algorithm) key", cause: failure)
            }
        }
        self.handle = handle
        self.subjectPublicKeyInfo = subjectPublicKeyInfo
        self.bits = Data(parts.bits)
        self.identifier = Digest.sha1(parts.bits)
    }

    /// An RSA key from its big-endian numbers.
    ///
    /// - Throws: `KeyFileError` (`damaged`) when libcrypto refuses them.
    public init(rsaModulus: Data, publicExponent: Data) throws {
        let key = DERWriter.sequence(
            DERWriter.unsignedInteger([UInt8](rsaModulus)), DERWriter.unsignedInteger([UInt8](publicExponent)))
        try self.init(oid: KeyAlgorithm.rsaOID, parameters: [DERTag.null, 0], bits: key)
    }

    /// An EC key from its point, `04 || X || Y` (SEC 1 2.3.3).
    ///
    /// - Throws: `KeyFileError` (`damaged`) when the point is not on the curve.
    public init(ecPoint: Data, curve: NamedCurve) throws {
        try self.init(oid: KeyAlgorithm.ecOID, parameters: curve.derOID, bits: [UInt8](ecPoint))
    }

    /// An Ed25519 key from its 32 bytes.
    ///
    /// - Throws: `KeyFileError` (`damaged`) for another length.
    public init(ed25519: Data) throws {
        try self.init(oid: KeyAlgorithm.ed25519OID, parameters: [], bits: [UInt8](ed25519))
    }

    /// A key from PEM, "PUBLIC KEY", with text around it or not.
    ///
    /// - Throws: `KeyFileError`: `notFound`, or as `init(subjectPublicKeyInfo:)`.
    public init(pem: Data) throws {
        guard pem.count <= 1 << 20 else { throw KeyFileError(.tooLarge, "a public key is below 1 MiB") }
        guard let block = PEM.blocks(in: pem).first(where: { $0.label == "PUBLIC KEY" }) else {
            throw KeyFileError(.notFound, "no PUBLIC KEY block")
        }
        guard let content = block.content else { throw KeyFileError(.damaged, "the PEM block is broken") }
        try self.init(subjectPublicKeyInfo: content.copyData())
    }

    private init(oid: OID, parameters: [UInt8], bits: [UInt8]) throws {
        let identifier = DERWriter.sequence(oid.der ?? [], parameters)
        try self.init(subjectPublicKeyInfo: Data(DERWriter.sequence(identifier, DERWriter.bitString(bits))))
    }

    /// The size in bits: of the modulus, of the field, 256 for Ed25519; 0 where it is not known.
    public var size: Int {
        switch algorithm {
        case .rsa(let bits): bits
        case .ec(let curve): curve.bits ?? providerSize
        case .ed25519: 256
        case .other: providerSize
        }
    }

    private var providerSize: Int { Int(unsafe handle?.withPointer { unsafe EVP_PKEY_get_bits($0) } ?? 0) }

    /// The modulus without leading zero; `nil` for other kinds.
    public var rsaModulus: Data? { rsaNumber(0) }
    /// The public exponent without leading zero; `nil` for other kinds.
    public var rsaExponent: Data? { rsaNumber(1) }

    /// The point as the key has it; `nil` for other kinds.
    public var ecPoint: Data? {
        guard case .ec = algorithm else { return nil }
        return bits
    }

    /// PEM with lines of 64 columns.
    public var pem: String { PublicText.pem(subjectPublicKeyInfo, label: "PUBLIC KEY") }

    private func rsaNumber(_ index: Int) -> Data? {
        guard case .rsa = algorithm else { return nil }
        var reader = DERReader(bits)
        do {
            let numbers = try reader.next(DERTag.sequence).children()
            guard numbers.count == 2 else { return nil }
            return Data(numbers[index].content.drop { $0 == 0 })
        } catch {
            return nil
        }
    }

    /// Equal kind and equal key bits; for other kinds equal DER.
    public static func == (left: PublicKey, right: PublicKey) -> Bool {
        if case .other = left.algorithm { return left.subjectPublicKeyInfo == right.subjectPublicKeyInfo }
        return left.algorithm == right.algorithm && left.bits == right.bits
    }

    /// Hashes the key bits.
    public func hash(into hasher: inout Hasher) { hasher.combine(bits) }
}

/// PEM of what is public.
enum PublicText {
    static func pem(_ der: Data, label: String) -> String {
        let text = der.base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        return "-----BEGIN \(label)-----\n\(text)\n-----END \(label)-----\n"
    }
}
