/// The key usage of a certificate; `SecKeyUsage` of SecCertificate.h.
///
/// These are the bits of the extension (RFC 5280 section 4.2.1.3) with Apple's numbers. `kSecKeyUsageUnspecified` is
/// `[]`, as in Swift on Apple's platforms.
public struct SecKeyUsage: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: UInt32
    /// Creates usages from any bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Signatures that authenticate the sender.
    public static let digitalSignature = Self(rawValue: 1 << 0)
    /// The older name of `contentCommitment`.
    public static let nonRepudiation = Self(rawValue: 1 << 1)
    /// Signatures that commit the signer to the content.
    public static let contentCommitment = Self(rawValue: 1 << 1)
    /// Encryption of keys.
    public static let keyEncipherment = Self(rawValue: 1 << 2)
    /// Encryption of data.
    public static let dataEncipherment = Self(rawValue: 1 << 3)
    /// Key agreement.
    public static let keyAgreement = Self(rawValue: 1 << 4)
    /// Signatures on certificates.
    public static let keyCertSign = Self(rawValue: 1 << 5)
    /// Signatures on certificate revocation lists.
    public static let crlSign = Self(rawValue: 1 << 6)
    /// With key agreement: encryption only.
    public static let encipherOnly = Self(rawValue: 1 << 7)
    /// With key agreement: decryption only.
    public static let decipherOnly = Self(rawValue: 1 << 8)
    /// The extension is critical.
    public static let critical = Self(rawValue: 1 << 31)
    /// A mask of all usages except `critical`.
    public static let all = Self(rawValue: 0x7FFF_FFFF)
}
