public import OpenSSL

/// What a certificate is used for, as people and the command say it; an open set.
public struct CertificateUsage: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The word, such as `server`.
    public let rawValue: String

    /// A usage by its word. Words this version does not know are kept.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Any usage.
    public static let any = Self(rawValue: "any")
    /// A TLS server.
    public static let server = Self(rawValue: "server")
    /// A TLS client.
    public static let client = Self(rawValue: "client")
    /// S/MIME.
    public static let email = Self(rawValue: "email")
    /// Code signing.
    public static let codeSigning = Self(rawValue: "code-signing")
    /// Time stamps.
    public static let timeStamping = Self(rawValue: "time-stamping")

    /// The usages that this version knows.
    public static let known: [CertificateUsage] = [.any, .server, .client, .email, .codeSigning, .timeStamping]

    /// The word.
    public var description: String { rawValue }

    /// What a chain is verified for; `nil` for a word that is not known.
    public var purpose: CertificateChain.Purpose? {
        switch self {
        case .any: .any
        case .server: .tlsServer
        case .client: .tlsClient
        case .email: .email
        case .codeSigning: .codeSigning
        case .timeStamping: .timeStamping
        default: nil
        }
    }

    /// The purpose that a certificate of this usage names; `nil` for any usage and for words that are not known.
    public var extendedKeyUsage: ExtendedKeyUsage? {
        switch self {
        case .server: .serverAuth
        case .client: .clientAuth
        case .email: .emailProtection
        case .codeSigning: .codeSigning
        case .timeStamping: .timeStamping
        default: nil
        }
    }
}
