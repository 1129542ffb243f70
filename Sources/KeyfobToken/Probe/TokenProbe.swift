public import PKCS11

/// What a token can do, proved by doing it.
///
/// A token's list of mechanisms is not reliable. The probe makes temporary keys, uses them, and removes them. It makes
/// session objects where the token allows it. All objects that it makes are labelled ``TokenProbe/label``, and nothing
/// remains on the token.
public struct TokenProbe: Sendable {
    /// Something that a token can do.
    public struct Capability: RawRepresentable, Hashable, Sendable {
        /// The stable name, such as `ec-keys`.
        public let rawValue: String

        /// Creates a capability with a stable name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The token accepts the PIN, or needs none.
        public static let login = Capability(rawValue: "login")
        /// It makes random numbers.
        public static let randomNumbers = Capability(rawValue: "random-numbers")
        /// It stores a certificate.
        public static let certificates = Capability(rawValue: "certificates")
        /// It generates a P-256 key that signs.
        public static let ecKeys = Capability(rawValue: "ec-keys")
        /// A P-256 key agrees on a secret (ECDH).
        public static let keyAgreement = Capability(rawValue: "key-agreement")
        /// It generates an RSA key of 2048 bits that signs.
        public static let rsaKeys = Capability(rawValue: "rsa-keys")
        /// An RSA key decrypts RSA-OAEP with SHA-1.
        public static let decryptionSHA1 = Capability(rawValue: "rsa-oaep-sha1")
        /// An RSA key decrypts RSA-OAEP with SHA-256.
        public static let decryptionSHA256 = Capability(rawValue: "rsa-oaep-sha256")
        /// It takes a private key from outside, which then signs.
        public static let keyImport = Capability(rawValue: "key-import")
        /// A key that is on the token already wraps the keys of a vault.
        public static let presentKey = Capability(rawValue: "present-key")

        /// A new key wraps the keys of a vault by a suite.
        ///
        /// - Parameter suite: The JOSE name of the suite, such as `A256GCMKW`.
        public static func wrapping(_ suite: String) -> Capability { Capability(rawValue: "wrap-" + suite) }

        /// Whether the capability is to wrap the keys of a vault.
        public var isWrapping: Bool { self == .presentKey || rawValue.hasPrefix("wrap-") }
    }

    /// How an attempt ended.
    public enum Outcome: String, Sendable {
        /// The token did it.
        case works
        /// The token refused or failed.
        case fails
        /// It was not tried.
        case untried
    }

    /// The result for one capability.
    public struct Result: Sendable, Hashable {
        /// What was tried.
        public let capability: Capability
        /// How it ended.
        public let outcome: Outcome
        /// Why, or how it was done; `nil` if there is nothing to say.
        public let reason: String?
    }

    /// A key on the token that can seal a keychain.
    public struct PresentKey: Sendable, Hashable {
        /// The URI that names the key among the keys of the token.
        public let uri: PKCS11URI
        /// The suite by which it wraps.
        public let suite: String
    }

    /// The label of the objects that a probe makes.
    public static let label = "keyfob probe (temporary)"

    /// What the token says of itself.
    public let info: TokenInfo
    /// What the table of profiles knows of the token and its library.
    public let profile: TokenProfile
    /// The results, always in the same order.
    public let results: [Result]
    /// The keys on the token that can seal a keychain. They are looked for only if the token makes no such key.
    public let presentKeys: [PresentKey]
    /// The number of temporary objects that could not be removed.
    public let leftovers: Int

    /// Whether the probe logged in, or the token needs no login.
    public var isLoggedIn: Bool { outcome(of: .login) == .works }

    /// Whether everything that a keychain needs works: the login, and a key that wraps.
    public var suffices: Bool {
        isLoggedIn && results.contains { $0.capability.isWrapping && $0.outcome == .works }
    }

    /// Returns how the attempt at a capability ended; `untried` if there was none.
    public func outcome(of capability: Capability) -> Outcome {
        results.first { $0.capability == capability }?.outcome ?? .untried
    }

    /// The order of the results.
    private static let order: [Capability] = [.login, .randomNumbers, .certificates, .keyImport]
        + ProbeRun.ofECKey.prefix(2) + ProbeRun.ofRSAKey.prefix(3) + WrapSuites.all.map { .wrapping($0.name) }
        + [.presentKey]

    /// Probes a token. Blocks for some seconds, of which key generation takes the most.
    ///
    /// - Parameter store: The token, with its PIN if there is one.
    /// - Throws: `KeychainError` if the token is absent or refuses the PIN; `timedOut`.
    package init(of store: TokenStore) throws {
        let run = ProbeRun(store)
        let info: TokenInfo
        do {
            info = try store.info()
            profile = try store.profile()
        } catch let error as PKCS11Error { throw store.refusal(error, .read) }
        self.info = info
        try store.writingObjects { try run.probe(info) }
        // An attempt that others depend on ends after them.
        results = Self.order.compactMap { capability in run.results.first { $0.capability == capability } }
        presentKeys = run.presentKeys
        leftovers = run.leftovers
    }
}
