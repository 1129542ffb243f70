import Keyfob
import PKCS11

/// What commands tell of a keychain by its configuration alone.
extension KeychainConfiguration {
    /// The token's name, by which documents call it everywhere.
    var tokenLabel: String {
        // A URI that cannot be read is shown as it is.
        (try? PKCS11URI(token))?.token ?? token
    }

    /// Whether it has a source of its PIN or passphrase that asks nobody.
    var opensUnasked: Bool { pinSource.map { !["prompt", "pinentry"].contains($0) } ?? false }

    /// The source that it has of its PIN or passphrase, without what may be a secret in a command.
    var pinSourceName: String? {
        pinSource.map { $0.hasPrefix("cmd:") || $0.hasPrefix("|") ? "cmd:…" : Visible.text($0) }
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
