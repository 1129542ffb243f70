/// A named curve (RFC 5480); unknown curves are preserved.
public struct NamedCurve: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The object identifier in dotted form.
    public let rawValue: String

    /// Creates a curve from its object identifier.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// NIST P-256, secp256r1.
    public static let p256 = NamedCurve(rawValue: "1.2.840.10045.3.1.7")
    /// NIST P-384, secp384r1.
    public static let p384 = NamedCurve(rawValue: "1.3.132.0.34")
    /// NIST P-521, secp521r1.
    public static let p521 = NamedCurve(rawValue: "1.3.132.0.35")
    /// secp256k1.
    public static let secp256k1 = NamedCurve(rawValue: "1.3.132.0.10")

    /// The size of the field in bits; `nil` for a curve without a constant here.
    public var bits: Int? {
        switch self {
        case .p256, .secp256k1: 256
        case .p384: 384
        case .p521: 521
        default: nil
        }
    }

    /// The object identifier in DER, the form of `CKA_EC_PARAMS`; empty if `rawValue` is invalid.
    public var derOID: [UInt8] { OID(rawValue: rawValue).der ?? [] }

    /// The usual name, or the object identifier.
    public var description: String {
        switch self {
        case .p256: "P-256"
        case .p384: "P-384"
        case .p521: "P-521"
        case .secp256k1: "secp256k1"
        default: rawValue
        }
    }
}

/// The type of a key and its size.
public enum KeyAlgorithm: Hashable, Sendable, CustomStringConvertible {
    /// RSA with a modulus of the given size.
    case rsa(bits: Int)
    /// Elliptic curve, for ECDSA and ECDH.
    case ec(NamedCurve)
    /// Ed25519 (RFC 8032).
    case ed25519
    /// Another type, with its object identifier.
    case other(String)

    /// A description such as "RSA 2048", "EC P-256" or "Ed25519".
    public var description: String {
        switch self {
        case .rsa(let bits): "RSA \(bits)"
        case .ec(let curve): "EC \(curve)"
        case .ed25519: "Ed25519"
        case .other(let oid): oid
        }
    }

    static let rsaOID = OID(rawValue: "1.2.840.113549.1.1.1")
    static let ecOID = OID(rawValue: "1.2.840.10045.2.1")
    static let ed25519OID = OID(rawValue: "1.3.101.112")
}
