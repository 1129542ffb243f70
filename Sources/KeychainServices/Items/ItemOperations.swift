import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL

/// The four SecItem functions on one keychain, in a set of access groups.
///
/// This layer only translates. `Keyfob` decides what matches, what is a duplicate and what an item consists of.
struct ItemOperations {
    let keychain: Keychain
    let groups: AccessGroups

    /// Returns the operations on the keychain and in the access groups of the process.
    ///
    /// - Throws: `StatusError`, `KeychainError`.
    static func current() throws -> ItemOperations {
        let selection = try KeychainSelection.current()
        return ItemOperations(keychain: selection.keychain, groups: selection.accessGroups)
    }

    // MARK: CopyMatching

    /// Finds items.
    ///
    /// - Throws: `StatusError`, `KeychainError`.
    func copyMatching(_ query: NSDictionary) throws -> CallResult {
        let request = try ItemRequest(parsing: query, for: .search)
        try checkGroup(request.attributes, isWriting: false)
        if request.filters?.refusesAll(of: request.itemClass) ?? false { throw StatusError(errSecItemNotFound) }
        if let first = try firstPassword(request) {
            guard case .found(let item, let secret) = first else { throw StatusError(errSecItemNotFound) }
            if secret != nil, item.givesOutConstrainedData { try keychain.confirmPresence() }
            let results = ItemResults(keychain: keychain, request: request)
            return .value(try results.result(item, data: item.opened(secret, with: request.credential)?.copyData()))
        }
        let isForOne = request.limit ?? .one == .one
        var found = try results(of: candidates(request), request)
        // A damaged item counts as absent. If the only candidate is damaged, another match is returned.
        if found.isEmpty, isForOne, request.opensItems {
            found = try results(of: candidates(request, isLimited: false), request)
        }
        guard let first = found.first else { throw StatusError(errSecItemNotFound) }
        return .value(isForOne ? first : NSArray(array: found.compactMap { $0 }))
    }

    /// Returns the results for items, up to the limit.
    ///
    /// Items beyond the limit are not read: they could fail or require user confirmation.
    private func results(of items: [Item], _ request: ItemRequest) throws -> [AnyObject?] {
        let results = ItemResults(keychain: keychain, request: request)
        let limit = (request.limit ?? .one).count
        var found: [AnyObject?] = []
        var isConfirmed = false
        for item in items where found.count != limit {
            guard try passesOwnFilters(item, request) else { continue }
            // One confirmation covers all items of a call.
            if !isConfirmed, request.givesOut(item), item.givesOutConstrainedData {
                try keychain.confirmPresence()
                isConfirmed = true
            }
            guard let result = try results.undamaged(item) else { continue }
            if limit == 1 { return [result.value] }
            found.append(result.value)
        }
        return found
    }

    /// Returns the password of a request for a single secret, in one database read; `nil` for other requests and if
    /// that item is damaged.
    private func firstPassword(_ request: ItemRequest) throws -> VaultRows.FirstPassword? {
        guard request.returns.contains(.data), request.limit ?? .one == .one, !request.itemClass.livesOnToken,
            !request.isOldReference, !request.namesSyncRecord, !request.hasOwnFilters
        else { return nil }
        var criteria = try criteria(request)
        try request.filters?.apply(to: &criteria)
        let first = try keychain.vaultRows.firstPassword(coerced: criteria)
        if case .damaged = first { return nil }
        return first
    }

    /// Returns the items that match, before the filters that a Keyfob search does not support.
    ///
    /// The limit is applied only if no item can be dropped afterwards.
    private func candidates(_ request: ItemRequest, isLimited: Bool = true) throws -> [Item] {
        guard !request.isOldReference, !request.namesSyncRecord, request.limit != MatchLimit.none else { return [] }
        var criteria = try criteria(request)
        try request.filters?.apply(to: &criteria)
        if isLimited, !request.hasOwnFilters { criteria.limit = request.earlyLimit }
        return try request.itemClass.livesOnToken
            ? keychain.findItems(criteria) : keychain.vaultRows.findRows(criteria)
    }

