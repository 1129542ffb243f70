import ArgumentParser
import Foundation
import Keyfob
import KeyfobPrimitives

/// The password that a command works on.
///
/// NAME is the name that lists show: the service of a generic password, or the label of an internet password. If lists
/// show no item under that name, the server of an internet password or the label of a generic one matches too, except
/// for removal. When reading, generic passwords take precedence, so that adding a server never changes the meaning of a
/// name in a script.
struct PasswordChoice {
    /// The two kinds of passwords.
    enum Kind: String, CaseIterable, ExpressibleByArgument {
        case generic, internet
    }

    /// What happens to the item. More destructive uses need a less ambiguous name.
    enum Use {
        /// The item is read or copied.
        case reading
        /// The secret is replaced. Neither kind takes precedence if lists show the name for both.
        case replacing
        /// The item is removed. As for `replacing`, but only the name that lists show matches. Otherwise a repeated
        /// removal would remove an item that has the name as its server or label.
        case removing
    }

    /// The account; `nil` for any.
    var user: String?
    /// The kind; `nil` for either.
    var kind: Kind?
    /// The server of an internet password; `nil` for the name itself.
    var server: String?
    /// The protocol of an internet password, as a URL scheme.
    var scheme: String?
    /// The port of an internet password.
    var port: Int?
    /// The path of an internet password.
    var path: String?

    /// Whether an internet password is meant, by its kind or by an attribute that only internet passwords have.
    var isInternet: Bool {
        kind == .internet || (kind == nil && (server != nil || scheme != nil || port != nil || path != nil))
    }

    /// The options for this choice, each with a leading space, for commands that hints print.
    var words: String {
        let options: [(String, String?)] = [
            ("--user", user), ("--kind", kind?.rawValue), ("--server", server), ("--protocol", scheme),
            ("--port", port.map { String($0) }), ("--path", path),
        ]
        return options.map { name, value in value.map { " \(name)=\(ShellWord.quoted($0))" } ?? "" }.joined()
    }

    /// Refuses contradictory options.
    ///
    /// - Throws: `UsageError`.
    func check() throws {
        if kind == .generic, server != nil || scheme != nil || port != nil || path != nil {
            throw UsageError(
                "a generic password has no server, protocol, port or path.",
                hint: "Leave them out, or give --kind internet")
        }
        if let port, !(0...65535).contains(port) {
            throw UsageError("a port is a number from 0 to 65535.", hint: "Example: --port 443")
        }
        _ = try internetProtocol()
    }

    /// The protocol: a URL scheme, or Apple's four characters for a protocol without a known scheme.
    ///
    /// - Throws: `UsageError` if it is neither.
    func internetProtocol() throws -> InternetProtocol? {
        guard let scheme else { return nil }
        if let known = InternetProtocol(scheme: scheme) { return known }
        guard scheme.utf8.count == 4 else {
            throw UsageError(
                "unknown protocol \"\(TerminalSafe.text(scheme))\".",
                hint: "Use one of: http https ftp ftps ssh imap imaps smtp pop3 pop3s ldap ldaps smb")
        }
        return InternetProtocol(rawValue: scheme)
    }

    /// Creates the item to add.
    ///
    /// - Throws: `UsageError` for an unknown protocol, and for a name that is reserved for references or one-time
    ///   passwords, or that would not be stored.
    func newItem(_ name: String, label: String?, comment: String?) throws -> Item {
        try SecretSelection.requireNoReference(name)
        try SecretSelection.requireNoOneTimePassword(name)
        if isInternet, let server { try SecretSelection.requireOneName(name, server: server, label: label) }
        var item: Item
        if isInternet {
            item =
                InternetPassword(
                    server: server ?? name, account: user ?? "", protocol: try internetProtocol(), port: port,
                    path: path ?? "", label: label ?? name
                ).item
        } else {
            item = GenericPassword(service: name, account: user ?? "", label: label ?? name).item
        }
        if let comment { item.attributes[.comment] = .string(comment) }
        return item
    }

