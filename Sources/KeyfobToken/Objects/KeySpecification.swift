import KeyfobOpenSSL
package import PKCS11

/// The kind of key to generate.
public struct KeySpecification: Sendable, Hashable, CustomStringConvertible {
    package enum Kind: Sendable, Hashable {
        case rsa(bits: Int)
        case ec(EllipticCurve)
        case ed25519
        case aes(bits: Int)
    }

    package let kind: Kind

    /// RSA with 2048 to 4096 bits.
    public static func rsa(bits: Int) -> Self { Self(kind: .rsa(bits: bits)) }
    /// EC on the curve P-256.
    public static let p256 = Self(kind: .ec(.p256))
    /// EC on the curve P-384.
    public static let p384 = Self(kind: .ec(.p384))
    /// EC on the curve P-521.
    public static let p521 = Self(kind: .ec(.p521))
    /// Ed25519.
    public static let ed25519 = Self(kind: .ed25519)
    /// AES with 128, 192 or 256 bits.
    public static func aes(bits: Int) -> Self { Self(kind: .aes(bits: bits)) }

    /// A description such as `EC P-256`.
    public var description: String {
        switch kind {
        case .rsa(let bits): "RSA \(bits)"
        case .ec(let curve): "EC \(curve.name)"
        case .ed25519: "Ed25519"
        case .aes(let bits): "AES-\(bits)"
        }
    }
}
