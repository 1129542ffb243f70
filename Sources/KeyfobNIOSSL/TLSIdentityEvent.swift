#if NIOSSL
public import Keyfob

/// An event of the identity behind a name; see ``RotatingTLSIdentity/events()``.
public struct TLSIdentityEvent: Sendable {
    /// The kind of an event; an open set.
    public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name of the kind.
        public let rawValue: String

        /// Creates a kind from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// New connections use another certificate or key from now on: `identity`.
        public static let renewed = Kind(rawValue: "renewed")
        /// The identity now behind the name cannot serve, because of `error`. The current one, `identity`, stays in
        /// use.
        public static let refused = Kind(rawValue: "refused")
        /// The token could not sign a handshake with the current key, because of `error`. That connection failed.
        public static let signingFailed = Kind(rawValue: "signing-failed")

        /// The name.
        public var description: String { rawValue }
    }

    /// The kind of the event.
    public let kind: Kind
    /// The identity that is in use afterwards.
    public let identity: TLSIdentity
    /// The error, if there was one.
    public let error: KeychainError?
}
#endif
