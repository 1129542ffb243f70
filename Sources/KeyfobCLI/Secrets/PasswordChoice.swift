import ArgumentParser
import Foundation
import Keyfob
import KeyfobPrimitives

/// Which password a command is about.
///
/// NAME is the service of a generic password, or the label or server of an internet password. Generic
/// passwords go first, so that a name that scripts use never changes its meaning when a server is added.
struct PasswordChoice {
    /// The two kinds of passwords.
    enum Kind: String, CaseIterable, ExpressibleByArgument {
        case generic, internet
    }

    /// The account; `nil` for any.
    var user: String?
    /// The kind; `nil` for either.
    var kind: Kind?
    /// The server of an internet password; `nil` for the name itself.
    var server: String?
    /// Its protocol, as a URL has it.
    var scheme: String?
    /// Its port.
    var port: Int?
    /// Its path.
    var path: String?

    /// Whether an internet password is meant: said so, or by giving what only these have.
    var isInternet: Bool {
        kind == .internet || (kind == nil && (server != nil || scheme != nil || port != nil || path != nil))
    }

    /// What stands behind a name for this choice, each option with a space before it; for commands that hints print.
    var words: String {
        let options: [(String, String?)] = [
            ("--user", user), ("--kind", kind?.rawValue), ("--server", server), ("--protocol", scheme),
            ("--port", port.map { String($0) }), ("--path", path),
        ]
        return options.map { name, value in value.map { " \(name)=\(ShellWord.quoted($0))" } ?? "" }.joined()
    }

    /// The protocol: a URL scheme, or Apple's four characters for those without one here.
    func internetProtocol() throws -> InternetProtocol? {
        guard let scheme else { return nil }
        if let known = InternetProtocol(scheme: scheme) { return known }
        guard scheme.utf8.count == 4 else {
            throw UsageError(
                "\"\(Visible.text(scheme))\" is no protocol.",
                hint: "Use one of: http https ftp ftps ssh imap imaps smtp pop3 pop3s ldap ldaps smb")
        }
        return InternetProtocol(rawValue: scheme)
    }

    /// The items that a name stands for.
    ///
    /// One probe of the vault's index for a generic password; up to three more where there is none.
    func find(_ name: String, in keychain: Keychain) throws -> [Item] {
        if isInternet {
            let found = try keychain.passwords(.internetPassword, having: .server, server ?? name).filter(fits)
            guard found.isEmpty || server != nil else { return found }
            // With a server given, the name is the label or the server itself.
            let named = found.filter { $0.hasText(.label, name) || $0.hasText(.server, name) }
            return named.isEmpty && server == nil
                ? try keychain.passwords(.internetPassword, having: .label, name).filter(fits) : named
        }
        let places: [(ItemClass, AttributeName)] = [
            (.genericPassword, .service), (.internetPassword, .server), (.genericPassword, .label),
            (.internetPassword, .label),
        ]
        for (itemClass, attribute) in places where kind == nil || itemClass == .genericPassword {
            let found = try keychain.passwords(itemClass, having: attribute, name).filter(fits)
            if !found.isEmpty { return found }
        }
        return []
    }

    /// The one item that a name stands for.
    ///
    /// - Parameter isOwn: Whether a label beside the item's own name does not count: what removes would, run once more,
    ///   remove what happens to have that.
    /// - Throws: `KeychainError`; `itemNotFound` with the nearest name, `ambiguous` with the accounts.
    func one(_ name: String, isOwn: Bool = false, in keychain: Keychain) throws -> Item {
        let all = try find(name, in: keychain)
        let found = isOwn ? all.filter { $0.isNamed(name) } : all
        if let other = all.first, found.isEmpty { throw keychain.noSuchPassword(name, besides: other) }
        guard let item = found.first else { throw keychain.noSuchPassword(name, user: user) }
        guard found.count == 1 else { throw Self.ambiguity(name, found, in: keychain) }
        return item
    }