    /// Whether an item passes the filters that a Keyfob search does not support.
    ///
    /// - Throws: `StatusError` (`errSecInteractionNotAllowed`) if the item requires user interaction and the call
    ///   forbids it.
    private func passesOwnFilters(_ item: Item, _ request: ItemRequest) throws -> Bool {
        if let listed = request.filters?.items, !listed.contains(where: { item.isNamed(by: $0) }) { return false }
        guard try hasDigest(item, request) else { return false }
        guard request.authenticationUI != .allow, request.asksSomebody(for: item) else { return true }
        if request.authenticationUI == .skip { return false }
        throw StatusError(
                errSecInteractionNotAllowed, "the item asks for the user's confirmation, and asking is not allowed")
    }

    /// Whether an item has the digest that a request names, if it names one.
    private func hasDigest(_ item: Item, _ request: ItemRequest) throws -> Bool {
        guard let digest = request.digest else { return true }
        do { return try ItemResults(keychain: keychain, request: request).digest(of: item) == digest } catch
            let error as KeychainError where [.vaultDamaged, .itemNotFound, .passphraseIncorrect].contains(error.code)
        {
            // No caller can have obtained the digest of data that cannot be read.
            return false
        } catch let error as StatusError where error.status == errSecAuthFailed { return false }
    }

    // MARK: Update

    /// Changes items.
    ///
    /// - Throws: `StatusError`, `KeychainError`.
    func update(_ query: NSDictionary, _ changes: NSDictionary) throws {
        let request = try ItemRequest(parsing: query, for: .update)
        try checkGroup(request.attributes, isWriting: true)
        try checkNotEmpty()
        for request in try individually(request) {
            if request.itemClass == .identity {
                try updateIdentities(request, query, changes)
            } else {
                try update(request, ItemChanges(parsing: changes, of: request.itemClass))
            }
        }
    }

    /// Changes the items that a request names.
    ///
    /// - Throws: `StatusError`, `KeychainError`.
    func update(_ request: ItemRequest, _ changes: ItemChanges) throws {
        try checkGroup(changes.attributes, isWriting: true)
        try checkToken(changes, of: request)
        guard !request.isOldReference, !request.namesSyncRecord else { throw StatusError(errSecItemNotFound) }
        for var criteria in try criteriaForChange(request) {
            criteria.services?.check = changes.check
            guard changes.data == nil || !request.itemClass.livesOnToken else {
                try replace(criteria, changes)
                continue
            }
            guard request.itemClass.livesOnToken else {
                try updatePasswords(criteria, request, changes)
                continue
            }
            try refusingProtection(changes) {
                try keychain.update(criteria, changes.attributes, removing: changes.removed, secret: changes.data)
            }
        }
    }

    /// Checks that items may move to the token that the changes name, or that all of them already have that value.
    private func checkToken(_ changes: ItemChanges, of request: ItemRequest) throws {
        do { try checkToken(changes.attributes) } catch {
            let found = try candidates(request, isLimited: false)
            let token = changes.attributes[.tokenID]
            guard !found.isEmpty, found.allSatisfy({ $0.attributes[.tokenID] == token }) else { throw error }
        }
    }

    static let protection: Set<AttributeName> = [
        .isSensitive, .wasAlwaysSensitive, .isExtractable, .wasNeverExtractable,
    ]

    /// Runs a change, and reports -25309 if it tries to set a protection attribute of a token object.
    func refusingProtection(_ changes: ItemChanges, _ change: () throws -> Void) throws {
        do { try change() } catch let error as KeychainError where error.code == .refused {
            // A vault that is not writable is also refused, with the code of SQLite; that error passes through.
            guard error.details["sqlite"] == nil,
                changes.attributes.names.contains(where: { Self.protection.contains($0) })
            else { throw error }
            throw StatusError(errSecReadOnlyAttr, "whether a key is protected, its token decides")
        }
    }

    /// Gives certificates or keys new data, all or none. On the token this replaces the object.
    private func replace(_ criteria: Criteria, _ changes: ItemChanges) throws {
        let items = try checkedItems(criteria)
        guard !items.isEmpty, let data = changes.data else { throw StatusError(errSecItemNotFound) }
        // The new object determines its own protection attributes.
        var kept = changes.attributes
        for name in Self.protection where items.contains(where: \.isOnToken) { kept[name] = nil }
        let replacements = items.map { item in
            guard item.isOnToken else { return (item: item, replacement: Replacement.secret(data)) }
            var attributes = item.attributes
            attributes.merge(changes.attributes)
            return (item: item, replacement: KeyMaterial.replacement(data, item.itemClass, attributes))
        }
        // If the token already holds the new object, only the attributes change.
        if replacements.allSatisfy({ keychain.vaultRows.isHeld($0.replacement, by: $0.item) }) {
            try keychain.update(criteria, kept, removing: changes.removed)
            return
        }
        try keychain.vaultRows.replace(replacements, changes: kept, removing: changes.removed)
    }

