extension KeychainItem {
    /// Whether the item is protected: every removal of it fails with `refused`.
    ///
    /// The mark of an identity is that of its certificate.
    public var isProtected: Bool { attributes.isProtected }
}

extension ItemAttributes {
    /// Whether the item is protected.
    package var isProtected: Bool { self[.isProtectedItem]?.number ?? 0 != 0 }
}

extension Keychain {
    /// Protects an item, or ends its protection.
    ///
    /// - Throws: `KeychainError`; `itemNotFound` if it is gone, `invalidArgument` if it was never added, and the errors
    ///   of `unlock()`.
    @available(*, noasync, message: "call it from a thread of your own")
    package func setProtection(of item: Item, _ isProtected: Bool) throws {
        // The key of an identity has a row of its own, and other certificates may use it.
        guard let reference = item.certificateReference ?? item.reference else {
            throw KeychainError(.invalidArgument, "an item that was not added cannot be protected.")
        }
        let mark: ItemAttributes = isProtected ? [.isProtectedItem: .number(1)] : [:]
        try update(Criteria(reference), mark, removing: isProtected ? [] : [.isProtectedItem])
    }

    /// Refuses the removal of protected items.
    ///
    /// - Throws: `KeychainError` with code `refused`.
    package func requireUnprotected(_ items: [Item]) throws(KeychainError) {
        guard let item = items.first(where: { $0.attributes.isProtected }) else { return }
        throw protectionError(item.attributes)
    }

    /// The error for the removal of a protected item.
    func protectionError(_ attributes: ItemAttributes) -> KeychainError {
        let texts = [AttributeName.service, .label, .server].compactMap { attributes[$0]?.text }
        let name = texts.first { !$0.isEmpty } ?? ""
        return KeychainError(
            .refused, "\"\(name)\" is protected; nothing was removed.",
            remedies: [Remedy("If it is to be removed all the same", .change(.unprotecting))],
            details: ["keychain": self.name, "name": name])
    }
}
