import ArgumentParser
import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11

/// The name with which a user selects a certificate, key or identity.
///
/// The forms are tried in this order, and the first form with a match decides: PKCS#11 URI, exact label, fingerprint
/// (with `sha256:` or `sha1:` also a prefix), common name of the certificate.
struct ItemName: ExpressibleByArgument {
    let text: String
    /// Whether common names match.
    private var isByCommonName = true

    init(_ text: String) { self.text = text }

    /// The same name without matching common names, for commands that remove objects.
    ///
    /// Otherwise the same command, run again, would remove the next object with that common name and its key, until
    /// none is left.
    var own: ItemName {
        var name = self
        name.isByCommonName = false
        return name
    }

    static var defaultCompletionKind: CompletionKind { NameCompletion.objects }

    init?(argument: String) {
        guard !argument.isEmpty else { return nil }
        text = argument
    }

    /// Returns the item that matches; the first one if one certificate or key is several items.
    ///
    /// - Throws: `KeychainError.itemNotFound` with a suggestion, `ambiguous` with all matches, `invalidArgument` for an
    ///   invalid URI; `UsageError` for a PIN in the URI.
    func resolve<Item: SelectableItem>(among items: [Item], in keychain: Keychain) throws -> Item {
        try resolveAll(among: items, in: keychain)[0]
    }

    /// Returns the items that match, all of one certificate or key. In several access groups, that is several items.
    ///
    /// - Returns: At least one item.
    /// - Throws: `KeychainError.itemNotFound` with a suggestion, `ambiguous` with all matches, `invalidArgument` for an
    ///   invalid URI; `UsageError` for a PIN in the URI.
    func resolveAll<Item: SelectableItem>(among items: [Item], in keychain: Keychain) throws -> [Item] {
        let found = try matches(among: items, keychain)
        guard let first = found.first else { throw notFound(items.compactMap(\.label), Item.kind, keychain) }
        let first256 = try first.fingerprints(in: keychain).first { $0.algorithm == "sha256" }?.hexadecimal
        let isOne = try found.dropFirst().allSatisfy { item in
            try first256 != nil && item.fingerprints(in: keychain).contains { $0.hexadecimal == first256 }
        }
        guard isOne else {
            let names = try found.map { item in
                let label = item.label ?? ""
                // Items with equal labels are shown with a fingerprint or URI.
                let isUnique = found.filter { $0.label?.isIdentical(to: label) ?? false }.count == 1
                return isUnique ? label : "\(label) (\(try Self.distinction(of: item, keychain)))"
            }
            // If all items have the same label, a longer name does not help.
            let isOneName = found.allSatisfy { ($0.label ?? "").isIdentical(to: first.label ?? "") }
            let example = try Self.distinction(of: first, keychain)
            throw KeychainError(
                .ambiguous,
                "\"\(text)\" matches \(found.count) \(Item.kind.plural): "
                    + "\(names.prefix(8).joined(separator: ", "))\(found.count > 8 ? ", …" : "").",
                hint: "Use \(isOneName ? "" : "the full name, ")a fingerprint or a URI: \(ShellWord.quoted(example))",
                details: ["name": text, "candidates": names.map(TerminalSafe.text).joined(separator: "\n")])
        }
        return found
    }

    private func matches<Item: SelectableItem>(among items: [Item], _ keychain: Keychain) throws -> [Item] {
        if let uri = try uri() { return try items.filter { try keychain.objects.matches(uri, $0) } }
        let labelled = items.filter { $0.label?.isIdentical(to: text) ?? false }
        guard labelled.isEmpty else { return labelled }
        if let wanted = Fingerprint(text, shortest: 4) {
            let found = try items.filter { item in
                try item.fingerprints(in: keychain).contains { $0.begins(as: wanted) }
            }
            guard found.isEmpty else { return found }
        }
        // All versions of an identity share a common name, which therefore means the current version.
        let named = try items.filter { try $0.commonName()?.isIdentical(to: text) ?? false }
        let current = named.filter { $0.nameOfVersion == nil }
        let meant = current.isEmpty ? named : current
        // For removal, a common name matches only items without a label.
        if !isByCommonName, let other = meant.lazy.compactMap(\.label).first(where: { !$0.isEmpty }) {
            let which = current.isEmpty ? "An earlier version" : "An item with another name"
            throw notFound([], Item.kind, keychain).replacing(remedies: [
                "\(which) has this common name: \"\(TerminalSafe.text(other))\""
            ])
        }
        return meant
    }

