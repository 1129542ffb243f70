import Foundation
import Keyfob
import KeyfobPrimitives
import OpenSSL

/// The four functions on one keychain, in some access groups (apple-secitem 2).
///
/// Translation only: what "matches", what is a duplicate and what an item is made of, `Keyfob` knows.
struct ItemOperations {
    let keychain: Keychain
    let groups: AccessGroups

    /// Those of the process.
    static func current() throws -> ItemOperations {
        let selection = try KeychainSelection.current()
        return ItemOperations(keychain: selection.keychain, groups: selection.accessGroups)
    }

    // MARK: CopyMatching

    /// SecItemCopyMatching. - Throws: `StatusError`, `KeychainError`.
    func copyMatching(_ query: NSDictionary) throws -> CallResult {
        let request = try ItemRequest(parsing: query, for: .search)
        try checkGroup(request.attributes, isWriting: false)
        let results = ItemResults(keychain: keychain, request: request)
        if let first = try firstPassword(request) {
            guard case .found(let item, let secret) = first else { throw StatusError(errSecItemNotFound) }
            if secret != nil, item.givesOutConstrainedData { try keychain.confirmPresence() }
            return .value(try results.result(item, data: request.opened(secret, of: item)?.copyData()))
        }
        let found = try find(request)
        guard !found.isEmpty else { throw StatusError(errSecItemNotFound) }
        // Once for a call, however many items it gives out.
        if found.contains(where: { request.givesOut($0) && $0.givesOutConstrainedData }) { try keychain.confirmPresence() }
        switch request.limit ?? .one {
        case .one:
            for item in found {
                guard let result = try results.undamaged(item) else { continue }
                return .value(result.value)
            }
            // With its data an item is found only if that is whole: the next one is as good.
            for item in request.returns.contains(.data) ? try find(request, isLimited: false) : [] {
                guard let result = try results.undamaged(item) else { continue }
                return .value(result.value)
            }
            throw StatusError(errSecItemNotFound)
        case .several(let count):
            let array = NSMutableArray()
            var matches = 0
            for item in found where matches != count {
                guard let result = try results.undamaged(item) else { continue }
                matches += 1
                if let value = result.value { array.add(value) }
            }
            guard matches > 0 else { throw StatusError(errSecItemNotFound) }
            return .value(NSArray(array: array))
        case .none:
            throw StatusError(errSecItemNotFound)
        }
    }

    /// The one password that is asked for with its data, in one look; `nil` where that does not answer the request.
    private func firstPassword(_ request: ItemRequest) throws -> Keychain.FirstPassword? {
        guard request.returns.contains(.data), request.limit ?? .one == .one, !request.itemClass.livesOnToken,
            !request.isOldReference, !request.namesSyncRecord, !request.hasOwnFilters
        else { return nil }
        var criteria = try criteria(request)
        try request.filters.apply(to: &criteria)
        let first = try keychain.firstPassword(coerced: criteria)
        if case .damaged = first { return nil }
        return first
    }

    /// The items that match, after all filters. The limit is applied where nothing can fall out afterwards.
    func find(_ request: ItemRequest, isLimited: Bool = true) throws -> [Item] {
        guard !request.isOldReference, !request.namesSyncRecord, request.limit != MatchLimit.none else { return [] }
        var criteria = try criteria(request)
        try request.filters.apply(to: &criteria)
        let hasOwnFilters = request.hasOwnFilters
        if !hasOwnFilters, isLimited {
            // Of several with their data, those that are damaged fall out afterwards.
            if !request.returns.contains(.data) { criteria.limit = (request.limit ?? .one).count }
            if request.limit ?? .one == .one { criteria.limit = 1 }
        }
        let items = try request.itemClass.livesOnToken
            ? keychain.findItems(criteria) : keychain.findPasswords(coerced: criteria)
        guard hasOwnFilters else { return items }
        return try items.filter { item in
            if let listed = request.filters.items, !listed.contains(where: { item.isNamed(by: $0) }) { return false }
            if let digest = request.digest {
                guard try ItemResults(keychain: keychain, request: request).digest(of: item) == digest else {
                    return false
                }
            }
            guard request.authenticationUI != .allow, item.needsPerson else { return true }
            if request.authenticationUI == .skip { return false }
            throw StatusError(errSecInteractionNotAllowed, "the item asks for a person, and nobody may be asked")
        }
    }

