import COpenSSL
public import Foundation
import KeyfobPrimitives

/// A public key.
///
/// Two are equal if type and key bits are. Immutable and safe to use from any thread. It is created without libcrypto,
/// from the length and form of its parts. The EVP_PKEY is created on first use. That, or `validate()`, detects an EC
/// point that is not on its curve.
public struct PublicKey: Hashable, Sendable {
    /// The whole SubjectPublicKeyInfo in DER (RFC 5280 4.1.2.7). A compressed point stands in it whole, and a curve
    /// that was written out with the parameters of a named one has that name in it.
    public let subjectPublicKeyInfo: Data
    /// The content of its BIT STRING: PKCS#1 DER for RSA, the uncompressed point for EC, 32 bytes for Ed25519.
    public let bits: Data
    /// The type and size.
    public let algorithm: KeyAlgorithm
    /// SHA-1 of `bits`: the first method of RFC 5280 for key identifiers, Apple's `klbl`, and Keyfob's `CKA_ID`.
    public let identifier: Data

    /// The EVP_PKEY. It fails for a type that this libcrypto does not know; such a key can still be stored and shown.
    let handle: LazyPointer

    /// Decodes a key from its SubjectPublicKeyInfo.
    ///
    /// - Throws: `KeyFileError`: `damaged` if the DER is malformed or, for RSA, EC and Ed25519, if the bits do not have
    ///   the form of such a key; `tooLarge` above 64 KiB.
    public init(subjectPublicKeyInfo: Data) throws {
        guard subjectPublicKeyInfo.count <= 65536 else {
            throw KeyFileError(.tooLarge, "a public key is below 64 KiB")
        }
        try KeyFileError.checkLength(of: subjectPublicKeyInfo.prefix(8), count: subjectPublicKeyInfo.count)
        // A slice would bring its indices and the whole file with it.
        var information = Data(subjectPublicKeyInfo)
        var parts = try Self.parts(of: information)
        if parts.hasExplicitCurve, let named = Self.named(information) {
            information = named
            parts = try Self.parts(of: named)
        }
        let algorithm: KeyAlgorithm? = switch (parts.oid, parts.curve) {
        case (KeyAlgorithm.rsaOID, _): RSANumbers(bits: parts.bits).map { .rsa(bits: $0.size) }
        case (KeyAlgorithm.ecOID, let curve?): Self.curve(curve, ofPoint: parts.bits).map { .ec($0) }
        case (KeyAlgorithm.ed25519OID, _): parts.bits.count == 32 ? .ed25519 : nil
        default: .other(parts.oid.rawValue)
        }
        guard let algorithm else { throw KeyFileError(.damaged, "its bits are no key of its kind") }
        self.algorithm = algorithm
        var content = Data(parts.bits)
        if case .ec(let curve) = algorithm, let point = Self.wholePoint(ofCompressed: parts.bits, information, curve) {
            content = Data(point)
            information = Self.information(KeyAlgorithm.ecOID, curve.derOID, point)
        }
        self.subjectPublicKeyInfo = information
        bits = content
        identifier = Digest.sha1(content)
        handle = LazyPointer { [information] () throws(OpenSSLError) in try Self.decode(information) }
    }

    /// What a SubjectPublicKeyInfo consists of.
    private struct Parts {
        let oid: OID
        let curve: OID?
        /// Whether the parameters of the curve stand in place of its name (RFC 3279 2.3.5).
        let hasExplicitCurve: Bool
        let bits: ArraySlice<UInt8>
    }

    private static func parts(of information: Data) throws(KeyFileError) -> Parts {
        do {
            let whole = try DERReader.single([UInt8](information)[...], tag: DERTag.sequence)
            var reader = DERReader(whole.content)
            let identifier = try reader.next(DERTag.sequence).children()
            guard let first = identifier.first else { throw DERError() }
            let oid = try first.objectIdentifier()
            let parameters = identifier.count == 2 ? identifier[1] : nil
            let isNamed = parameters?.tag == DERTag.objectIdentifier
            let bits = try reader.next(DERTag.bitString).bitStringOctets()
            guard reader.isAtEnd else { throw DERError() }
            return Parts(
                oid: oid, curve: isNamed ? try parameters?.objectIdentifier() : nil,
                hasExplicitCurve: oid == KeyAlgorithm.ecOID && parameters?.tag == DERTag.sequence, bits: bits)
        } catch {
            throw KeyFileError(.damaged, "it is not a SubjectPublicKeyInfo")
        }
    }

