public import Foundation

/// An issuer that a module outside Keyfob provides, in the form that is stored with an identity.
///
/// Keyfob stores the settings and does not read them. A module recognizes its own issuers by their kind.
public struct ExternalIssuer: Codable, Hashable, Sendable {
    /// The kind of issuer, such as `acme`.
    public let kind: String
    /// The name of the issuer in messages, such as the host of a server.
    public let name: String
    /// What the module needs to find the issuer again, in a format that only the module reads. It holds no secrets.
    public let settings: Data

    /// Creates a description of an issuer.
    public init(kind: String, name: String, settings: Data) {
        self.kind = kind
        self.name = name
        self.settings = settings
    }
}
