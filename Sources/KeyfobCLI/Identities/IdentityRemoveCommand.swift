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

    @Argument(help: "Name, fingerprint or PKCS#11 URI.", completion: NameCompletion.identities)
    var name: ItemName

    @Flag(help: "Succeed where there is no such identity.")
    var ifExists = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run() throws {
        let removal = Removal(kind: "identity", ifExists: ifExists, global: global, output: try global.output())
        let keychain = try global.openKeychain()
        let found = try removal.find(name) {
            let items = try name.identities(in: keychain)
            for item in items { try name.requireMeant(item, .identity, in: keychain) }
            return items
        }
        guard let found else { return }
        let label = found.first?.label ?? name.text
        try Confirmation(global).require(
            "Destroy identity \"\(label)\" and its key on token \"\(keychain.tokenLabel)\"?", typing: label)
        guard !global.dryRun else { return try removal.tellOfDryRun(label: label) }
        // Certificate and key are items of their own: with one pair of them others are gone.
        try removal.perform(found, of: name, label: label) { try keychain.deleteUnrenamed($0) }
    }
}
