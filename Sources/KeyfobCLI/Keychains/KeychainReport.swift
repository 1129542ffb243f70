import Foundation
import Keyfob
import KeyfobOpenSSL
import PKCS11

/// The status of a keychain: its token, whether it is unlocked and until when, and its content.
///
/// Creating a report never asks for a PIN. Unavailable values are `nil`, and `problem` has the reason.
struct KeychainReport {
    /// Whether secrets can be read.
    enum State: String {
        /// Unlocked by an earlier `unlock`.
        case unlocked
        /// The PIN comes from a source that does not ask, or the token needs no login, whether or not the keychain is
        /// unlocked.
        case unattended
        /// A person must unlock the keychain.
        case locked
        /// The configuration cannot be read.
        case damaged

        /// Determines the state of a keychain, for every document and table.
        ///
        /// - Parameters:
        ///   - configuration: The keychain.
        ///   - isUnlocked: Whether an earlier `unlock` is in effect.
        ///   - options: The options, which may name a source of the PIN.
        ///   - token: The token, if it was asked whether it needs a login.
        /// - Throws: `KeychainError` if a setting does not name a valid source of the PIN.
        init(
            _ configuration: KeychainConfiguration, isUnlocked: Bool, options: Keychain.Options, token: TokenInfo?
        ) throws {
            // A token whose URI is invalid names no source there.
            let uri = try? PKCS11URI(configuration.token).pinSource
            let configured = try configuration.pinSource.map { try PINSource(parsing: $0) }
            let lasting = try PINSourceSelection(
                uri: uri, configured: configured, environment: PINEnvironment(credentialsDirectory: nil),
                variables: [:])
            if token?.flags.contains(.loginRequired) == false || !lasting.source.isInteractive {
                self = .unattended
            } else if isUnlocked {
                self = .unlocked
            } else {
                let present = try PINSourceSelection(
                    option: options.pinSource, uri: uri, configured: configured, environment: PINEnvironment())
                self = present.source.isInteractive ? .locked : .unattended
            }
        }
    }

    let configuration: KeychainConfiguration
    let isDefault: Bool
    private(set) var state = State.locked
    private(set) var location: UnlockedState.Location?
    private(set) var expiry: Date?
    private(set) var token: TokenInfo?
    private(set) var passwords: Int?
    private(set) var certificates: Int?
    private(set) var keys: Int?
    /// The valid certificate that expires next.
    private(set) var nextExpiry: (name: String, date: Date)?
    /// The number of expired certificates.
    private(set) var expired: Int?
    /// The first problem that was found.
    private(set) var problem: KeychainError?

    /// Reads the state of a keychain. Blocks while it loads the module and for a few reads.
    ///
    /// - Parameter readsContents: Whether to count the items, if the keychain can be opened without asking.
    init(_ configuration: KeychainConfiguration, isDefault: Bool, options: Keychain.Options, readsContents: Bool) {
        self.configuration = configuration
        self.isDefault = isDefault
        do {
            let keychains = Keychains()
            let unlocked = UnlockedState(directories: keychains.directories)
            let stateName = configuration.uuid.uuidString.lowercased()
            location = try unlocked.location(of: stateName)
            expiry = try unlocked.expiry(of: stateName)
            state = try State(configuration, isUnlocked: location != nil, options: options, token: nil)
            let keychain: Keychain
            do { keychain = try keychains.open(configuration, options: options) } catch {
                // The token may be present nevertheless. Only the first error is reported.
                token = try? keychains.tokenInfo(of: configuration, options: options)
                throw error
            }
            token = try keychain.tokenInfo()
            state = try State(configuration, isUnlocked: location != nil, options: options, token: token)
            if isWithoutLogin { (location, expiry) = (nil, nil) }
            guard readsContents, state != .locked else { return }
            passwords = try keychain.passwordCount()
            let certificateItems = try keychain.find(.certificates)
            certificates = certificateItems.count
            keys = try keychain.find(.keys.keyClass(.private)).count + keychain.find(.keys.keyClass(.symmetric)).count
            // Older versions are not renewed, so their expiry does not matter.
            let identities = try keychain.find(.identities).filter { $0.nameOfVersion == nil }.map(\.item)
            let terms = Self.terms(identities.isEmpty ? certificateItems.map(\.item) : identities)
            // Expired certificates must not hide the next one that expires.
            let now = Date()
            nextExpiry = terms.filter { $0.date >= now }.min { $0.date < $1.date }
            expired = terms.count { $0.date < now }
            // A login does not reveal that the wrapping key is missing; only reading a password would.
            if let finding = try keychain.integrity.missingWrappingKeys().first {
                problem = KeychainError(.wrappingKeyMissing, finding.description + ".")
            }
        } catch let error as KeychainError {
            problem = error
        } catch {
            problem = KeychainError(.failed, String(describing: error), cause: error)
        }
    }

