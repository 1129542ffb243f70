import ArgumentParser
import Foundation
import Keyfob

/// `keyfob secret copy`: copies a secret to another name or keychain.
struct SecretCopy: OutputCommand {
    static let configuration = CommandConfiguration(
        "copy", "Copy a secret to another name or another keychain.",
        examples: Examples(
            "keyfob secret copy db/prod db/staging",
            "keyfob secret copy db/prod --to site",
            "keyfob secret copy db/prod db/prod-2 --to site --replace"),
        discussion: "--keychain names the keychain that is read, --to the one that is written.")

    @Argument(help: "The item's name.", completion: NameCompletion.passwords)
    var name: String

    @Argument(help: "The copy's name; by default the same.")
    var newName: String?

    @Option(
        help: ArgumentHelp("The keychain of the copy.", valueName: "keychain"),
        completion: NameCompletion.keychains)
    var to: String?

    @Option(help: ArgumentHelp("The source of that keychain's PIN.", valueName: "source"))
    var toPinSource: String?

    @OptionGroup(title: "Existing items")
    var storing: SecretStoring

    @OptionGroup(title: "Item")
    var selection: SecretSelection

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func validate() throws {
        // The PIN of the other keychain may come from a command, which runs before this option is read.
        EnvironmentVariable.withhold(namedBy: toPinSource)
    }

    func run(_ output: Output) throws {
        try selection.check(name: name)
        try storing.check()
        if newName == nil, to == nil {
            throw UsageError(
                "a copy needs another name or another keychain.",
                hint: "\(Wording.selected.keyfob("secret copy NAME NEW-NAME")), or --to KEYCHAIN")
        }
        if let newName { try selection.check(name: newName) }
        let source = try global.openKeychain()
        var target = source
        if let to, to != source.name {
            var options = try global.keychainOptions()
            options.pinSource = try toPinSource.map { try PINSource(parsing: $0) }
            target = try Keychain.open(to, options: options)
        }
        let stored = try selection.choice.one(name, in: source)
        if let newName { try SecretSelection.requireUsable(newName, for: stored) }
        if let newName, stored.itemClass == .internetPassword, !stored.hasText(.server, name) {
            try SecretSelection.requireOneName(newName, server: stored.text(.server), label: storing.label)
        }
        let item = copy(of: stored)
        if target.name == source.name, try target.stored(like: item)?.reference == stored.reference {
            throw UsageError("an item cannot be copied to itself.", hint: hint(stored))
        }
        let (action, changed) = try storing.store(
            item, called: newName ?? name, in: target, isDryRun: global.dryRun
        ) {
            try SecretGet.secret(of: stored, in: source)
        }
        try SecretStoring.report(global.effect(action), newName ?? name, changed, target, output)
    }

    /// The hint for an item copied to itself. A new label alone does not make an internet password a different item.
    private func hint(_ stored: Item) -> String {
        guard newName != nil, stored.itemClass == .internetPassword, let server = stored.attributes[.server]?.text
        else {
            return "Give the copy another name."
        }
        return "\"\(TerminalSafe.text(name))\" is only the label of the password for \(TerminalSafe.text(server)). "
            + "For another server: "
            + Wording.selected.keyfob("secret set " + ShellWord.operand(newName ?? name, with: " --server HOST"))
    }

    /// A new item with all attributes of a stored one except the dates and the program.
    static func described(_ stored: Item) -> Item {
        var item = Item(stored.itemClass, stored.attributes)
        for name: AttributeName in [.creationDate, .modificationDate, .program] { item.attributes[name] = nil }
        return item
    }

    /// Returns the item with its new name and otherwise the same attributes.
    private func copy(of stored: Item) -> Item {
        var item = Self.described(stored)
        if let newName { item = item.renamed(from: name, to: newName) }
        if let label = storing.label { item.attributes[.label] = .string(label) }
        if let comment = storing.comment { item.attributes[.comment] = .string(comment) }
        return item
    }
}
