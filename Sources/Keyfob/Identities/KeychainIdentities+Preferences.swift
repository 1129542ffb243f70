import Foundation

/// The identity or certificate that is preferred for a service or another use.
///
/// The preference is an attribute of the certificate's row: it is removed with the certificate, and moves to the next
/// version with the name.
extension KeychainIdentities {
    /// Prefers an identity for a service: a URL, a URL prefix, or a host. It replaces the preference of any other
    /// identity.
    ///
    /// `*.example.org` matches every host below `example.org`.
    ///
    /// - Returns: Whether the preference is new.
    /// - Throws: `KeychainError`; `invalidArgument` for a service that is empty or contains a line break or another
    ///   control character, `itemNotFound` if the identity is gone, and the errors of `unlock()`.
    @available(*, noasync, message: "use the asynchronous form")
    @discardableResult
    public func prefer(_ identity: Identity, for service: String) throws -> Bool {
        guard !service.isEmpty, !service.unicodeScalars.contains(where: TerminalSafe.isHidden),
            let reference = identity.reference
        else {
            throw KeychainError(.invalidArgument, "a service is a URL or a host, on one line.")
        }
        return try setPreferred(
            reference.retagged(.certificate), Preference(.identity, service), among: Criteria(.certificate))
    }

    /// Whether an identity, and no other one, has this preference.
    ///
    /// - Throws: `KeychainError`; the errors of `unlock()`, and of reading the token.
    @available(*, noasync, message: "call it from a thread of your own")
    package func isPreferred(_ identity: Identity, for service: String) throws -> Bool {
        _ = try keychain.vaultKeys()
        let wanted = Preference(.identity, service)
        let items = try keychain.findItems(Criteria(.certificate)).filter {
            $0.attributes.preferences.contains(wanted)
        }
        return !items.isEmpty && items.allSatisfy { $0.reference == identity.reference?.retagged(.certificate) }
    }

    /// The identity that is preferred for a service, by the closest match; `nil` if there is none.
    ///
    /// - Throws: `KeychainError`; the errors of `unlock()`, and of reading the token.
    @available(*, noasync, message: "use the asynchronous form")
    public func preferred(for service: String) throws -> Identity? {
        try preferred(Preference(.identity, service), among: Criteria(.identity)).map { Identity(item: $0) }
    }

    /// The identity that is preferred for a service.
    ///
    /// - Throws: `KeychainError`; the errors of `unlock()`, and of reading the token.
    public func preferred(for service: String) async throws -> Identity? {
        try await keychain.run { try self.preferred(for: service) }
    }

    /// The preferred item among those that match, by the closest match; `nil` if there is none.
    ///
    /// - Throws: `KeychainError`; the errors of `findItems(_:)` and of `unlock()`.
    @available(*, noasync, message: "call it from a thread of your own")
    package func preferred(_ wanted: Preference, among criteria: Criteria) throws -> Item? {
        try keychain.withDeadline { [self] in
            // Certificates are visible without a login, but their attributes are not; the result would be `nil`.
            _ = try keychain.vaultKeys()
            var best: (rank: Preference.Rank, item: Item)?
            for item in try keychain.findItems(criteria) {
                guard let rank = item.attributes.preferences.compactMap({ $0.rank(for: wanted) }).max(),
                    best.map({ $0.rank < rank }) ?? true
                else { continue }
                best = (rank, item)
            }
            return best?.item
        }
    }

    /// Prefers one certificate, or the identity that it is part of, or none.
    ///
    /// Uses one transaction of the vault; the token and the dates of the items are not changed.
    ///
    /// - Parameters:
    ///   - reference: The certificate; `nil` for none. If the preference has no usages, `nil` removes the preferences
    ///     for all usages.
    ///   - criteria: The certificates that the caller may see; all others keep their preferences.
    /// - Throws: `KeychainError`; `itemNotFound` if the certificate is not among them, and the errors of `unlock()`.
    @available(*, noasync, message: "call it from a thread of your own")
    @discardableResult
    package func setPreferred(
        _ reference: PersistentReference?, _ preference: Preference, among criteria: Criteria
    ) throws -> Bool {
        try keychain.withDeadline { [self] in
            let keys = try keychain.vaultKeys()
            func isReplaced(_ other: Preference) -> Bool {
                guard other.itemClass == preference.itemClass, other.name == preference.name else { return false }
                return reference == nil && preference.usages.isEmpty || other.usages == preference.usages
            }
            var items: [Item] = []
            var isChanged = false
            try keychain.writer(keys).changeRows { _ in
                // Under the lock, since another process may be changing preferences too.
                items = try keychain.findItems(criteria)
                guard reference == nil || items.contains(where: { $0.reference == reference }) else {
                    throw KeychainError(.itemNotFound, "the certificate is not in keychain \"\(keychain.name)\".")
                }
            } commit: { writer in
                for item in items {
                    guard let object = item.object else { continue }
                    let others = item.attributes.preferences.filter { !isReplaced($0) }
                    let preferences = item.reference == reference ? others + [preference] : others
                    guard preferences != item.attributes.preferences else { continue }
                    try record(item, object, writer, keys) { $0.preferences = preferences }
                    isChanged = true
                }
            }
            return isChanged
        }
    }

    /// Changes the vault's attributes of a certificate on the token, within a change of the token.
    func record(
        _ item: Item, _ object: TokenObject, _ writer: any StoreWriter, _ keys: VaultKeys,
        change: (inout ItemAttributes) -> Void
    ) throws {
        guard item.isRecorded, let identity = item.reference?.identity,
            var row = try writer.row(identity: identity, withSecret: true)
        else {
            var attributes = ItemAttributes()
            attributes[.label] = object.nameWithoutRow
            change(&attributes)
            return try keychain.tokenItems.adopt(.certificate, object, attributes, writer, keys)
        }
        var (_, attributes) = try keys.openAttributes(row)
        change(&attributes)
        row.version += 1
        try keychain.tokenItems.sealItem(attributes, of: .certificate, object, into: &row, keys)
        try writer.update(row)
    }
}

extension Identity {
    /// The services for which the identity is preferred, for any use of its key.
    public var preferredServices: [String] {
        attributes.preferences.filter { $0.itemClass == .identity && $0.usages.isEmpty }.map(\.name)
    }
}