    /// Names and expiry dates of certificates. A certificate that is several items, in several access groups, counts
    /// once.
    private static func terms(_ items: [Item]) -> [(name: String, date: Date)] {
        var known: Set<Data> = []
        return items.compactMap { item in
            // Invalid certificates have no expiry; checks report them.
            guard let der = item.certificateDER, known.insert(der).inserted,
                let certificate = try? Certificate(der: der)
            else { return nil }
            return (item.attributes[.label]?.text ?? certificate.subjectSummary ?? "", certificate.notAfter)
        }
    }

    /// The label of the token, from the configuration.
    var tokenLabel: String { configuration.tokenLabel }

    /// Whether the token reports that it needs no login.
    private var isWithoutLogin: Bool { token.map { !$0.flags.contains(.loginRequired) } ?? false }

    /// Explains how the passwords are protected.
    var protection: [String] {
        var lines = [
            configuration.takesPasswords
                ? "Each password has its own key, wrapped by a key that cannot leave the token."
                : "It takes no passwords: no key on its token seals them.",
        ]
        if isWithoutLogin {
            lines.append("The token requires no login: any program that can use it can open the keychain.")
        } else if configuration.sealedPIN != nil {
            lines.append("Your passphrase (scrypt) seals the token's PIN.")
            if configuration.opensUnasked, let source = configuration.pinSourceName {
                lines.append("The passphrase comes from \(source). Anyone who can read it can open the keychain.")
            }
        } else if configuration.opensUnasked, let source = configuration.pinSourceName {
            lines.append("The token's PIN comes from \(source). Anyone who can read it can open the keychain.")
        } else {
            lines.append("You are asked for the token's PIN.")
        }
        if configuration.module == .softHSM {
            lines.append("The token is software: it is only as safe as your files.")
        }
        if location != nil { lines.append("While it is unlocked, all your programs can read its passwords.") }
        return lines
    }

    /// The members for a document.
    var members: Members {
        [
            "keychain": configuration.name, "default": isDefault, "state": state.rawValue, "until": expiry,
            "location": location?.name, "token": tokenLabel, "token_uri": configuration.shownTokenURI,
            "token_present": token != nil, "token_model": token?.model, "token_manufacturer": token?.manufacturer,
            "token_serial": token?.serialNumber, "wrap_suite": configuration.wrapSuite,
            "protection_notes": protection, "password_count": passwords,
            "certificate_count": certificates, "key_count": keys, "expired": expired,
            "next_expiry": nextExpiry.map { ["name": $0.name, "date": $0.date] as Members },
            "problem": problem.map(Self.problem),
        ]
    }

    /// The members for a document of `init` or `keychain create` if the keychain exists already.
    var creationMembers: Members {
        // A keychain that needs no unlocking is neither locked nor unlocked, even while it is open.
        let needsUnlocking = configuration.pinSource == nil && state != .unattended
        return configuration.creationMembers(
            isDefault: isDefault, isTokenNew: false, wantsLogin: !isWithoutLogin,
            isUnlocked: needsUnlocking ? state == .unlocked : nil)
    }

    /// The members of a keychain that cannot be read, in a list of such keychains.
    static func members(ofDamaged name: String, _ error: KeychainError) -> Members {
        ["name": name, "problem": problem(error)]
    }

    /// The members of a problem in a document.
    static func problem(_ error: KeychainError) -> Members {
        ["code": error.code.rawValue, "message": error.message]
    }

