import ArgumentParser
import Keyfob

/// `keyfob rm`: removes secrets.
struct SecretRemove: OutputCommand {
    static let configuration = CommandConfiguration(
        "rm", "Remove secrets permanently.",
        examples: Examples(
            "keyfob rm db/old",
            "keyfob rm db/old ci/token --yes",
            "keyfob rm db/prod --user app --dry-run"),
        discussion: "NAME is the name that keyfob ls shows. Servers and other labels do not match.",
        aliases: ["remove", "delete"])

    @Argument(help: "The items' names.", completion: NameCompletion.passwords)
    var names: [String]

    @Flag(help: "Ignore names that no item has.")
    var ifExists = false

    @OptionGroup(title: "Item")
    var selection: SecretSelection

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run(_ output: Output) throws {
        for name in names { try selection.check(name: name) }
        let keychain = try global.openKeychain()
        // All names are looked up before anything is removed, so that a typo in the last does not cost the first.
        var items: [Item] = []
        var known: Set<PersistentReference?> = []
        var missing: [String] = []
        for name in names {
            let item: Item
            do { item = try selection.choice.one(name, for: .removing, in: keychain) } catch let error as KeychainError
                where ifExists && error.code == .itemNotFound
            {
                missing.append("\"\(TerminalSafe.text(name))\"")
                continue
            }
            if known.insert(item.reference).inserted { items.append(item) }
        }
        if !missing.isEmpty {
            let list = missing.distinct.joined(separator: ", ")
            try output.say("Nothing to do: there is no item \(list) in \"\(keychain.name)\".")
        }
        var removed: [Item] = []
        var kept: [String] = []
        for item in items {
            let account = item.userText.isEmpty ? "" : " of \"\(TerminalSafe.text(item.userText))\""
            let what = "\"\(TerminalSafe.text(item.nameText))\"\(account)"
            if global.dryRun {
                try output.say("Would remove \(what) from \"\(keychain.name)\".")
                continue
            }
            guard try global.confirm("Remove \(what) from keychain \"\(keychain.name)\"?"),
                let reference = item.reference
            else {
                kept.append(what)
                continue
            }
            // Another process may have removed the item.
            do { try keychain.delete(Criteria(reference)) } catch let error as KeychainError
                where ifExists && error.code == .itemNotFound
            {
                try output.say("Nothing to do: \(what) is gone from \"\(keychain.name)\" already.")
                continue
            }
            removed.append(item)
            try Output.afterChange { try output.say("Removed \(what) from \"\(keychain.name)\".") }
        }
        guard kept.isEmpty else {
            // Fails, so that a script does not continue with items that were kept.
            let list = kept.joined(separator: ", ")
            throw KeychainError(
                .cancelled, removed.isEmpty ? "nothing was removed." : "\(list) kept; the others are removed.",
                details: ["keychain": keychain.name])
        }
        guard output.format.isMachineReadable else { return }
        let list = (global.dryRun ? items : removed).map { item -> Members in
            ["name": item.nameText, "user": item.userText, "kind": item.kindText, "server": item.value(.server)]
                + item.placeMembers + item.referenceMembers
        }
        try output.emit(
            Document([
                "keychain": keychain.name, "removed": list, "changed": !removed.isEmpty, "dry_run": global.dryRun,
            ]), sentence: "")
    }
}
