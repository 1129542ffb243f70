import Keyfob

/// The removal of secrets by their names, and its report.
struct SecretRemoval {
    /// The noun for the items in sentences, such as `item`; empty if the name alone is enough.
    var noun = ""
    /// The name of an item, as the command takes it.
    var title: (Item) -> String = { $0.nameText }
    /// Whether a missing item is a success.
    let ifExists: Bool
    /// Whether protected items are removed too.
    let protection: ProtectionOptions
    let global: GlobalOptions

    /// Removes the items with the names after a question for each, and reports it.
    ///
    /// - Parameter find: Returns the item with a name.
    /// - Throws: The errors of `find`; `KeychainError.cancelled` if an item is kept.
    func perform(
        _ names: [String], in keychain: Keychain, _ output: Output, _ find: (String, Keychain) throws -> Item
    ) throws {
        // All names are looked up before anything is removed, so that a typo in the last does not cost the first.
        var items: [Item] = []
        var known: Set<PersistentReference?> = []
        var missing: [String] = []
        for name in names {
            let item: Item
            do { item = try find(name, keychain) } catch let error as KeychainError
                where ifExists && error.code == .itemNotFound
            {
                missing.append("\"\(TerminalSafe.text(name))\"")
                continue
            }
            if known.insert(item.reference).inserted { items.append(item) }
        }
        try protection.check(items, in: keychain)
        if !missing.isEmpty {
            let list = missing.distinct.joined(separator: ", ")
            let what = noun.isEmpty ? "item" : noun
            try output.say("Nothing to do: there is no \(what) \(list) in \"\(keychain.name)\".")
        }
        var removed: [Item] = []
        var kept: [String] = []
        do { try remove(items, in: keychain, output, &removed, &kept) } catch let error as KeychainError {
            throw error.with(details: error.details.merging(details(of: removed)) { $1 })
        }
        guard kept.isEmpty else {
            // Fails, so that a script does not continue with items that were kept.
            let list = kept.joined(separator: ", ")
            throw KeychainError(
                .cancelled, removed.isEmpty ? "nothing was removed." : "\(list) kept; the others are removed.",
                details: ["keychain": keychain.name].merging(details(of: removed)) { $1 })
        }
        guard output.format.isMachineReadable else { return }
        let list = (global.dryRun ? items : removed).map { item -> Members in
            ["name": title(item), "user": item.userText, "kind": item.kindText, "server": item.value(.server)]
                + item.placeMembers + item.referenceMembers
        }
        try output.emit(
            Document(
                global.effect(list.isEmpty ? .none : .delete), ["keychain": keychain.name, "removed": list]),
            sentence: "")
    }

    /// The names of the items that were removed before an error, for its details.
    private func details(of removed: [Item]) -> [String: String] {
        removed.isEmpty ? [:] : ["removed": removed.map(title).joined(separator: "\n")]
    }

    /// Removes the items after a question for each, and records which were removed and which were kept.
    private func remove(
        _ items: [Item], in keychain: Keychain, _ output: Output, _ removed: inout [Item], _ kept: inout [String]
    ) throws {
        for item in items {
            let account = item.userText.isEmpty ? "" : " of \"\(TerminalSafe.text(item.userText))\""
            let what = (noun.isEmpty ? "" : noun + " ") + "\"\(TerminalSafe.text(title(item)))\"\(account)"
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
            do {
                try protection.release(item, in: keychain)
                try keychain.delete(Criteria(reference))
            } catch let error as KeychainError where ifExists && error.code == .itemNotFound {
                try output.say("Nothing to do: \(what) is gone from \"\(keychain.name)\" already.")
                continue
            }
            removed.append(item)
            try Output.afterChange { try output.say("Removed \(what) from \"\(keychain.name)\".") }
        }
    }
}