    /// Whether the keychain needs attention: a problem, locked, or certificates that have expired or expire within 30
    /// days.
    var wantsAttention: Bool {
        problem != nil || state == .locked || expired ?? 0 > 0
            || (nextExpiry.map { $0.date.timeIntervalSinceNow < 30 * 86_400 } ?? false)
    }

    /// The cells of a row in a table of keychains.
    var cells: [Table.Cell] {
        let next = nextExpiry.map { "\($0.name) \(Plural.relative($0.date, to: Date()))" } ?? ""
        return [
            .init(configuration.name), .init(state.rawValue, state == .locked ? .warning : nil),
            .init(tokenLabel, token == nil ? .bad : nil),
            .init(expired.map(String.init) ?? "", expired ?? 0 > 0 ? .bad : nil), .init(next),
            .init(problem?.message ?? "", .bad),
        ]
    }

    /// Adds the gauges of the keychain. Unavailable values have none.
    func add(to metrics: inout Metrics) {
        let labels: KeyValuePairs = ["keychain": configuration.name]
        metrics.add("keychain_problem", Self.problemHelp, problem == nil ? 0 : 1, labels)
        metrics.add(
            "keychain_locked", "Whether a person must unlock the keychain.", state == .locked ? 1 : 0, labels)
        metrics.add("token_present", "Whether the token of the keychain is reached.", token == nil ? 0 : 1, labels)
        metrics.add("passwords", "The number of passwords.", passwords, labels)
        metrics.add("keys", "The number of private and secret keys.", keys, labels)
        metrics.add("certificates", "The number of certificates.", certificates, labels)
        metrics.add("certificates_expired", "The number of expired certificates in use.", expired, labels)
        metrics.add(
            "next_expiry_timestamp_seconds", "When the next certificate in use expires.",
            nextExpiry.map { Int($0.date.timeIntervalSince1970) }, labels)
    }

    private static let problemHelp = "Whether the keychain cannot be used."

    /// Adds the gauge of a keychain whose configuration cannot be read.
    static func addProblem(of name: String, to metrics: inout Metrics) {
        metrics.add("keychain_problem", problemHelp, 1, ["keychain": name])
    }

    /// The lines for people.
    var lines: [(String, String)] {
        var lines: [(String, String)] = [("keychain", configuration.name + (isDefault ? " (default)" : ""))]
        switch state {
        case .unlocked:
            let until = expiry.map { " until \(RFC3339.local(from: $0)) (\(Plural.relative($0, to: Date())))" } ?? ""
            lines.append(("state", "unlocked\(until)" + (location.map { ", \($0.phrase)" } ?? "")))
        case .unattended: lines.append(("state", "opens without asking"))
        case .locked: lines.append(("state", "locked; unlock it: keyfob unlock \(configuration.name)"))
        case .damaged: lines.append(("state", state.rawValue))
        }
        let model = token.map { "present (\($0.manufacturer) \($0.model))" } ?? "not reached"
        lines.append(("token", "\(tokenLabel)   \(model)"))
        if let suite = configuration.wrapSuite { lines.append(("wrapping", suite)) }
        for (index, line) in protection.enumerated() { lines.append((index == 0 ? "protection" : "", line)) }
        if let passwords, let certificates, let keys {
            let counts = [(passwords, "password"), (certificates, "certificate"), (keys, "key")]
            lines.append(("contents", counts.map { Plural.counted($0.0, $0.1) }.joined(separator: ", ")))
        }
        if let nextExpiry {
            lines.append(("next", "\(nextExpiry.name) expires \(Plural.relative(nextExpiry.date, to: Date()))"))
        }
        if let expired, expired > 0 {
            let option = isDefault ? "" : " -k \(configuration.name)"
            lines.append(("expired", "\(Plural.counted(expired, "certificate")): keyfob cert expiring\(option)"))
        }
        if let problem {
            lines.append(("problem", problem.message))
            let hint = Wording(keychain: configuration.name).text(problem.remedies) ?? ""
            lines += hint.split(separator: "\n").map { ("", String($0)) }
        }
        return lines
    }
}
