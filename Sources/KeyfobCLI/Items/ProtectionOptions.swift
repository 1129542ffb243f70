import ArgumentParser
import Keyfob

/// The option of the commands that remove items.
struct ProtectionOptions: ParsableArguments {
    @Flag(help: "Also remove what a manifest protects (protect: true).")
    var unprotect = false

    /// Refuses protected items without the option, before any question.
    ///
    /// - Throws: `KeychainError.refused`.
    func check(_ items: [Item], in keychain: Keychain) throws {
        if !unprotect { try keychain.requireUnprotected(items) }
    }

    /// Ends the protection of an item that is removed next.
    ///
    /// - Throws: `KeychainError`; `itemNotFound` if it is gone.
    func release(_ item: Item, in keychain: Keychain) throws {
        // An item that was found without a login does not show the mark.
        if unprotect { try keychain.setProtection(of: item, false) }
    }
}
