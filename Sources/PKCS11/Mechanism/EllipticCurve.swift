/// An elliptic curve, known by its object identifier.
public struct EllipticCurve: Hashable, Sendable, CustomStringConvertible {
    /// The usual name, such as `P-256`.
    public let name: String

    /// The length of a coordinate in bytes.
    public let fieldBytes: Int

    /// The DER of the curve's object identifier: the value of `CKA_EC_PARAMS`.
    public let parametersDER: [UInt8]

    /// The type of the curve's keys.
    public let keyType: KeyType

    /// The DER of a PrintableString that names the curve, the other form that Cryptoki 3.0 allows.
    private let alternativeDER: [UInt8]?

    /// The same as `name`.
    public var description: String { name }

    /// Whether points are 04 || X || Y; otherwise they are the single encoded coordinate of RFC 8032.
    var hasUncompressedPoints: Bool { keyType == .ec }

    /// The length of a raw point in bytes.
    public var pointBytes: Int { hasUncompressedPoints ? 1 + 2 * fieldBytes : fieldBytes }

    /// NIST P-256, also called secp256r1 and prime256v1.
    public static let p256 = EllipticCurve(
        name: "P-256", fieldBytes: 32, parametersDER: [0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07],
        keyType: .ec, alternativeDER: nil)

    /// NIST P-384, also called secp384r1.
    public static let p384 = EllipticCurve(
        name: "P-384", fieldBytes: 48, parametersDER: [0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x22],
        keyType: .ec, alternativeDER: nil)

    /// NIST P-521, also called secp521r1.
    public static let p521 = EllipticCurve(
        name: "P-521", fieldBytes: 66, parametersDER: [0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x23],
        keyType: .ec, alternativeDER: nil)

    /// Edwards25519 for signatures, RFC 8032 and RFC 8410.
    public static let ed25519 = EllipticCurve(
        name: "Ed25519", fieldBytes: 32, parametersDER: [0x06, 0x03, 0x2b, 0x65, 0x70],
        keyType: .ecEdwards, alternativeDER: [0x13, 0x0c] + Array("edwards25519".utf8))

    /// All known curves.
    public static let all: [EllipticCurve] = [.p256, .p384, .p521, .ed25519]

    /// The curve that a value of `CKA_EC_PARAMS` names; `nil` for an unknown curve.
    public init?(parametersDER: [UInt8]) {
        let match = Self.all.first { $0.parametersDER == parametersDER || $0.alternativeDER == parametersDER }
        guard let match else { return nil }
        self = match
    }

    private init(
        name: String, fieldBytes: Int, parametersDER: [UInt8], keyType: KeyType, alternativeDER: [UInt8]?
    ) {
        self.name = name
        self.fieldBytes = fieldBytes
        self.parametersDER = parametersDER
        self.keyType = keyType
        self.alternativeDER = alternativeDER
    }
}