    /// Returns the items of a change after the check of the change has passed for each.
    func checkedItems(_ criteria: Criteria) throws -> [Item] {
        let items = try keychain.findItems(criteria)
        if let check = criteria.services?.check { for item in items { try check(item) } }
        return items
    }

    // MARK: Delete

    /// Removes items.
    ///
    /// - Throws: `StatusError`, `KeychainError`.
    func delete(_ query: NSDictionary) throws {
        let request = try ItemRequest(parsing: query, for: .delete)
        try checkGroup(request.attributes, isWriting: true)
        try checkNotEmpty()
        for request in try individually(request) {
            if request.itemClass == .identity { try deleteIdentities(request, query) } else { try delete(request) }
        }
    }

    /// Removes the items that a request names.
    ///
    /// - Throws: `StatusError`, `KeychainError`.
    func delete(_ request: ItemRequest) throws {
        guard !request.isOldReference, !request.namesSyncRecord else { throw StatusError(errSecItemNotFound) }
        for criteria in try criteriaForChange(request) { try keychain.delete(criteria) }
    }

    // MARK: Queries

    /// Returns the search that a request describes, without its filters and its limit.
    func criteria(_ request: ItemRequest) throws -> Criteria {
        var criteria = Criteria(request.itemClass)
        switch request.reference {
        case .key(let key): criteria.attributes = searchAttributes(of: key)
        case .certificate(let certificate): criteria.attributes = searchAttributes(of: certificate)
        case .identity(let identity): criteria.attributes = searchAttributes(of: identity.certificate)
        case nil: break
        }
        criteria.attributes.merge(request.attributes)
        criteria.reference = request.persistentReference
        criteria.includesSynchronizable = request.matchesAnySynchronizable || request.persistentReference != nil
        criteria.accessGroups = groups.searched
        var rules = ServicesRules(defaults: Self.defaults(of: request.itemClass))
        rules.leavesTombstones = request.leavesTombstones
        if request.usesSystemKeychain { rules.user = Self.systemUser }
        if request.isBoundToProgram { rules.program = ProgramName.current }
        criteria.services = rules
        return criteria
    }

    /// Returns the requests of a change: the request itself, or one for each match of `kSecMatchItemList`.
    ///
    /// - Throws: `StatusError`; -25300 if no item of the list matches.
    private func individually(_ request: ItemRequest) throws -> [ItemRequest] {
        guard let list = request.filters?.items else { return [request] }
        let found = try candidates(request, isLimited: false)
            .filter { item in list.contains { item.isNamed(by: $0) } }
        // A certificate with two keys gives two identities with the same reference.
        var references: [PersistentReference] = []
        for reference in found.compactMap(\.reference) where !references.contains(reference) {
            references.append(reference)
        }
        if request.limit == .one { references = Array(references.prefix(1)) }
        guard !references.isEmpty else { throw StatusError(errSecItemNotFound) }
        return references.map { reference in
            var one = request
            one.filters = nil
            one.persistentReference = reference
            return one
        }
    }

    /// Returns the searches of a change: one, or one for each item if the request names a digest.
    private func criteriaForChange(_ request: ItemRequest) throws -> [Criteria] {
        let criteria = try criteria(request)
        guard request.digest != nil else { return [criteria] }
        let found = try candidates(request, isLimited: false).filter { try hasDigest($0, request) }
        guard !found.isEmpty else { throw StatusError(errSecItemNotFound) }
        return found.map { item in
            var own = criteria
            own.reference = item.reference
            return own
        }
    }

    /// The bytes of `kSecAttrMultiUser` that identify the system keychain.
    static let systemUser = Data("system keychain\0".utf8)

    /// Attributes that items of a class have by default.
    ///
    /// The command and the Swift API store no access group and no accessibility.
    static func defaults(of itemClass: ItemClass) -> ItemAttributes {
        itemClass == .certificate ? defaultsOfCertificates : otherDefaults
    }

