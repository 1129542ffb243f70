import ArgumentParser
import Foundation
import Keyfob
import KeyfobPrimitives

/// Which password a command is about.
///
/// NAME is what lists show: the service of a generic password, or the label of an internet password. Only where they
/// show it for none, the server of an internet password or the label of a generic one will do, for what is not removed.
/// Of what is read, generic passwords go first, so that a name that scripts use never changes its meaning when a server
/// is added.
struct PasswordChoice {
    /// The two kinds of passwords.
    enum Kind: String, CaseIterable, ExpressibleByArgument {
        case generic, internet
    }

    /// What becomes of the item. The less of it is left, the more plainly a name has to say which.
    enum Use {
        /// It is read, or copied.
        case reading
        /// Its secret gives way to another: neither kind goes first where lists show the name for both.
        case replacing
        /// It goes. As for `replacing`, and nothing but what lists show is its name: the same removal, run once more,
        /// would remove what happens to have that for a server or a label.
        case removing
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

    /// The items that a name stands for: those that lists show under it, and only where there is none, those that have
    /// it for their server, or else for their label.
    ///
    /// One probe of the vault's index for a generic password that is read. Up to three more for all else: that an item
    /// is the only one of its name is known only when every place is looked at where a name may stand.
    func find(_ name: String, for use: Use = .reading, in keychain: Keychain) throws -> [Item] {
        func items(_ itemClass: ItemClass, _ attribute: AttributeName, _ text: String) throws -> [Item] {
            try keychain.passwords(itemClass, having: attribute, text).filter(fits)
        }
        var listed = isInternet ? [] : try items(.genericPassword, .service, name)
        guard listed.isEmpty || use != .reading else { return listed }
        // Of a server that is given, all are looked at below.
        if kind != .generic, server == nil { listed += try items(.internetPassword, .label, name) }
        let served = kind == .generic ? [] : try items(.internetPassword, .server, server ?? name)
        // Lists show the label of those that have no service; they give way to one whose service it is.
        let isService = listed.contains { $0.itemClass == .genericPassword }
        let labelled = isInternet || isService ? [] : try items(.genericPassword, .label, name)
        let known = Set(listed.map(\.reference))
        listed += (served + labelled).filter { $0.isNamed(name) && !known.contains($0.reference) }
        if use == .reading, listed.contains(where: { $0.itemClass == .genericPassword }) {
            listed.removeAll { $0.itemClass != .genericPassword }
        }
        guard listed.isEmpty else { return listed }
        let others = served.filter { $0.hasText(.server, name) }
        return others.isEmpty ? labelled : others
    }

    /// The one item that a name stands for.
    ///
    /// - Throws: `KeychainError`; `itemNotFound` with the nearest name, `ambiguous` with the accounts.
    func one(_ name: String, for use: Use = .reading, in keychain: Keychain) throws -> Item {
        let all = try find(name, for: use, in: keychain)
        let found = use == .removing ? all.filter { $0.isNamed(name) } : all
        if let other = all.first, found.isEmpty { throw keychain.noSuchPassword(name, besides: other) }
        guard let item = found.first else { throw keychain.noSuchPassword(name, user: user) }
        guard found.count == 1 else { throw Self.ambiguity(name, found, in: keychain) }
        return item
    }

    /// The error for a name that several items have, with what tells them from each other.
    static func ambiguity(_ name: String, _ found: [Item], in keychain: Keychain) -> KeychainError {
        guard Set(found.map(\.itemClass)).count == 1 else { return ambiguousKind(name, found, in: keychain) }
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

    /// The error for a name that items of both kinds have.
    private static func ambiguousKind(_ name: String, _ found: [Item], in keychain: Keychain) -> KeychainError {
        let all = found.map { item in
            let place = item.itemClass == .internetPassword ? item.addressText : item.userText
            return Visible.text(place.isEmpty ? item.kindText : "\(item.kindText) \(place)")
        }
        let list = all.prefix(10).joined(separator: ", ") + (found.count > 10 ? ", …" : "")
        return KeychainError(
            .ambiguous, "\"\(Visible.text(name))\" matches \(found.count) items: \(list).",
            hint: "Say which: --kind generic or --kind internet",
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

    /// The error for a name that is no more than the server or the label of an item, where that is not enough.
    func noSuchPassword(_ name: String, besides item: Item) -> KeychainError {
        let error = noSuchPassword(name)
        let place = item.itemClass == .internetPassword ? "server" : "label"
        return KeychainError(
            error.code, error.message, hint: "It is the \(place) of another one: keyfob rm "
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
            try forEachPassword(of: [.genericPassword, .internetPassword], damaged: { _ in }) { take($0) }
        } catch {
            // What has been found is all that can be offered.
            return names.sorted()
        }
        return names.sorted()
    }
}
