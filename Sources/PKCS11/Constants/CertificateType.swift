// Written by Scripts/generate-constants; change the script, not this file.

/// The type of a certificate on a token: `CKC_*`.
public struct CertificateType: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The number in the C interface.
    public let rawValue: UInt

    /// Wraps a number, known or not.
    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    /// The specification's spelling, or the number in hexadecimal where there is none.
    public var name: String { Self.names[rawValue] ?? "0x" + String(rawValue, radix: 16) }

    /// The same as `name`.
    public var description: String { name }

    /// Corresponds to `CKC_X_509`.
    public static let x509 = CertificateType(rawValue: 0x0)
    /// Corresponds to `CKC_X_509_ATTR_CERT`.
    public static let x509AttrCert = CertificateType(rawValue: 0x1)
    /// Corresponds to `CKC_WTLS`.
    public static let wtls = CertificateType(rawValue: 0x2)
    /// Corresponds to `CKC_OPENPGP`.
    public static let openpgp = CertificateType(rawValue: 0x80504750)

    /// The specification's spellings, for messages.
    static let names: [UInt: String] = [
        0x0: "CKC_X_509",
        0x1: "CKC_X_509_ATTR_CERT",
        0x2: "CKC_WTLS",
        0x80504750: "CKC_OPENPGP",
    ]
}
