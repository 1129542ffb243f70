import ArgumentParser
import Keyfob

/// `keyfob mv`: renames a secret.
struct SecretMove: OutputCommand {
    static let configuration = CommandConfiguration(
        "mv", "Rename a secret.",
        examples: Examples(
            "keyfob mv db/prod db/production",
            "keyfob mv db/prod db/production --user app",
            "keyfob mv db/prod db/production --dry-run"),
        discussion: """
            The value and the other attributes stay. A label that is the old name changes too. For another keychain, \
            use keyfob copy.
            """,
        aliases: ["rename", "move"])

    @Argument(help: "The item's name.", completion: NameCompletion.passwords)
    var name: String

    @Argument(help: "The new name.")
    var newName: String

    @OptionGroup(title: "Item")
    var selection: SecretSelection

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run(_ output: Output) throws {
        for name in [name, newName] { try selection.check(name: name) }
        let keychain = try global.openKeychain()
        let stored = try selection.choice.one(name, for: .removing, in: keychain)
        try SecretSelection.requireUsable(newName, for: stored)
        var renamed = stored.renamed(from: name, to: newName)
        // Lists show the service of a generic password, so its label may be another text.
        if stored.itemClass == .genericPassword, !stored.hasText(.label, name) {
            renamed.attributes[.label] = stored.attributes[.label]
        }
        let isChanged = !stored.isNamed(newName)
        if isChanged {
            try requireFree(renamed, stored, in: keychain)
            if !global.dryRun { try write(renamed, stored, in: keychain) }
        }
        let shown = [name, newName].map { TerminalSafe.text($0) }
        let verb = global.dryRun ? "Would rename" : "Renamed"
        try output.emit(
            Document(
                global.effect(isChanged ? .update : .none),
                [
                    "name": renamed.nameText, "old_name": stored.nameText, "user": stored.userText,
                    "kind": stored.kindText, "keychain": keychain.name,
                ] + renamed.referenceMembers),
            sentence: isChanged
                ? "\(verb) \(shown[0]) to \(shown[1]) in \"\(keychain.name)\"."
                : "Unchanged: \(shown[1]) has this name in \"\(keychain.name)\".")
    }

    private func write(_ renamed: Item, _ stored: Item, in keychain: Keychain) throws {
        guard let reference = stored.reference else { return }
        var changes = ItemAttributes()
        let names: [AttributeName] = [.service, .server, .label]
        for name in names where renamed.attributes[name] != stored.attributes[name] {
            changes[name] = renamed.attributes[name]
        }
        do { try keychain.update(Criteria(reference), changes) } catch let error as KeychainError
            where error.code == .duplicateItem
        { throw taken(in: keychain) }
    }

    private func requireFree(_ renamed: Item, _ stored: Item, in keychain: Keychain) throws {
        guard let other = try keychain.stored(like: renamed), other.reference != stored.reference else { return }
        throw taken(in: keychain)
    }

    private func taken(in keychain: Keychain) -> KeychainError {
        KeychainError(
            .duplicateItem,
            "\"\(TerminalSafe.text(newName))\" already exists in keychain \"\(keychain.name)\"; nothing was renamed.",
            hint: "Choose another name, or remove that item first: "
                + Wording(keychain: keychain.name).keyfob("rm " + ShellWord.operand(newName)),
            details: ["name": newName, "keychain": keychain.name])
    }
}

extension Item {
    /// Returns the item with a new name, and otherwise the same attributes.
    ///
    /// - Parameter name: The name that the user typed. An internet password whose server has this name changes its
    ///   server.
    func renamed(from name: String, to newName: String) -> Item {
        var item = self
        if itemClass == .genericPassword {
            item.attributes[.service] = .string(newName)
        } else if hasText(.server, name) {
            item.attributes[.server] = .string(newName)
        }
        item.attributes[.label] = .string(newName)
        return item
    }
}