    /// Returns the items that a name matches: those that lists show under it, else those with this server, else those
    /// with this label.
    ///
    /// Reading a generic password takes one lookup in the vault's index. Everything else takes up to three more,
    /// because an item is known to be unique only after every attribute was checked.
    func find(_ name: String, for use: Use = .reading, in keychain: Keychain) throws -> [Item] {
        func items(_ itemClass: ItemClass, _ attribute: AttributeName, _ text: String) throws -> [Item] {
            try keychain.passwords(itemClass, having: attribute, text).filter(fits)
        }
        var listed = isInternet ? [] : try items(.genericPassword, .service, name)
        guard listed.isEmpty || use != .reading else { return listed }
        // If a server is given, its items are looked up below.
        if kind != .generic, server == nil { listed += try items(.internetPassword, .label, name) }
        let served = kind == .generic ? [] : try items(.internetPassword, .server, server ?? name)
        // Lists show the label of generic passwords without a service. An item whose service is `name` takes
        // precedence.
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

    /// Returns the one item that a name matches.
    ///
    /// - Throws: `KeychainError.itemNotFound` with the nearest name; `ambiguous` with the accounts.
    func one(_ name: String, for use: Use = .reading, in keychain: Keychain) throws -> Item {
        let all = try find(name, for: use, in: keychain)
        let found = use == .removing ? all.filter { $0.isNamed(name) } : all
        if let other = all.first, found.isEmpty { throw keychain.noSuchPassword(name, besides: other) }
        guard let item = found.first else { throw keychain.noSuchPassword(name, user: user) }
        guard found.count == 1 else { throw Self.ambiguity(name, found, in: keychain) }
        return item
    }

    /// The error for a name that several items have, with the attributes that distinguish them.
    static func ambiguity(_ name: String, _ found: [Item], in keychain: Keychain) -> KeychainError {
        guard Set(found.map(\.itemClass)).count == 1 else { return ambiguousKind(name, found, in: keychain) }
        let isInternet = found[0].itemClass == .internetPassword
        let areAccountsEnough = Set(found.map { Array($0.userText.utf8) }).count == found.count
        let all = found.map { item in
            if areAccountsEnough { return item.userText.isEmpty ? "(none)" : TerminalSafe.text(item.userText) }
            return TerminalSafe.text(isInternet ? item.addressText : item.nameText)
        }
        let list = all.prefix(10)
        let start = "\"\(TerminalSafe.text(name))\" matches \(found.count) items"
        let rest = list.joined(separator: ", ") + (found.count > 10 ? ", …" : "") + "."
        let options = isInternet ? ", --protocol, --port or --path" : ""
        return KeychainError(
            .ambiguous, areAccountsEnough ? "\(start); accounts: \(rest)" : "\(start): \(rest)",
            hint: areAccountsEnough || isInternet
                ? "Choose one: --user ACCOUNT, or --user \"\" for the one without an account\(options)"
                : "This is their label. Use the name of one, and --user ACCOUNT if several items have that name.",
            details: ["name": name, "keychain": keychain.name, "candidates": all.joined(separator: "\n")])
    }

    /// The error for a name that items of both kinds have.
    private static func ambiguousKind(_ name: String, _ found: [Item], in keychain: Keychain) -> KeychainError {
        let all = found.map { item in
            let place = item.itemClass == .internetPassword ? item.addressText : item.userText
            return TerminalSafe.text(place.isEmpty ? item.kindText : "\(item.kindText) \(place)")
        }
        let list = all.prefix(10).joined(separator: ", ") + (found.count > 10 ? ", …" : "")
        return KeychainError(
            .ambiguous, "\"\(TerminalSafe.text(name))\" matches \(found.count) items: \(list).",
            hint: "Choose one: --kind generic or --kind internet",
            details: ["name": name, "keychain": keychain.name, "candidates": all.joined(separator: "\n")])
    }

    /// Whether the item has the requested account, protocol, port and path.
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
    /// Returns the passwords of a class with the given attribute, including synchronizable ones.
    func passwords(_ itemClass: ItemClass, having name: AttributeName, _ value: String) throws -> [Item] {
        var criteria = Criteria(itemClass, [name: .string(value)])
        criteria.includesSynchronizable = true
        return try findItems(criteria)
    }

    /// Returns the stored item with the same primary key as `item`.
    func stored(like item: Item) throws -> Item? {
        let isGeneric = item.itemClass == .genericPassword
        let found = try passwords(
            item.itemClass, having: isGeneric ? .service : .server, item.text(isGeneric ? .service : .server))
        // Absent and empty are the same key, but the index distinguishes them.
        let names: [AttributeName] = [.account, .path, .securityDomain, .authenticationType, .protocol]
        return found.first { other in
            names.allSatisfy { other.hasText($0, item.text($0)) }
                && (other.attributes[.port]?.number ?? 0) == (item.attributes[.port]?.number ?? 0)
        }
    }

    /// The error for a name that no item has, with the nearest name among the first 2000 items.
    func noSuchPassword(_ name: String, user: String? = nil) -> KeychainError {
        let nearest = EditDistance.nearest(to: name, among: passwordNames(limit: 2000, within: .milliseconds(200)))
        var remedies = [Remedy("All items", .listItems)]
        if let nearest, !nearest.isIdentical(to: name) {
            remedies.insert(Remedy("Did you mean \"\(TerminalSafe.text(nearest))\"?"), at: 0)
        }
        // Errors of the search are ignored, because it only selects a hint.
        if let codes = try? passwords(.genericPassword, having: .service, OneTimePasswordItem.prefix + name),
            codes.contains(where: OneTimePasswordItem.isOne)
        {
            let command = Wording(keychain: self.name).keyfob("otp get " + ShellWord.operand(name))
            remedies.insert(Remedy("A one-time password has this name: \(command)"), at: 0)
        }
        let account = user.map { " of \"\(TerminalSafe.text($0))\"" } ?? ""
        return KeychainError(
            .itemNotFound, "no item \"\(TerminalSafe.text(name))\"\(account) in keychain \"\(self.name)\".",
            remedies: remedies,
            details: ["name": name, "keychain": self.name])
    }

    /// The error for a removal whose name is only the server or the label of an item.
    func noSuchPassword(_ name: String, besides item: Item) -> KeychainError {
        let error = noSuchPassword(name)
        let command = "rm " + item.words(and: item.userText.isEmpty ? " --user=''" : "")
        let place = item.itemClass == .internetPassword ? "server" : "label"
        let words = Wording(keychain: self.name).keyfob(command)
        return error.replacing(remedies: ["It is the \(place) of another item: \(words)"])
    }
}