    /// The same key with the name of its curve in place of the parameters; `nil` where libcrypto knows no name for
    /// them.
    private static func named(_ information: Data) -> Data? {
        do {
            return try unsafe decode(information).withPointer { key in
                try unsafe nameCurve(of: key)
                return try unsafe encoded("i2d_PUBKEY") { unsafe i2d_PUBKEY(key, $0) }
            }
        } catch {
            return nil
        }
    }

    /// Has what is written of an EC key name its curve, whose parameters equal those of a named one.
    static func nameCurve(of key: OpaquePointer?) throws(OpenSSLError) {
        try check(
            "EVP_PKEY_set_utf8_string_param",
            unsafe EVP_PKEY_set_utf8_string_param(key, OSSL_PKEY_PARAM_EC_ENCODING, OSSL_PKEY_EC_ENCODING_GROUP))
    }

    /// The curve, if `point` is as long as one on it and says rightly whether it is compressed (SEC 1 2.3.3).
    private static func curve(_ oid: OID, ofPoint point: ArraySlice<UInt8>) -> NamedCurve? {
        let curve = NamedCurve(rawValue: oid.rawValue)
        guard let bits = curve.bits else { return curve }
        let count = (bits + 7) / 8
        switch point.first {
        case 4: return point.count == 1 + 2 * count ? curve : nil
        case 2, 3: return point.count == 1 + count ? curve : nil
        default: return nil
        }
    }

    /// Creates an RSA key from its big-endian numbers.
    ///
    /// - Throws: `KeyFileError` (`damaged`) if one of them is zero.
    public init(rsaModulus: Data, publicExponent: Data) throws {
        let key = DERWriter.sequence(
            DERWriter.unsignedInteger([UInt8](rsaModulus)), DERWriter.unsignedInteger([UInt8](publicExponent)))
        try self.init(oid: KeyAlgorithm.rsaOID, parameters: [DERTag.null, 0], bits: key)
    }

    /// Creates an EC key from its point, `04 || X || Y` or compressed (SEC 1 section 2.3.3).
    ///
    /// - Throws: `KeyFileError` (`damaged`) if it does not have the length or form of a point on the curve.
    public init(ecPoint: Data, curve: NamedCurve) throws {
        try self.init(oid: KeyAlgorithm.ecOID, parameters: curve.derOID, bits: [UInt8](ecPoint))
    }

    /// Creates an Ed25519 key from its 32 bytes.
    ///
    /// - Throws: `KeyFileError` (`damaged`) for another length.
    public init(ed25519: Data) throws {
        try self.init(oid: KeyAlgorithm.ed25519OID, parameters: [], bits: [UInt8](ed25519))
    }

    /// Reads a key from a PEM block "PUBLIC KEY", ignoring text around it.
    ///
    /// The key is validated with libcrypto.
    ///
    /// - Throws: `KeyFileError`: `notFound` if there is no such block, `damaged`, `tooLarge`.
    public init(pem: Data) throws {
        guard pem.count <= 1 << 20 else { throw KeyFileError(.tooLarge, "a public key is below 1 MiB") }
        guard let block = PEM.blocks(in: pem).first(where: { $0.label == "PUBLIC KEY" }) else {
            throw KeyFileError(.notFound, "no PUBLIC KEY block")
        }
        guard let content = block.content else { throw KeyFileError(.damaged, "the PEM block is broken") }
        try self.init(subjectPublicKeyInfo: content.copyData())
        try validate()
    }

    private init(oid: OID, parameters: [UInt8], bits: [UInt8]) throws {
        try self.init(subjectPublicKeyInfo: Self.information(oid, parameters, bits))
    }

    private static func information(_ oid: OID, _ parameters: [UInt8], _ bits: [UInt8]) -> Data {
        Data(DERWriter.sequence(DERWriter.sequence(oid.der ?? [], parameters), DERWriter.bitString(bits)))
    }

    private static func decode(_ information: Data) throws(OpenSSLError) -> OwnedPointer {
        let owner = unsafe information.withUnsafeBytes { bytes in
            unsafe decoded(bytes, release: { unsafe EVP_PKEY_free($0) }) { unsafe d2i_PUBKEY(nil, $0, $1) }
        }
        guard let owner else { throw OpenSSLError(draining: "d2i_PUBKEY") }
        return owner
    }

