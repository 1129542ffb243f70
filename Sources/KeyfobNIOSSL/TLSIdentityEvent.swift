#if NIOSSL
public import Keyfob

/// Something that happened to the identity behind a name; see ``RotatingTLSIdentity/events()``.
public struct TLSIdentityEvent: Sendable {
    /// What kinds of events there are; an open set.
    public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name of the kind.
        public let rawValue: String

        /// A kind by its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// New connections use another certificate or key from now on: `identity`.
        public static let renewed = Kind(rawValue: "renewed")
        /// What the name stands for now cannot serve, for `error`; `identity`, the one in use, stays.
        public static let refused = Kind(rawValue: "refused")
        /// The token could not sign a handshake with the key in use: `error`. That connection failed.
        public static let signingFailed = Kind(rawValue: "signing-failed")

        /// The name.
        public var description: String { rawValue }
    }

    /// What happened.
    public let kind: Kind
    /// The identity that is in use after it.
    public let identity: TLSIdentity
    /// What went wrong, where something did.
    public let error: KeychainError?
}
#endif
