import Keyfob

/// Descriptions of a keychain that need only its configuration.
extension KeychainConfiguration {
    /// Whether the PIN or passphrase comes from a source that does not ask.
    var opensUnasked: Bool { pinSource.map { !["prompt", "pinentry"].contains($0) } ?? false }

    /// The source of the PIN or passphrase. Commands are abbreviated, because they may contain a secret.
    var pinSourceName: String? { pinSource.map { Self.shown(pinSource: $0) } }

    static func shown(pinSource source: String) -> String {
        source.hasPrefix("cmd:") || source.hasPrefix("|") ? "cmd:…" : TerminalSafe.text(source)
    }

    /// The members that describe a new or existing keychain in a document of `init` or `keychain create`.
    ///
    /// - Parameters:
    ///   - isUnlocked: `nil` if the keychain needs no unlocking.
    ///   - wrappingKey: The name of the wrapping key; `nil` for the one that Keyfob gives.
    ///   - recoveryFile: The file that the recovery code was written to.
    func creationMembers(
        isDefault: Bool, isTokenNew: Bool, wantsLogin: Bool, isUnlocked: Bool?, wrappingKey: String? = nil,
        recoveryFile: String? = nil
    ) -> Members {
        Self.creationMembers(
            token: tokenLabel, uri: token, isDefault: isDefault, isTokenNew: isTokenNew,
            wrappingKey: takesPasswords ? wrappingKey ?? wrappingKeyLabel : nil, suite: wrapSuite,
            recoveryFile: recoveryFile, pinSource: pinSource, protection: wantsLogin ? protection : nil,
            isUnlocked: isUnlocked)
    }

    /// The same members for a keychain that does not exist yet. Values that only its creation determines are `nil`.
    ///
    /// - Parameter protection: `nil` for a token that needs no login.
    static func creationMembers(
        token: String, uri: String?, isDefault: Bool, isTokenNew: Bool, wrappingKey: String?, suite: String? = nil,
        recoveryFile: String? = nil, pinSource: String?, protection: String?, isUnlocked: Bool? = nil
    ) -> Members {
        [
            "token": token, "token_uri": uri, "token_new": isTokenNew, "wrapping_key": wrappingKey, "wrap_suite": suite,
            "default": isDefault, "recovery_file": recoveryFile,
            "pin_source": pinSource.map { Self.shown(pinSource: $0) },
            "protection": protection ?? "the token requires no login", "unlocked": isUnlocked,
        ]
    }

    /// The same members for a keychain whose configuration cannot be read.
    static var unknownCreationMembers: Members {
        let known = creationMembers(
            token: "", uri: nil, isDefault: false, isTokenNew: false, wrappingKey: nil, pinSource: nil, protection: nil)
        return Members(known.map { Members.Member(name: $0.name, value: .null) })
    }

    /// What the source provides: the PIN or the passphrase.
    private var pinName: String { sealedPIN == nil ? "PIN" : "passphrase" }

    /// The note for a new keychain that opens without asking, because of its source.
    var opennessBySource: String {
        "From now on, the \(pinName) comes from \(pinSourceName ?? ""). Anyone who can read it can open the keychain."
    }

    /// The note for a locked keychain that opens without asking, because of its source.
    var opennessThoughLocked: String {
        "Keychain \"\(name)\" still opens without asking: its \(pinName) comes from \(pinSourceName ?? "")."
    }

    /// The note for a keychain whose token needs no login.
    var opennessWithoutLogin: String {
        "Token \"\(TerminalSafe.text(tokenLabel))\" requires no login: any program that can use it can open keychain "
            + "\"\(name)\"."
    }
}