    /// Returns the uncompressed form of a compressed point; `nil` for others.
    ///
    /// It is also `nil` if libcrypto finds no such point on the curve, which `validate()` reports. Tokens store
    /// uncompressed points, and both forms are the same key.
    private static func wholePoint(
        ofCompressed point: ArraySlice<UInt8>, _ information: Data, _ curve: NamedCurve
    ) -> [UInt8]? {
        guard point.first == 2 || point.first == 3, let bits = curve.bits else { return nil }
        let count = (bits + 7) / 8
        do {
            return try unsafe decode(information).withPointer { key in
                var number: OpaquePointer?
                try check("EVP_PKEY_get_bn_param", unsafe EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_EC_PUB_Y, &number))
                defer { unsafe BN_free(number) }
                var y = [UInt8](repeating: 0, count: count)
                guard unsafe BN_bn2binpad(number, &y, Int32(count)) == Int32(count) else {
                    throw OpenSSLError(draining: "BN_bn2binpad")
                }
                return [4] + point.dropFirst() + y
            }
        } catch {
            return nil
        }
    }

    /// The size in bits: of the modulus, of the field, 256 for Ed25519; 0 if unknown.
    public var size: Int {
        switch algorithm {
        case .rsa(let bits): bits
        case .ec(let curve): curve.bits ?? providerSize
        case .ed25519: 256
        case .other: providerSize
        }
    }

    private var providerSize: Int { Int(unsafe usableHandle?.withPointer { unsafe EVP_PKEY_get_bits($0) } ?? 0) }

    /// The modulus without a leading zero; `nil` for other types.
    public var rsaModulus: Data? { rsaNumbers.map { Data($0.modulus) } }
    /// The public exponent without a leading zero; `nil` for other types.
    public var rsaExponent: Data? { rsaNumbers.map { Data($0.exponent) } }

    /// The uncompressed point; `nil` for other types.
    public var ecPoint: Data? {
        guard case .ec = algorithm else { return nil }
        return bits
    }

    /// PEM with lines of 64 columns.
    public var pem: String { PublicText.pem(subjectPublicKeyInfo, label: "PUBLIC KEY") }

    private var rsaNumbers: RSANumbers? {
        guard case .rsa = algorithm else { return nil }
        return RSANumbers(bits: [UInt8](bits)[...])
    }

    /// Whether type and key bits are equal; for unknown types, whether the DER is.
    public static func == (left: PublicKey, right: PublicKey) -> Bool {
        if case .other = left.algorithm { return left.subjectPublicKeyInfo == right.subjectPublicKeyInfo }
        return left.algorithm == right.algorithm && left.bits == right.bits
    }

    /// Hashes the key bits.
    public func hash(into hasher: inout Hasher) { hasher.combine(bits) }
}

/// The numbers of an RSAPublicKey (RFC 8017 A.1.1), without leading zeros.
private struct RSANumbers {
    let modulus: ArraySlice<UInt8>
    let exponent: ArraySlice<UInt8>

    /// Returns `nil` unless the DER has exactly two positive numbers.
    init?(bits: ArraySlice<UInt8>) {
        do {
            let numbers = try DERReader.single(bits, tag: DERTag.sequence).children()
            guard numbers.count == 2, let modulus = Self.magnitude(numbers[0]),
                let exponent = Self.magnitude(numbers[1])
            else { return nil }
            self.modulus = modulus
            self.exponent = exponent
        } catch {
            return nil
        }
    }

    /// The size of the modulus in bits.
    var size: Int { modulus.count * 8 - (modulus.first?.leadingZeroBitCount ?? 0) }

    private static func magnitude(_ element: DERElement) -> ArraySlice<UInt8>? {
        guard element.tag == DERTag.integer, let first = element.content.first, first < 0x80 else { return nil }
        let magnitude = element.content.drop { $0 == 0 }
        return magnitude.isEmpty ? nil : magnitude
    }
}

/// PEM of public data.
enum PublicText {
    static func pem(_ der: Data, label: String) -> String {
        let text = der.base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        return "-----BEGIN \(label)-----\n\(text)\n-----END \(label)-----\n"
    }
}
