/// What a certificate says that its key is for; `SecKeyUsage` of SecCertificate.h.
///
/// The bits of the extension (RFC 5280 4.2.1.3), by Apple's numbers. `kSecKeyUsageUnspecified` is `[]`, as in Swift on
/// Apple's platforms.
public struct SecKeyUsage: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: UInt32
    /// Usages of any bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Signatures that show who sent something.
    public static let digitalSignature = Self(rawValue: 1 << 0)
    /// Signatures that cannot be denied; the older name of `contentCommitment`.
    public static let nonRepudiation = Self(rawValue: 1 << 1)
    /// Signatures that cannot be denied.
    public static let contentCommitment = Self(rawValue: 1 << 1)
    /// The encryption of keys.
    public static let keyEncipherment = Self(rawValue: 1 << 2)
    /// The encryption of data.
    public static let dataEncipherment = Self(rawValue: 1 << 3)
    /// The agreement on keys.
    public static let keyAgreement = Self(rawValue: 1 << 4)
    /// Signatures on certificates.
    public static let keyCertSign = Self(rawValue: 1 << 5)
    /// Signatures on lists of revoked certificates.
    public static let crlSign = Self(rawValue: 1 << 6)
    /// Of key agreement, encryption alone.
    public static let encipherOnly = Self(rawValue: 1 << 7)
    /// Of key agreement, decryption alone.
    public static let decipherOnly = Self(rawValue: 1 << 8)
    /// The extension is critical.
    public static let critical = Self(rawValue: 1 << 31)
    /// All of them but `critical`, as a mask.
    public static let all = Self(rawValue: 0x7FFF_FFFF)
}