    /// The error for a name that several items have, with what tells them from each other.
    private static func ambiguity(_ name: String, _ found: [Item], in keychain: Keychain) -> KeychainError {
        let isInternet = found[0].itemClass == .internetPassword
        let areAccountsEnough = Set(found.map { Array($0.userText.utf8) }).count == found.count
        let all = found.map { item in
            if areAccountsEnough { return item.userText.isEmpty ? "(none)" : Visible.text(item.userText) }
            return Visible.text(isInternet ? item.addressText : item.nameText)
        }
        let list = all.prefix(10)
        let start = "\"\(Visible.text(name))\" matches \(found.count) items"
        let rest = list.joined(separator: ", ") + (found.count > 10 ? ", …" : "") + "."
        let options = isInternet ? ", --protocol, --port or --path" : ""
        return KeychainError(
            .ambiguous, areAccountsEnough ? "\(start); accounts: \(rest)" : "\(start): \(rest)",
            hint: areAccountsEnough || isInternet
                ? "Say which: --user ACCOUNT, or --user \"\" for the one without\(options)"
                : "It is their label. Use one's name, and --user ACCOUNT where that has several.",
            details: ["name": name, "keychain": keychain.name, "candidates": all.joined(separator: "\n")])
    }

    /// Whether account, protocol, port and path are those that were asked for.
    func fits(_ item: Item) -> Bool {
        if let user, !item.hasText(.account, user) { return false }
        if let scheme,
            (item.attributes[.protocol]?.text ?? "") != (InternetProtocol(scheme: scheme)?.rawValue ?? scheme)
        {
            return false
        }
        if let port, item.attributes[.port]?.number ?? 0 != Int64(port) { return false }
        if let path, !item.hasText(.path, path) { return false }
        return true
    }
}

extension Keychain {
    /// Passwords of a class with one attribute, synchronizable ones too.
    func passwords(_ itemClass: ItemClass, having name: AttributeName, _ value: String) throws -> [Item] {
        var criteria = Criteria(itemClass, [name: .string(value)])
        criteria.includesSynchronizable = true
        return try findItems(criteria)
    }

    /// The stored item with the same primary key as `item`.
    func stored(like item: Item) throws -> Item? {
        let isGeneric = item.itemClass == .genericPassword
        let found = try passwords(
            item.itemClass, having: isGeneric ? .service : .server, item.text(isGeneric ? .service : .server))
        // Absent and empty are the same key, which an index does not know.
        let names: [AttributeName] = [.account, .path, .securityDomain, .authenticationType, .protocol]
        return found.first { other in
            names.allSatisfy { other.hasText($0, item.text($0)) }
                && (other.attributes[.port]?.number ?? 0) == (item.attributes[.port]?.number ?? 0)
        }
    }

    /// The error for a name that nothing has, with the nearest name among the first items.
    func noSuchPassword(_ name: String, user: String? = nil) -> KeychainError {
        let nearest = Spelling.nearest(to: name, among: passwordNames(limit: 2000, within: .milliseconds(200)))
        var hint = "All items: keyfob ls"
        if let nearest, !nearest.isIdentical(to: name) {
            hint = "Did you mean \"\(Visible.text(nearest))\"? " + hint
        }
        let account = user.map { " of \"\(Visible.text($0))\"" } ?? ""
        return KeychainError(
            .itemNotFound, "no item \"\(Visible.text(name))\"\(account) in keychain \"\(self.name)\".", hint: hint,
            details: ["name": name, "keychain": self.name])
    }

    /// The error for a name that is no more than the label of an item, where that is not enough.
    func noSuchPassword(_ name: String, besides item: Item) -> KeychainError {
        let error = noSuchPassword(name)
        return KeychainError(
            error.code, error.message, hint: "It is the label of another one: keyfob rm "
                + item.words(and: item.userText.isEmpty ? " --user=''" : ""),
            details: error.details)
    }

    /// Names of passwords, each once, for guesses and completions: as many as there is time for.
    func passwordNames(prefix: String = "", limit: Int, within time: Duration) -> [String] {
        let end = ContinuousClock.now + time
        var names: Set<String> = []
        var seen = 0
        func take(_ item: Item) -> Bool {
            let name = item.nameText
            if name.utf8.starts(with: prefix.utf8) { names.insert(name) }
            seen += 1
            return seen < limit && ContinuousClock.now < end
        }
        do {
            try forEach(.genericPasswords, damaged: { _ in }) { take($0.item) }
            if seen < limit { try forEach(.internetPasswords, damaged: { _ in }) { take($0.item) } }
        } catch {
            // What has been found is all that can be offered.
            return names.sorted()
        }
        return names.sorted()
    }
}
