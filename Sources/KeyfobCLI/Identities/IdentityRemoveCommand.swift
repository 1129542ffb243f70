import ArgumentParser
import Keyfob

/// `keyfob identity rm`: destroys a key together with its certificate.
struct IdentityRemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "rm", "Destroy a key together with its certificate.",
        examples: Examples(
            "keyfob identity rm web", "keyfob identity rm old --yes", "keyfob identity rm old --dry-run"),
        discussion:
            "The key stays while another certificate of the keychain needs it. Certificates of authorities stay.",
        aliases: ["remove", "delete"])

    @Argument(help: "Name, fingerprint, common name or PKCS#11 URI.")
    var name: ItemName

    @Flag(help: "Succeed where there is no such identity.")
    var ifExists = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run() throws {
        let output = try global.output()
        let keychain = try global.openKeychain()
        let items: [Identity]
        do {
            items = try name.identities(in: keychain)
            for item in items { try name.requireMeant(item, .identity, in: keychain) }
        } catch let error as KeychainError
            where ifExists && error.code == .itemNotFound
        {
            return try output.emit(
                .removal(of: name.text, isDone: false, isDryRun: global.dryRun),
                sentence: "Nothing to do: there is no such identity.")
        }
        let label = items.first?.label ?? name.text
        try RemovalPrompt(global).confirm(
            "Destroy identity \"\(label)\" and its key on token \"\(keychain.tokenLabel)\"?", typing: label)
        guard !global.dryRun else {
            return try output.emit(
                .removal(of: label, isDone: false, isDryRun: true),
                sentence: "Would remove identity \"\(Visible.text(label))\".")
        }
        // Certificate and key are items of their own: with one pair of them others are gone.
        guard try RemovalPrompt.remove(items, ifExists: ifExists, { try keychain.deleteUnrenamed($0) }) else {
            return try output.emit(
                .removal(of: name.text, isDone: false), sentence: "Nothing to do: there is no such identity.")
        }
        try output.emit(
            .removal(of: label, isDone: true),
            sentence: "Removed identity \"\(Visible.text(label))\".")
    }
}

/// The question before something is destroyed.
struct RemovalPrompt {
    private let global: GlobalOptions

    init(_ global: GlobalOptions) { self.global = global }

    /// Removes items one by one. What is gone already is passed over once one is removed, and with `ifExists` always:
    /// another process may have been faster.
    ///
    /// - Returns: Whether any was removed.
    static func remove<Item>(_ items: [Item], ifExists: Bool, _ remove: (Item) throws -> Void) throws -> Bool {
        var isDone = false
        for item in items {
            do { try remove(item) } catch let error as KeychainError
                where (ifExists || isDone) && error.code == .itemNotFound
            { continue }
            isDone = true
        }
        return isDone
    }

    /// Whether there is anybody to ask, and something to ask.
    var canAsk: Bool { !global.yes && !global.dryRun && global.terminal.canAsk }

    /// Asks for the name of what cannot be brought back; `--yes` answers, and a dry run has nothing to ask.
    ///
    /// - Throws: `KeychainError`; `refused` where nobody can be asked, `cancelled` for any other answer.
    func confirm(_ question: String, typing name: String) throws {
        guard !global.yes, !global.dryRun else { return }
        guard try global.terminal.confirm(question, byTyping: name) else {
            throw KeychainError(.cancelled, "nothing was removed.")
        }
    }

    /// Asks yes or no. - Throws: As above.
    func confirm(_ question: String) throws {
        guard !global.dryRun else { return }
        guard try global.confirm(question) else { throw KeychainError(.cancelled, "nothing was removed.") }
    }
}
