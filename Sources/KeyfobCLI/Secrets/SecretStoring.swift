import ArgumentParser
import Foundation
import Keyfob
import KeyfobPrimitives

/// How to store a value under a name that may exist already.
struct SecretStoring: ParsableArguments {
    @Flag(
        help: """
            Replace the value if the item exists; its other attributes stay. Without --user, only one item may have the \
            name.
            """)
    var replace = false

    @Flag(help: "Do nothing if the item exists.")
    var ifMissing = false

    @Option(help: ArgumentHelp("The label; NAME by default.", valueName: "text"))
    var label: String?

    @Option(help: ArgumentHelp("A remark.", valueName: "text"))
    var comment: String?

    /// Refuses contradictory options.
    ///
    /// - Throws: `UsageError` for `--replace` with `--if-missing`.
    func check() throws {
        if replace, ifMissing {
            throw UsageError("--replace and --if-missing exclude each other.", hint: "Give one of the two.")
        }
    }

    /// Stores a value, which is read only if it is needed.
    ///
    /// A dry run reads and compares the value too, so that it reports the same result as the run.
    ///
    /// - Parameters:
    ///   - name: The name that the user typed.
    ///   - choice: The options that describe the item, if `--replace` takes the name for the one item that has it;
    ///     `nil` if the item is described in full.
    ///   - read: Reads the value; returns `nil` if a dry run would have to ask for it.
    /// - Returns: What was done, and the item afterwards.
    /// - Throws: `KeychainError.duplicateItem` if the item exists and neither option is set; `ambiguous` if the user
    ///   may mean another item than the one to be replaced; `timedOut` if other processes keep adding and removing the
    ///   item.
    func store(
        _ item: Item, called name: String, as choice: PasswordChoice? = nil, in keychain: Keychain, isDryRun: Bool,
        _ read: () throws -> SecretBytes?
    ) throws -> (action: Effect.Action, item: Item) {
        // Checked before the user is asked for the value.
        try keychain.requireSealing()
        var known: SecretBytes?
        // Repeated if another process adds or removes the item first, because the options apply to its item too.
        for _ in 0..<100 {
            var stored = try keychain.stored(like: item)
            if replace, let choice {
                stored = try Self.named(name, choice, besides: stored, item.itemClass, in: keychain)
            }
            if let stored {
                if ifMissing { return (.none, stored) }
                guard replace else { throw Self.duplicate(stored, keychain) }
                if !stored.isNamed(item.nameText) { try Self.requireNoOther(name, than: stored, in: keychain) }
            }
            guard let value = try known ?? read() else {
                guard let stored else { return (.create, item) }
                return (.update, described(stored))
            }
            known = value
            do {
                if let stored { return try update(stored, in: keychain, value, isDryRun: isDryRun) }
                if !isDryRun { _ = try keychain.add(item, secret: value) }
                return (.create, item)
            } catch let error as KeychainError where error.code == .duplicateItem || error.code == .itemNotFound {
                guard replace || ifMissing else { throw error }
            }
        }
        throw KeychainError(
            .timedOut, "other processes keep adding and removing \"\(TerminalSafe.text(item.nameText))\".",
            hint: "Try again when they are done.")
    }

    /// Returns the item that `--replace` replaces. Adding another one would make the name ambiguous.
    ///
    /// - Parameters:
    ///   - exact: The item with exactly the attributes that the options give.
    ///   - itemClass: The class of a new item. Items of the other class count only if there is none of this class.
    /// - Throws: `KeychainError.ambiguous` if several items have the name.
    private static func named(
        _ name: String, _ choice: PasswordChoice, besides exact: Item?, _ itemClass: ItemClass, in keychain: Keychain
    ) throws -> Item? {
        // A given account distinguishes the item from all others of that name.
        if let exact, choice.user != nil || !exact.isNamed(name) { return exact }
        var found = try choice.find(name, for: .replacing, in: keychain).filter { $0.isNamed(name) }
        let ofClass = found.filter { $0.itemClass == itemClass }
        if !ofClass.isEmpty { found = ofClass }
        guard found.count > 1 else { return found.first }
        throw PasswordChoice.ambiguity(name, found, in: keychain)
    }

