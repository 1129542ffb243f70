import ArgumentParser
import Foundation
import Keyfob
import KeyfobPrimitives

/// What becomes of a value that is to be stored under a name that may be taken.
struct SecretStoring: ParsableArguments {
    @Flag(
        help: """
            Replace the value where the item exists; its other attributes stay. Without --user it is the one item of that \
            name.
            """)
    var replace = false

    @Flag(help: "Do nothing where the item exists.")
    var ifMissing = false

    @Option(help: ArgumentHelp("The label; NAME where not given.", valueName: "text"))
    var label: String?

    @Option(help: ArgumentHelp("A remark.", valueName: "text"))
    var comment: String?

    /// What was done, or would be.
    enum Outcome: String {
        case added, replaced, kept
    }

    /// - Throws: `UsageError` where the two options contradict.
    func check() throws {
        if replace, ifMissing {
            throw UsageError("--replace and --if-missing exclude each other.", hint: "Give one of the two.")
        }
    }

    /// Stores a value, which is asked for only when it is needed. A dry run looks at it all the same: it is refused
    /// where the run would be, and has nothing to do where that would have.
    ///
    /// - Parameters:
    ///   - name: What a person calls the item.
    ///   - choice: What the options say of the item, where `--replace` takes a name for the one item that has it; `nil`
    ///     where the item is described in full.
    ///   - read: Reads the value; `nil` where a person would have to type it for a dry run.
    /// - Returns: What was done, and the item as it is then.
    /// - Throws: `KeychainError` with code `duplicateItem` where the item exists and nothing says what to do,
    ///   `ambiguous` where a person may well mean another one than that which would be replaced.
    func store(
        _ item: Item, called name: String, as choice: PasswordChoice? = nil, in keychain: Keychain, isDryRun: Bool,
        _ read: () throws -> SecretBytes?
    ) throws -> (outcome: Outcome, item: Item) {
        var known: SecretBytes?
        // Again where another process was faster: what was said about existing items holds for its item too.
        for _ in 0..<100 {
            var stored = try keychain.stored(like: item)
            if replace, let choice { stored = try Self.named(name, choice, besides: stored, item.itemClass, in: keychain) }
            if let stored {
                if ifMissing { return (.kept, stored) }
                guard replace else { throw Self.duplicate(stored, keychain) }
                if !stored.isNamed(item.nameText) { try Self.requireNoOther(name, than: stored, in: keychain) }
            }
            guard let value = try known ?? read() else {
                guard let stored else { return (.added, item) }
                return (.replaced, described(stored))
            }
            known = value
            do {
                if let stored { return try update(stored, in: keychain, value, isDryRun: isDryRun) }
                if !isDryRun { _ = try keychain.add(item, secret: value) }
                return (.added, item)
            } catch let error as KeychainError where error.code == .duplicateItem || error.code == .itemNotFound {
                guard replace || ifMissing else { throw error }
            }
        }
        throw KeychainError(
            .timedOut, "other processes keep adding and removing \"\(Visible.text(item.nameText))\".",
            hint: "Try again when they are done.")
    }

    /// The item that `--replace` means: another one would make the name ambiguous.
    ///
    /// - Parameters:
    ///   - exact: The item that has all that the options say, and nothing that they do not say.
    ///   - itemClass: The class of a new item; items of the other one count where there is none of this.
    /// - Throws: `KeychainError` with code `ambiguous` where several items have the name.
    private static func named(
        _ name: String, _ choice: PasswordChoice, besides exact: Item?, _ itemClass: ItemClass, in keychain: Keychain
    ) throws -> Item? {
        // An account that is given tells the item from all others of the name.
        if let exact, choice.user != nil || !exact.isNamed(name) { return exact }
        var found = try choice.find(name, for: .replacing, in: keychain).filter { $0.isNamed(name) }
        let ofClass = found.filter { $0.itemClass == itemClass }
        if !ofClass.isEmpty { found = ofClass }
        guard found.count > 1 else { return found.first }
        throw PasswordChoice.ambiguity(name, found, in: keychain)
    }

