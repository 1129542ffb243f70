import Keyfob
import PKCS11

/// What commands tell of a keychain by its configuration alone.
extension KeychainConfiguration {
    /// The token's name, by which documents call it everywhere.
    var tokenLabel: String {
        // A URI that cannot be read is shown as it is.
        (try? PKCS11URI(token))?.token ?? shownTokenURI
    }

    /// The token's URI without a PIN that somebody has written into the configuration.
    var shownTokenURI: String {
        // As above.
        guard PKCS11URI.seemsToHoldPIN(token) else { return token }
        return (try? PKCS11URI(token))?.description ?? "pkcs11:…"
    }

    /// Whether it has a source of its PIN or passphrase that asks nobody.
    var opensUnasked: Bool { pinSource.map { !["prompt", "pinentry"].contains($0) } ?? false }

    /// The source that it has of its PIN or passphrase, without what may be a secret in a command.
    var pinSourceName: String? { pinSource.map { Self.shown(pinSource: $0) } }

    private static func shown(pinSource source: String) -> String {
        source.hasPrefix("cmd:") || source.hasPrefix("|") ? "cmd:…" : Visible.text(source)
    }

    /// What a document about the making of a keychain says of it, whether it is made now or was there.
    ///
    /// - Parameters:
    ///   - isUnlocked: `nil` where it needs no unlocking.
    ///   - suite: The wrap suite, which only the vault knows besides who has made the keychain; else `nil`.
    ///   - recoveryFile: Where the recovery code was written just now.
    func creationMembers(
        isDefault: Bool, isTokenNew: Bool, wantsLogin: Bool, isUnlocked: Bool?, suite: String? = nil,
        recoveryFile: String? = nil
    ) -> [Value.Member] {
        Self.creationMembers(
            token: tokenLabel, uri: token, isDefault: isDefault, isTokenNew: isTokenNew,
            wrappingKey: wrappingKeyLabel, suite: suite, recoveryFile: recoveryFile, pinSource: pinSource,
            protection: wantsLogin ? protection : nil, isUnlocked: isUnlocked)
    }

    /// The same for a keychain that is not made yet: `nil` is what only its making can know.
    ///
    /// - Parameter protection: `nil` for a token that wants no login.
    static func creationMembers(
        token: String, uri: String?, isDefault: Bool, isTokenNew: Bool, wrappingKey: String, suite: String? = nil,
        recoveryFile: String? = nil, pinSource: String?, protection: String?, isUnlocked: Bool? = nil
    ) -> [Value.Member] {
        [
            .init("token", .string(token)), .init("token_uri", .optional(uri)),
            .init("token_new", .boolean(isTokenNew)), .init("wrapping_key", .string(wrappingKey)),
            .init("wrap_suite", .optional(suite)), .init("default", .boolean(isDefault)),
            .init("recovery_file", .optional(recoveryFile)),
            .init("pin_source", .optional(pinSource.map { Self.shown(pinSource: $0) })),
            .init("protection", .string(protection ?? "the token wants no login")),
            .init("unlocked", isUnlocked.map { .boolean($0) } ?? .null),
        ]
    }

    /// What comes from there.
    private var pinName: String { sealedPIN == nil ? "PIN" : "passphrase" }

    /// What to know of a keychain that has a source which asks nobody, when it has been made.
    var opennessBySource: String {
        "From now on the \(pinName) comes from \(pinSourceName ?? ""): whoever reads that opens the keychain."
    }

    /// The same when it has been locked.
    var opennessThoughLocked: String {
        "Keychain \"\(name)\" opens without asking all the same: its \(pinName) comes from \(pinSourceName ?? "")."
    }

    /// What to know of a keychain whose token wants no login.
    var opennessWithoutLogin: String {
        "Token \"\(Visible.text(tokenLabel))\" wants no login: whoever reaches it opens keychain \"\(name)\"."
    }
}