    private static let defaultsOfCertificates: ItemAttributes = [
        .accessGroup: "", .accessible: "dk", .tombstone: 0, .systemBound: 0,
    ]
    private static let otherDefaults: ItemAttributes = [
        .accessGroup: "", .accessible: "ak", .tombstone: 0, .systemBound: 0,
    ]

    // MARK: Access

    /// Checks that the process may use the access group of a request.
    ///
    /// - Throws: `StatusError` with -34018 if not.
    func checkGroup(_ attributes: ItemAttributes, isWriting: Bool) throws(StatusError) {
        let group = attributes[.accessGroup]?.text
        // Every process may read the token group.
        if isWriting || group != AccessGroups.token { try checkNotEmpty() }
        guard let group else { return }
        guard isWriting ? groups.allowsWriting(group) : groups.allowsReading(group) else {
            throw StatusError(errSecMissingEntitlement, "the access group is not one of this process")
        }
    }

    /// Checks that the process has an access group.
    ///
    /// - Throws: `StatusError` with -34018 if not.
    func checkNotEmpty() throws(StatusError) {
        guard !groups.isEmpty else { throw StatusError(errSecMissingEntitlement, "there is no access group") }
    }

    /// Checks that an item is to be stored on the token of this keychain.
    ///
    /// - Throws: `StatusError` with -25300 for any other token.
    func checkToken(_ attributes: ItemAttributes) throws(StatusError) {
        guard let token = attributes[.tokenID]?.text, !token.isEmpty else { return }
        guard token.hasPrefix("com.apple.setoken") || token == keychain.tokenLabel else {
            throw StatusError(errSecItemNotFound, "there is no such token")
        }
    }
}

extension Item {
    /// Whether a reference of either kind names the item. An identity and each of its halves name one another.
    func isNamed(by object: AnyObject) -> Bool {
        switch object {
        case let data as NSData:
            // Malformed references match nothing.
            guard let reference = try? PersistentReference(Data(referencing: data)) else { return false }
            if reference == self.reference { return true }
            // An identity has the row of its certificate under its own class.
            let isOfCertificates = [reference.itemClass, itemClass].allSatisfy { $0 == .certificate || $0 == .identity }
            return isOfCertificates && reference.identity == self.reference?.identity
        case let certificate as SecCertificate: return certificateDER == certificate.certificate.der
        case let identity as SecIdentity:
            guard itemClass == .key else { return certificateDER == identity.certificate.certificate.der }
            return isNamed(by: identity.privateKey)
        case let key as SecKey:
            guard itemClass == .key || itemClass == .identity else { return false }
            // The attributes of an item made of bytes do not describe its key, and those of an identity may have been
            // changed.
            if let item = key.item, item.itemClass == itemClass, item.reference == reference { return true }
            return searchAttributes(of: key).allSatisfy { attributes[$0.name]?.matches($0.value) ?? false }
        default: return false
        }
    }

    /// Whether reading the item requires user presence.
    ///
    /// A private key that cannot leave its token has no data to read; it requires presence when it is used.
    fileprivate var givesOutConstrainedData: Bool {
        needsPresence && itemClass != .identity
            && !(isOnToken && isPrivateKey && attributes[.isExtractable]?.number == 0)
    }
}

extension ItemRequest {
    /// How many items a search must find; `nil` for all, because some may turn out to be damaged when they are read.
    fileprivate var earlyLimit: Int? {
        let limit = limit ?? .one
        return limit != .one && opensItems ? nil : limit.count
    }

    /// Whether the call reads the data or the key of an item, and may find it damaged.
    fileprivate var opensItems: Bool {
        returns.contains(.data) || returns.contains(.reference) && itemClass.livesOnToken
    }

    /// Whether the access control requires user presence, or a password that the call does not supply.
    fileprivate func asksSomebody(for item: Item) -> Bool {
        item.needsPresence || item.asksForPassword && credential == nil
    }

    /// Whether the call gives out the bytes of an item, as data or behind a reference in the memory of this process.
    fileprivate func givesOut(_ item: Item) -> Bool {
        returns.contains(.data) || returns.contains(.reference) && itemClass == .key && !item.isOnToken
    }
}