    private func update(
        _ stored: Item, in keychain: Keychain, _ value: SecretBytes, isDryRun: Bool
    ) throws -> (outcome: Outcome, item: Item) {
        guard let reference = stored.reference else { return (.kept, stored) }
        let isDescribed = (label.map { stored.hasText(.label, $0) } ?? true)
            && (comment.map { stored.hasText(.comment, $0) } ?? true)
        // What cannot be read, such as a damaged value, is replaced.
        if isDescribed, (try? keychain.secret(of: stored)) == value { return (.kept, stored) }
        guard !isDryRun else { return (.replaced, described(stored)) }
        var changes = ItemAttributes()
        if let label { changes[.label] = .string(label) }
        if let comment { changes[.comment] = .string(comment) }
        try keychain.update(Criteria(reference), changes, secret: value)
        return (.replaced, described(stored))
    }

    /// A stored item with what the options say of it; all else that describes it stays.
    private func described(_ stored: Item) -> Item {
        var item = stored
        if let label { item.attributes[.label] = .string(label) }
        if let comment { item.attributes[.comment] = .string(comment) }
        return item
    }

    /// Refuses to replace the secret of an item that lists show under another name, where they show another password of
    /// the account under this one: a name without a server is that of a server, too.
    private static func requireNoOther(_ name: String, than stored: Item, in keychain: Keychain) throws {
        guard stored.itemClass == .internetPassword, !stored.isNamed(name) else { return }
        let choice = PasswordChoice(user: stored.userText, kind: .internet)
        guard let other = try choice.find(name, in: keychain).first(where: { $0.isNamed(name) }) else { return }
        throw KeychainError(
            .ambiguous,
            "\"\(Visible.text(name))\" is the name of another item than \"\(Visible.text(stored.nameText))\", whose "
                + "secret would be replaced; nothing was stored.",
            hint: "Say which: keyfob set \(other.words(and: " --replace"))     "
                + "Or: keyfob set \(stored.words(and: " --replace"))",
            details: ["name": name, "keychain": keychain.name])
    }

    private static func duplicate(_ stored: Item, _ keychain: Keychain) -> KeychainError {
        let age = stored.modified.map { " (updated \(Phrases.relative($0, to: Date())))" } ?? ""
        let account = stored.userText.isEmpty ? "" : " of \"\(Visible.text(stored.userText))\""
        return KeychainError(
            .duplicateItem,
            "\"\(Visible.text(stored.nameText))\"\(account) already exists in keychain \"\(keychain.name)\"\(age).",
            hint: "Replace it: add --replace. Keep it quietly: --if-missing",
            details: ["keychain": keychain.name, "name": stored.nameText])
    }

    /// The members of a document about what was done with an item, or would be. Its name is the one that lists have and
    /// that finds it, which for the password of a server is the label: not always what was typed.
    static func members(
        _ outcome: Outcome, _ item: Item, _ keychain: Keychain, isDryRun: Bool
    ) -> [Value.Member] {
        [
            .init("name", .string(item.nameText)), .init("user", .string(item.userText)),
            .init("kind", .string(item.kindText)), .init("keychain", .string(keychain.name)),
            .init("action", .string(outcome.rawValue)), .init("changed", .boolean(outcome != .kept && !isDryRun)),
            .init("dry_run", .boolean(isDryRun)),
        ]
    }

    /// Prints what was done.
    ///
    /// - Parameter name: What a person has typed.
    static func report(
        _ outcome: Outcome, _ name: String, _ item: Item, _ keychain: Keychain, isDryRun: Bool, _ output: Output
    ) throws {
        let shown = Visible.text(name)
        let sentence =
            switch outcome {
            case .added: isDryRun ? "Would store \(shown) in" : "Stored \(shown) in"
            case .replaced: isDryRun ? "Would replace \(shown) in" : "Replaced \(shown) in"
            case .kept: "Unchanged: \(shown) exists in"
            }
        try output.emit(
            Document(members: members(outcome, item, keychain, isDryRun: isDryRun)),
            sentence: "\(sentence) \"\(keychain.name)\".")
    }
}