    /// The name as a URI; `nil` if it does not start like one.
    ///
    /// - Throws: `KeychainError` with code `invalidArgument` for a malformed URI; `UsageError` for a PIN in it.
    private func uri() throws -> PKCS11URI? {
        guard PKCS11URI.hasScheme(text) else { return nil }
        let uri: PKCS11URI
        do { uri = try PKCS11URI(text) } catch {
            throw KeychainError(
                .invalidArgument, "that is not a PKCS#11 URI (RFC 7512).", remedies: [Remedy("Get one", .showURI(nil))],
                cause: error)
        }
        guard !uri.hasPINValue else { throw UsageError.pinOnCommandLine }
        return uri
    }

    private func notFound(_ names: [String], _ noun: Kind, _ keychain: Keychain) -> KeychainError {
        let all = Remedy("All \(noun.plural)", noun.listing)
        let nearest = PKCS11URI.hasScheme(text) ? nil : EditDistance.nearest(to: text, among: names)
        return KeychainError(
            .itemNotFound, "no \(noun.singular) \"\(text)\" \(keychain.place).",
            remedies: (nearest.map { [Remedy("Did you mean \"\($0)\"?")] } ?? []) + [all],
            details: keychain.details(["name": text]))
    }

    /// The shortest text that distinguishes an item from others of its name: a fingerprint, or the URI if it has none.
    private static func distinction(of item: some SelectableItem, _ keychain: Keychain) throws -> String {
        let fingerprints = try item.fingerprints(in: keychain)
        guard fingerprints.isEmpty, item.item.isOnToken else { return short(fingerprints) }
        var uri = try keychain.objects.uri(of: item)
        uri.pinSource = nil
        return uri.description
    }

    private static func short(_ fingerprints: [Fingerprint]) -> String {
        fingerprints.first.map { "\($0.algorithm):\($0.hexadecimal.prefix(16))" } ?? "sha256:…"
    }
}

extension ItemName {
    /// Returns the matching identity.
    ///
    /// - Throws: `KeychainError.itemNotFound`, `ambiguous`, `invalidArgument`; `UsageError` for a PIN in the URI.
    func identity(in keychain: Keychain) throws -> Identity {
        try resolve(among: keychain.find(.identities), in: keychain)
    }

    /// Returns all items of the matching identity.
    ///
    /// - Throws: `KeychainError.itemNotFound`, `ambiguous`, `invalidArgument`; `UsageError` for a PIN in the URI.
    func identities(in keychain: Keychain) throws -> [Identity] {
        Self.distinct(try resolveAll(among: keychain.find(.identities), in: keychain))
    }

    /// Returns the items of a certificate that the name means, and its other items.
    ///
    /// The items with this label, or that match the URI, are meant. If there are none, for example because the name is
    /// a fingerprint, all are meant.
    ///
    /// - Throws: `KeychainError.itemNotFound` if the certificate is gone, and the errors of `find`.
    func certificates(
        of found: CertificateItem, in keychain: Keychain
    ) throws -> (meant: [CertificateItem], others: [CertificateItem]) {
        // Logs in, because items that were found without a login lack their rows in the vault.
        let all = try keychain.find(.certificates).filter { $0.der == found.der }
        guard !all.isEmpty else { throw KeychainError(.itemNotFound, "the certificate is gone.") }
        let uri = try uri()
        let named = try all.filter { item in
            if let uri { return try keychain.objects.matches(uri, item) }
            return item.label?.isIdentical(to: text) ?? false
        }
        guard !named.isEmpty else { return (Self.distinct(all), []) }
        return (Self.distinct(named), Self.distinct(all).filter { item in !named.contains { Self.isSame($0, item) } })
    }

    /// Returns the items without duplicates.
    ///
    /// An object that another tool has written twice is two items with one reference. Items with different labels are
    /// not duplicates.
    private static func distinct<Item: KeychainItem>(_ items: [Item]) -> [Item] {
        items.reduce(into: []) { distinct, item in
            if !distinct.contains(where: { isSame($0, item) }) { distinct.append(item) }
        }
    }

    private static func isSame<Item: KeychainItem>(_ one: Item, _ other: Item) -> Bool {
        one.reference == other.reference && (one.label ?? "").isIdentical(to: other.label ?? "")
    }

