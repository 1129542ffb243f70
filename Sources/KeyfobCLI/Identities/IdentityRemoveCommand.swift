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
        try Confirmation(global).require(
            "Destroy identity \"\(label)\" and its key on token \"\(keychain.tokenLabel)\"?", typing: label)
        guard !global.dryRun else {
            return try output.emit(
                .removal(of: label, isDone: false, isDryRun: true),
                sentence: "Would remove identity \"\(Visible.text(label))\".")
        }
        // Certificate and key are items of their own: with one pair of them others are gone.
        guard try Removal.oneByOne(items, ifExists: ifExists, { try keychain.deleteUnrenamed($0) }) else {
            return try output.emit(
                .removal(of: name.text, isDone: false), sentence: "Nothing to do: there is no such identity.")
        }
        try output.emit(
            .removal(of: label, isDone: true),
            sentence: "Removed identity \"\(Visible.text(label))\".")
    }
}