    // MARK: Update

    /// SecItemUpdate. - Throws: `StatusError`, `KeychainError`.
    func update(_ query: NSDictionary, _ changes: NSDictionary) throws {
        let request = try ItemRequest(parsing: query, for: .update)
        try checkGroup(request.attributes, isWriting: true)
        try checkNotEmpty()
        if request.itemClass == .identity { return try updateIdentities(request, query, changes) }
        let changes = try ItemChanges(parsing: changes, of: request.itemClass)
        try update(request, changes)
    }

    /// Changes the items that a request names. - Throws: As `update(_:_:)`.
    func update(_ request: ItemRequest, _ changes: ItemChanges) throws {
        try checkGroup(changes.attributes, isWriting: true)
        try checkToken(changes.attributes)
        guard !request.isOldReference, !request.namesSyncRecord else { throw StatusError(errSecItemNotFound) }
        for criteria in try criteriaForChange(request) {
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

    private static let protection: Set<AttributeName> = [
        .isSensitive, .wasAlwaysSensitive, .isExtractable, .wasNeverExtractable,
    ]

    /// Runs a change; -25309 where it says of an object that it is protected, which only its token can.
    func refusingProtection(_ changes: ItemChanges, _ change: () throws -> Void) throws {
        do { try change() } catch let error as KeychainError where error.code == .refused {
            guard changes.attributes.names.contains(where: { Self.protection.contains($0) }) else { throw error }
            throw StatusError(errSecReadOnlyAttr, "whether a key is protected, its token decides")
        }
    }

    /// Gives certificates or keys new data, all or none: on the token that is another object.
    private func replace(_ criteria: Criteria, _ changes: ItemChanges) throws {
        let items = try keychain.findItems(criteria)
        guard !items.isEmpty, let data = changes.data else { throw StatusError(errSecItemNotFound) }
        // How a new object is protected, it says itself.
        var kept = changes.attributes
        for name in Self.protection where items.contains(where: \.isOnToken) { kept[name] = nil }
        let replacements = items.map { item in
            guard item.isOnToken else { return (item: item, replacement: Replacement.secret(data)) }
            var attributes = item.attributes
            attributes.merge(changes.attributes)
            return (item: item, replacement: KeyMaterial.replacement(data, item.itemClass, attributes))
        }
        try keychain.replace(replacements, changes: kept, removing: changes.removed)
    }

    // MARK: Delete

    /// SecItemDelete. - Throws: `StatusError`, `KeychainError`.
    func delete(_ query: NSDictionary) throws {
        let request = try ItemRequest(parsing: query, for: .delete)
        try checkGroup(request.attributes, isWriting: true)
        try checkNotEmpty()
        if request.itemClass == .identity { return try deleteIdentities(request, query) }
        try delete(request)
    }

    /// Removes the items that a request names. - Throws: As `delete(_:)`.
    func delete(_ request: ItemRequest) throws {
        guard !request.isOldReference, !request.namesSyncRecord else { throw StatusError(errSecItemNotFound) }
        for criteria in try criteriaForChange(request) { try keychain.delete(criteria) }
    }

    // MARK: Queries

    /// The search that a request asks for, without its filters and its limit.
    func criteria(_ request: ItemRequest) throws -> Criteria {
        var attributes = ItemAttributes()
        switch request.reference {
        case .key(let key): attributes = searchAttributes(of: key)
        case .certificate(let certificate): attributes = searchAttributes(of: certificate)
        case .identity(let identity): attributes = searchAttributes(of: identity.certificate)
        case nil: break
        }
        attributes.merge(request.attributes)
        attributes[.multiUser] = .data(request.usesSystemKeychain ? Self.systemUser : Data())
        var criteria = Criteria(request.itemClass, attributes)
        criteria.reference = request.persistentReference
        criteria.includesSynchronizable = request.matchesAnySynchronizable || request.persistentReference != nil
        criteria.accessGroups = groups.searched
        var rules = ServicesRules(defaults: Self.defaults(of: request.itemClass))
        rules.leavesTombstones = request.leavesTombstones
        criteria.services = rules
        return criteria
    }

    /// The searches of a change: one, or one for each item where something is asked that no search knows.
    private func criteriaForChange(_ request: ItemRequest) throws -> [Criteria] {
        let criteria = try criteria(request)
        guard request.digest != nil else { return [criteria] }
        let found = try find(request)
        guard !found.isEmpty else { throw StatusError(errSecItemNotFound) }
        return found.map { item in
            var own = criteria
            own.reference = item.reference
            return own
        }
    }

    /// The bytes of `kSecAttrMultiUser` that stand for the system's keychain.
    static let systemUser = Data("system keychain\0".utf8)

    /// What items of a class count as having where nobody said anything: what the command and the Swift API store
    /// has no access group and no accessibility.
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

    /// Whether the access group that a request names may be used; -34018 otherwise.
    func checkGroup(_ attributes: ItemAttributes, isWriting: Bool) throws(StatusError) {
        if groups.isEmpty { try checkNotEmpty() }
        guard let group = attributes[.accessGroup]?.text else { return }
        guard isWriting ? groups.allowsWriting(group) : groups.allowsReading(group) else {
            throw StatusError(errSecMissingEntitlement, "the access group is not one of this process")
        }
    }

    /// Whether there is any access group to work in; -34018 otherwise.
    func checkNotEmpty() throws(StatusError) {
        guard !groups.isEmpty else { throw StatusError(errSecMissingEntitlement, "there is no access group") }
    }

    /// Whether the token that an item is to be on is this keychain's; -25300 for one that is not there.
    func checkToken(_ attributes: ItemAttributes) throws(StatusError) {
        guard let token = attributes[.tokenID]?.text, !token.isEmpty else { return }
        guard token.hasPrefix("com.apple.setoken") || token == keychain.tokenLabel else {
            throw StatusError(errSecItemNotFound, "there is no such token")
        }
    }
}

extension Item {
    /// Whether a reference of either kind names the item.
    func isNamed(by object: AnyObject) -> Bool {
        switch object {
        case let data as NSData:
            // What is no reference names nothing.
            guard let reference = try? PersistentReference(Data(referencing: data)) else { return false }
            return reference == self.reference
        case let certificate as SecCertificate: return certificateDER == certificate.certificate.der
        case let identity as SecIdentity: return certificateDER == identity.certificate.certificate.der
        case let key as SecKey:
            return itemClass == .key && searchAttributes(of: key).allSatisfy { attributes[$0.name]?.matches($0.value) ?? false }
        default: return false
        }
    }

    /// What its access control asks for.
    var constraints: SecAccessControlCreateFlags {
        attributes[.accessControl]?.bytes.flatMap { SecAccessControl(stored: $0) }?.flags ?? []
    }

    /// Whether its access control asks for a password of the application's.
    var asksForPassword: Bool { constraints.contains(.applicationPassword) }

    /// Whether its access control asks for anything before the item is used.
    var needsPerson: Bool { !constraints.isEmpty }

    /// Whether its access control asks for somebody to be there, before its data is read or its key is used.
    var needsPresence: Bool {
        !constraints.isDisjoint(with: [.userPresence, .biometryAny, .biometryCurrentSet, .devicePasscode, .companion])
    }

    /// Whether what would be read of it takes somebody to be there. A private key that cannot leave its token has nothing
    /// to read: its price is asked for when it is used.
    fileprivate var givesOutConstrainedData: Bool {
        needsPresence && itemClass != .identity
            && !(isOnToken && isPrivateKey && attributes[.isExtractable]?.number == 0)
    }
}

extension ItemRequest {
    /// Whether the call gives out the bytes of an item: as its data, or in this process's memory behind a reference.
    fileprivate func givesOut(_ item: Item) -> Bool {
        returns.contains(.data) || returns.contains(.reference) && itemClass == .key && !item.isOnToken
    }
}

/// The attributes by which a certificate is found again: all it brings along but its label.
func searchAttributes(of certificate: SecCertificate) -> ItemAttributes {
    var found = attributes(of: certificate)
    found[.label] = nil
    return found
}