    private func update(
        _ stored: Item, in keychain: Keychain, _ value: SecretBytes, isDryRun: Bool
    ) throws -> (action: Effect.Action, item: Item) {
        guard let reference = stored.reference else { return (.none, stored) }
        // A value that cannot be read, such as a damaged one, is replaced.
        if describes(stored), (try? keychain.secret(of: stored)) == value { return (.none, stored) }
        guard !isDryRun else { return (.update, described(stored)) }
        var changes = ItemAttributes()
        if let label { changes[.label] = .string(label) }
        if let comment { changes[.comment] = .string(comment) }
        try keychain.update(Criteria(reference), changes, secret: value)
        return (.update, described(stored))
    }

    /// Whether an item has the label and comment of the options.
    func describes(_ item: Item) -> Bool {
        (label.map { item.hasText(.label, $0) } ?? true) && (comment.map { item.hasText(.comment, $0) } ?? true)
    }

    /// Returns a stored item with the label and comment of the options, and otherwise the same attributes.
    func described(_ stored: Item) -> Item {
        var item = stored
        if let label { item.attributes[.label] = .string(label) }
        if let comment { item.attributes[.comment] = .string(comment) }
        return item
    }

    /// Refuses to replace an item that lists show under another name, if they show another password of the same account
    /// under `name`.
    ///
    /// This can happen because a name without a server also matches a server.
    ///
    /// - Throws: `KeychainError.ambiguous`.
    private static func requireNoOther(_ name: String, than stored: Item, in keychain: Keychain) throws {
        guard stored.itemClass == .internetPassword, !stored.isNamed(name) else { return }
        let choice = PasswordChoice(user: stored.userText, kind: .internet)
        guard let other = try choice.find(name, in: keychain).first(where: { $0.isNamed(name) }) else { return }
        let wording = Wording(keychain: keychain.name)
        throw KeychainError(
            .ambiguous,
            "\"\(TerminalSafe.text(name))\" is the name of one item, but the secret of another would be replaced, "
                + "\"\(TerminalSafe.text(stored.nameText))\"; nothing was stored.",
            remedies: [
                Remedy("Choose one: " + wording.keyfob("set " + other.words(and: " --replace"))),
                Remedy("Or: " + wording.keyfob("set " + stored.words(and: " --replace"))),
            ],
            details: ["name": name, "keychain": keychain.name])
    }

    private static func duplicate(_ stored: Item, _ keychain: Keychain) -> KeychainError {
        let age = stored.modified.map { " (updated \(Plural.relative($0, to: Date())))" } ?? ""
        let account = stored.userText.isEmpty ? "" : " of \"\(TerminalSafe.text(stored.userText))\""
        return KeychainError(
            .duplicateItem,
            "\"\(TerminalSafe.text(stored.nameText))\"\(account) already exists in keychain "
                + "\"\(keychain.name)\"\(age).",
            remedies: [Remedy("Replace it", .change(.replacing)), Remedy("Keep it", .change(.keeping))],
            details: ["keychain": keychain.name, "name": stored.nameText])
    }

    /// The document about what was done with an item, or would be done.
    ///
    /// The name is the one that lists show. For an internet password that is the label, which may differ from what was
    /// typed.
    ///
    /// - Parameters:
    ///   - further: More members.
    ///   - known: Members that have other values than these.
    static func document(
        _ effect: Effect, _ item: Item, _ keychain: Keychain, and further: Members = [:], replacing known: Members = [:]
    ) -> Document {
        let members: Members = [
            "name": item.nameText, "user": item.userText, "kind": item.kindText, "keychain": keychain.name,
        ]
        return Document(effect, members.replacing(known) + further)
    }

    /// Prints what was done.
    ///
    /// - Parameters:
    ///   - name: The name that the user typed.
    ///   - known: Members of the document that have other values than `document` gives them.
    static func report(
        _ effect: Effect, _ name: String, _ item: Item, _ keychain: Keychain, _ output: Output,
        replacing known: Members = [:]
    ) throws {
        let shown = TerminalSafe.text(name)
        let sentence =
            switch effect.action {
            case .create: effect.isDryRun ? "Would store \(shown) in" : "Stored \(shown) in"
            case .update: effect.isDryRun ? "Would replace \(shown) in" : "Replaced \(shown) in"
            case .delete: effect.isDryRun ? "Would remove \(shown) from" : "Removed \(shown) from"
            case .none: "Unchanged: \(shown) exists in"
            }
        try output.emit(
            document(effect, item, keychain, replacing: known), sentence: "\(sentence) \"\(keychain.name)\".")
    }
}
