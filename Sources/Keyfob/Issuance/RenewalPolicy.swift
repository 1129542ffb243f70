public import Foundation

/// How an identity is renewed. It is stored with the identity, so that `keyfob identity renew` needs no options.
public struct RenewalPolicy: Codable, Hashable, Sendable {
    /// The issuer of the next certificate.
    public var issuer: IssuerDescription
    /// Whether the next certificate is for a new key.
    public var renewsKey: Bool
    /// How long the next certificate is valid, in seconds; `nil` leaves it to the issuer.
    public var lifetime: TimeInterval?
    /// When a renewal is due; `nil` for the usual time, which is ``dueAfter``.
    public var time: RenewalTime?

    /// The fraction of the lifetime after which a renewal is due, as common among ACME clients.
    public static let dueAfter = 0.66

    /// Creates a policy.
    public init(
        issuer: IssuerDescription, renewsKey: Bool = false, lifetime: TimeInterval? = nil, time: RenewalTime? = nil
    ) {
        self.issuer = issuer
        self.renewsKey = renewsKey
        self.lifetime = lifetime
        self.time = time
    }
}

/// A stored description of an issuer.
public enum IssuerDescription: Codable, Hashable, Sendable, CustomStringConvertible {
    /// The identity's own key.
    case itself
    /// An authority whose key is in a keychain; `nil` means the same keychain.
    case authority(String, keychain: String?)
    /// A program that reads a request and prints certificates.
    case command([String])
    /// An issuer of another module, such as an ACME server.
    case external(ExternalIssuer)

    /// The name of the issuer in messages.
    public var description: String {
        switch self {
        case .itself: "self-signed"
        case .authority(let name, let keychain): keychain.map { "\(name) in keychain \($0)" } ?? name
        case .command(let words): "command " + (words.first ?? "")
        case .external(let issuer): issuer.kind + " " + issuer.name
        }
    }

    /// Whether this process issues the certificate itself, so that none can arrive later from elsewhere.
    package var isLocal: Bool {
        switch self {
        case .itself, .authority: true
        case .command, .external: false
        }
    }
}

extension Identity {
    /// How the identity is renewed; `nil` if it has no policy, or one that this version does not know.
    public var renewalPolicy: RenewalPolicy? {
        guard let data = attributes[.renewalPolicy]?.bytes else { return nil }
        // A policy of a later version must not make the identity unusable; the user has to set it again.
        return try? JSONDecoder().decode(RenewalPolicy.self, from: data)
    }
}
