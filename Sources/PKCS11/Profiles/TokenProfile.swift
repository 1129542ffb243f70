/// What a token, or the library that reaches it, does differently from others.
///
/// The table of profiles is the only place that knows tokens and libraries by their names. All other code asks for a
/// quirk. A token that the table does not know has no quirks.
public struct TokenProfile: Sendable, Hashable {
    /// A behaviour that the code has to take into account.
    public enum Quirk: String, CaseIterable, Sendable {
        /// No other token of the kind has the same serial number.
        case uniqueSerials
        /// A handle never names another object within one login.
        case keepsHandles
        /// The token is missing or unreadable for a moment while another process logs in to it.
        case vanishesDuringLogin
        /// Objects are missing, and calls fail with a general error, for a moment while other programs use the token.
        case failsMomentarily
        /// The library must not list objects while another thread adds one.
        case listsAlone
        /// Only one thread at a time may be inside the library.
        case callsAlone
        /// The library must not look for tokens while another thread is between the two calls of an operation.
        case operatesAlone
        /// The library computes in this process and waits for no device or other process that may be stopped.
        case computesInProcess

        /// The library does not start without parameters.
        case needsParameters
        /// The library holds certificates only, and no keys.
        case holdsNoKeys

        /// The library writes lines of its own to standard error.
        case writesToStandardError
        /// Each key that is used stays in the device until the logout, and the device has few places.
        case keepsUsedKeysLoaded
        /// The token sets no flag after a wrong PIN, and locks itself after a few of them.
        case reportsNoTries
        /// A locked user PIN also locks the security officer out.
        case locksOutSecurityOfficer
        /// A key cannot be generated if its template names a use as forbidden.
        case refusesForbiddenUses
        /// A process that was forked after the login uses up PIN tries.
        case losesTriesAfterFork
        /// OpenSSL's pkcs11 engine must not be its default engine, since the library uses OpenSSL itself.
        case refusesDefaultEngine
    }

    /// A quirk, with the reason why it is in the profile.
    public struct Trait: Sendable, Hashable {
        /// The quirk.
        public let quirk: Quirk
        /// What was measured.
        public let reason: String
    }

    /// What is known of a token and its library. Everything is optional, because a profile is also asked for before the
    /// library is loaded.
    package struct Identity: Sendable {
        /// The path of the library.
        package var file: String?
        /// The library's manufacturer, from `C_GetInfo`.
        package var libraryManufacturer: String?
        /// The library's description, from `C_GetInfo`.
        package var libraryDescription: String?
        /// The library's version, from `C_GetInfo`.
        package var libraryVersion: Version?
        /// The token's manufacturer.
        package var manufacturer: String?
        /// The token's model.
        package var model: String?

        package init(file: String? = nil) { self.file = file }
    }

    /// The names of the entries of the table that fit.
    public let names: [String]
    /// The quirks, in the order of the table.
    public let traits: [Trait]
    /// The number of wrong PINs in a row after which the token locks itself; `nil` unless it has the quirk
    /// `reportsNoTries`.
    public let pinTries: Int?
    /// The start of a parameter that the library needs, such as `configdir=`; `nil` unless it has the quirk
    /// `needsParameters`.
    public let requiredParameter: String?
    private let quirks: Set<Quirk>

    /// The profile of a token that the table does not know.
    public static let standard = TokenProfile(of: Identity())

    /// Returns whether the token or its library has a quirk.
    public func has(_ quirk: Quirk) -> Bool { quirks.contains(quirk) }

    /// Combines the entries that fit what is known.
    package init(of identity: Identity) {
        let entries = Self.table.filter { $0.fits(identity) }
        names = entries.map(\.name)
        traits = entries.flatMap(\.traits)
        pinTries = entries.compactMap(\.pinTries).min()
        requiredParameter = entries.lazy.compactMap(\.requiredParameter).first
        quirks = Set(traits.map(\.quirk))
    }
}

extension TokenProfile {
    /// An entry of the table: how a token or a library is recognised, and its quirks.
    package struct Entry: Sendable {
        /// What `C_GetInfo` says of a library, and the start of its file's name.
        package struct Library: Sendable {
            package let manufacturer: String
            package let description: String
            /// The versions that were tried, and those like them.
            package let versions: Range<Version>
            /// The file's name; by it the library is recognised before it is loaded.
            package let file: String
        }

        /// What `C_GetTokenInfo` says of a token.
        package struct Token: Sendable {
            package let manufacturer: String
            /// The start of the model's name.
            package let model: String
        }

        /// Whether the entry describes a library or a token.
        package enum Subject: Sendable {
            case library(Library)
            case token(Token)
        }

        package let name: String
        package let subject: Subject
        package let pinTries: Int?
        package let requiredParameter: String?
        package let traits: [Trait]

        init(
            _ name: String, _ subject: Subject, pinTries: Int? = nil, requiredParameter: String? = nil,
            _ traits: KeyValuePairs<Quirk, String>
        ) {
            self.name = name
            self.subject = subject
            self.pinTries = pinTries
            self.requiredParameter = requiredParameter
            self.traits = traits.map { Trait(quirk: $0, reason: $1) }
        }

        /// Returns whether the entry describes a token or library of which this is known.
        func fits(_ identity: Identity) -> Bool {
            switch subject {
            case .library(let library):
                guard let manufacturer = identity.libraryManufacturer else {
                    // Not loaded yet.
                    return identity.file?.split(separator: "/").last?.hasPrefix(library.file) ?? false
                }
                return manufacturer == library.manufacturer && identity.libraryDescription == library.description
                    && identity.libraryVersion.map { library.versions.contains($0) } ?? true
            case .token(let token):
                return identity.manufacturer == token.manufacturer
                    && identity.model.map { $0.hasPrefix(token.model) } ?? true
            }
        }
    }
}
