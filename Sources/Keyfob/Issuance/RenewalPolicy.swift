public import Foundation

/// How an identity is renewed, kept with it: `keyfob identity renew` needs no option then.
public struct RenewalPolicy: Codable, Hashable, Sendable {
    /// Who issues the next certificate.
    public var issuer: IssuerDescription
    /// Whether the next certificate is for a new key.
    public var renewsKey: Bool
    /// How long the next certificate is valid, in seconds; `nil` leaves it to the issuer.
    public var lifetime: TimeInterval?

    /// Which part of the lifetime passes before a renewal is due, as ACME clients have it.
    public static let dueAfter = 0.66

    /// A policy.
    public init(issuer: IssuerDescription, renewsKey: Bool = false, lifetime: TimeInterval? = nil) {
        self.issuer = issuer
        self.renewsKey = renewsKey
        self.lifetime = lifetime
    }
}

/// An issuer as it is written down.
public enum IssuerDescription: Codable, Hashable, Sendable, CustomStringConvertible {
    /// The identity's own key.
    case itself
    /// An authority whose key is in a keychain; without a keychain's name, in the same one.
    case authority(String, keychain: String?)
    /// A program that takes a request and gives certificates.
    case command([String])
    /// An ACME server.
    case acme(ACMEIssuer.Settings)

    /// What messages call it.
    public var description: String {
        switch self {
        case .itself: "self-signed"
        case .authority(let name, let keychain): keychain.map { "\(name) in keychain \($0)" } ?? name
        case .command(let words): "command " + (words.first ?? "")
        case .acme(let settings): "acme " + settings.host
        }
    }

    /// Whether this process makes the certificate itself, and none can be on its way from elsewhere.
    var isLocal: Bool {
        switch self {
        case .itself, .authority: true
        case .command, .acme: false
        }
    }
}

extension Identity {
    /// How the identity is renewed; `nil` where nobody has said so, or in a way that this version does not know.
    public var renewalPolicy: RenewalPolicy? {
        guard let data = attributes[.renewalPolicy]?.bytes else { return nil }
        // A policy of a later version must not make the identity unusable: it must be given anew.
        return try? JSONDecoder().decode(RenewalPolicy.self, from: data)
    }
}