    /// Returns the matching certificate. Does not open the token if the index of the vault has the certificate.
    ///
    /// - Throws: `KeychainError.itemNotFound`, `ambiguous`, `invalidArgument`; `UsageError` for a PIN in the URI.
    func certificate(in keychain: Keychain) throws -> CertificateItem {
        // Labels are tried first, because other certificates need not be parsed then.
        let labelled = PKCS11URI.hasScheme(text) ? [] : try keychain.certificates.publicCertificates(label: text)
        guard labelled.isEmpty else { return try resolve(among: labelled, in: keychain) }
        do {
            return try resolve(among: keychain.certificates.publicCertificates(), in: keychain)
        } catch let error as KeychainError where error.code == .itemNotFound && !PKCS11URI.hasScheme(text) {
            // The token may show the certificate only after a login. If a login is impossible, the first error is
            // thrown.
            let all = (try? keychain.find(.certificates)) ?? []
            guard !all.isEmpty else { throw error }
            return try resolve(among: all, in: keychain)
        }
    }

    /// Returns the matching private or secret key; a public key only if there is no private one.
    ///
    /// The name of an identity selects its key, which may have another label after a renewal.
    ///
    /// - Throws: `KeychainError.itemNotFound`, `ambiguous`, `invalidArgument`; `UsageError` for a PIN in the URI.
    func key(in keychain: Keychain) throws -> KeyItem {
        guard try keychain.find(.identity(label: text)).isEmpty else { return try identity(in: keychain).key }
        return try resolve(among: Self.keys(in: keychain), in: keychain)
    }

    /// Returns all items of the matching key, for removal. The name of an identity does not match, because a key to be
    /// destroyed must be named itself.
    ///
    /// - Throws: `KeychainError.itemNotFound`, with the right command if an identity has the name; `ambiguous`,
    ///   `invalidArgument`. `UsageError` for a PIN in the URI.
    func keys(in keychain: Keychain) throws -> [KeyItem] {
        do {
            return try resolveAll(among: Self.keys(in: keychain), in: keychain)
        } catch let error as KeychainError where error.code == .itemNotFound {
            guard let identity = try keychain.find(.identity(label: text)).first else { throw error }
            let mark = Self.short(try identity.key.fingerprints(in: keychain))
            // An identity and its key item have the label of the certificate; this finds the key's own label.
            let hash = identity.key.publicKeyHash
            let object = hash == nil ? nil : try Self.keys(in: keychain).first { $0.publicKeyHash == hash }
            throw KeychainError(
                error.code,
                "no key is called \"\(text)\" on token \"\(keychain.tokenLabel)\"; the key of identity "
                    + "\"\(text)\" \(object?.label.map { "is called \"\($0)\"" } ?? "has no name") there.",
                remedies: [
                    Remedy("The identity's key", .removeKey(mark)),
                    Remedy("With its certificate", .removeIdentity(text)),
                ],
                details: error.details)
        }
    }

    /// Refuses to remove a key if the user may mean another one.
    ///
    /// An identity of this name may have a newer key; the key with this label then belongs to an earlier version. Or no
    /// list shows the label: a renewal made the key under this label, and now it belongs to an identity with another
    /// name.
    ///
    /// - Throws: `KeychainError.ambiguous`.
    func requireMeant(_ key: KeyItem, in keychain: Keychain) throws {
        let identities = try keychain.find(.identity(label: text))
        guard let identity = identities.first else { return try requireListed(key, in: keychain) }
        guard !identities.contains(where: { $0.key.publicKeyHash == key.publicKeyHash }) else { return }
        let names = try [identity.key, key].map { Self.short(try $0.fingerprints(in: keychain)) }
        throw KeychainError(
            .ambiguous, "identity \"\(text)\" now has another key than the one with its name.",
            remedies: [
                Remedy("The current key", .removeKey(names[0])), Remedy("The earlier key", .removeKey(names[1])),
            ],
            details: ["name": text])
    }

    private func requireListed(_ key: KeyItem, in keychain: Keychain) throws {
        guard let label = key.label, label.isIdentical(to: text),
            let name = try ListedKeys(in: keychain).named(key).label, !name.isIdentical(to: label)
        else { return }
        let mark = Self.short(try key.fingerprints(in: keychain))
        throw KeychainError(
            .ambiguous, "key \"\(text)\" now belongs to identity \"\(name)\".",
            remedies: [Remedy("To remove it", .removeKey(mark))], details: ["name": text])
    }

    /// The keys of a keychain with their labels on the token. A pair is represented by its private key.
    static func keys(in keychain: Keychain) throws -> [KeyItem] {
        let all = try keychain.find(.keys)
        let privateIDs = Set(all.filter { $0.keyClass == .private }.compactMap(\.publicKeyHash))
        return all.filter { key in
            key.keyClass != .public || !(key.publicKeyHash.map(privateIDs.contains) ?? false)
        }
    }
}
