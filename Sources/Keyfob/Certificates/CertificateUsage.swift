public import KeyfobOpenSSL

/// A usage of certificates, by the word that the command uses; an open set.
public struct CertificateUsage: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The word, such as `server`.
    public let rawValue: String

    /// Creates a usage from its word. Unknown words are kept.
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

    /// The purpose for which a chain is verified; `nil` for an unknown word.
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

    /// The extended key usage of certificates with this usage; `nil` for any usage and for unknown words.
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

extension CertificateUsage {
    /// The names of the usages for which a certificate is to be trusted; none for all.
    static func names(of usages: [CertificateUsage]) -> [String] {
        usages.contains(.any) ? [] : Set(usages.map(\.rawValue)).sorted()
    }
}
