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
        if request.filters?.refusesAll(of: request.itemClass) ?? false { throw StatusError(errSecItemNotFound) }
        if let first = try firstPassword(request) {
            guard case .found(let item, let secret) = first else { throw StatusError(errSecItemNotFound) }
            if secret != nil, item.givesOutConstrainedData { try keychain.confirmPresence() }
            let results = ItemResults(keychain: keychain, request: request)
            return .value(try results.result(item, data: item.opened(secret, with: request.credential)?.copyData()))
        }
        let isForOne = request.limit ?? .one == .one
        var found = try results(of: candidates(request), request)
        // Where items are opened one is found only if it is whole: the next one is as good.
        if found.isEmpty, isForOne, request.opensItems {
            found = try results(of: candidates(request, isLimited: false), request)
        }
        guard let first = found.first else { throw StatusError(errSecItemNotFound) }
        return .value(isForOne ? first : NSArray(array: found.compactMap { $0 }))
    }

    /// What is given back of items, of no more than are asked for: an item that nobody wants any more is no reason to
    /// refuse the others, or to ask somebody.
    private func results(of items: [Item], _ request: ItemRequest) throws -> [AnyObject?] {
        let results = ItemResults(keychain: keychain, request: request)
        let limit = (request.limit ?? .one).count
        var found: [AnyObject?] = []
        var isConfirmed = false
        for item in items where found.count != limit {
            guard try passesOwnFilters(item, request) else { continue }
            // Once for a call, however many items it gives out.
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

    /// The one password that is asked for with its data, in one look; `nil` where that does not answer the request.
    private func firstPassword(_ request: ItemRequest) throws -> Keychain.FirstPassword? {
        guard request.returns.contains(.data), request.limit ?? .one == .one, !request.itemClass.livesOnToken,
            !request.isOldReference, !request.namesSyncRecord, !request.hasOwnFilters
        else { return nil }
        var criteria = try criteria(request)
        try request.filters?.apply(to: &criteria)
        let first = try keychain.firstPassword(coerced: criteria)
        if case .damaged = first { return nil }
        return first
    }

    /// The items that match, but for the filters that no search of Keyfob's knows. The limit is applied where nothing
    /// can fall out afterwards.
    private func candidates(_ request: ItemRequest, isLimited: Bool = true) throws -> [Item] {
        guard !request.isOldReference, !request.namesSyncRecord, request.limit != MatchLimit.none else { return [] }
        var criteria = try criteria(request)
        try request.filters?.apply(to: &criteria)
        if isLimited, !request.hasOwnFilters { criteria.limit = request.earlyLimit }
        return try request.itemClass.livesOnToken
            ? keychain.findItems(criteria) : keychain.findPasswords(coerced: criteria)
    }

    /// Whether an item passes the filters that no search of Keyfob's knows.
    ///
    /// - Throws: `StatusError` (`errSecInteractionNotAllowed`) where it asks for somebody whom nobody may ask.
    private func passesOwnFilters(_ item: Item, _ request: ItemRequest) throws -> Bool {
        if let listed = request.filters?.items, !listed.contains(where: { item.isNamed(by: $0) }) { return false }
        guard try hasDigest(item, request) else { return false }
        guard request.authenticationUI != .allow, request.asksSomebody(for: item) else { return true }
        if request.authenticationUI == .skip { return false }
        throw StatusError(errSecInteractionNotAllowed, "the item asks for a person, and nobody may be asked")
    }

    /// Whether an item has the digest that a request names, if it names one.
    private func hasDigest(_ item: Item, _ request: ItemRequest) throws -> Bool {
        guard let digest = request.digest else { return true }
        do { return try ItemResults(keychain: keychain, request: request).digest(of: item) == digest } catch
            let error as KeychainError where [.vaultDamaged, .itemNotFound, .passphraseIncorrect].contains(error.code)
        {
            // Nobody can have been told the digest of data that cannot be read.
            return false
        } catch let error as StatusError where error.status == errSecAuthFailed { return false }
    }

    // MARK: Update

    /// SecItemUpdate. - Throws: `StatusError`, `KeychainError`.
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

    /// Changes the items that a request names. - Throws: As `update(_:_:)`.
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

    /// Whether the token that changes name is one that items may be on, or the one that they are said to be on already.
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

    /// Runs a change; -25309 where it says of an object that it is protected, which only its token can.
    func refusingProtection(_ changes: ItemChanges, _ change: () throws -> Void) throws {
        do { try change() } catch let error as KeychainError where error.code == .refused {
            // A vault that cannot be written is no object that is protected.
            guard error.details["sqlite"] == nil,
                changes.attributes.names.contains(where: { Self.protection.contains($0) })
            else { throw error }
            throw StatusError(errSecReadOnlyAttr, "whether a key is protected, its token decides")
        }
    }

    /// Gives certificates or keys new data, all or none: on the token that is another object.
    private func replace(_ criteria: Criteria, _ changes: ItemChanges) throws {
        let items = try checkedItems(criteria)
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
        // What is there already stays there, and is called as the changes say.
        if replacements.allSatisfy({ keychain.isHeld($0.replacement, by: $0.item) }) {
            try keychain.update(criteria, kept, removing: changes.removed)
            return
        }
        try keychain.replace(replacements, changes: kept, removing: changes.removed)
    }

    /// The items of a change, which all pass its check.
    func checkedItems(_ criteria: Criteria) throws -> [Item] {
        let items = try keychain.findItems(criteria)
        if let check = criteria.services?.check { for item in items { try check(item) } }
        return items
    }

    // MARK: Delete

    /// SecItemDelete. - Throws: `StatusError`, `KeychainError`.
    func delete(_ query: NSDictionary) throws {
        let request = try ItemRequest(parsing: query, for: .delete)
        try checkGroup(request.attributes, isWriting: true)
        try checkNotEmpty()
        for request in try individually(request) {
            if request.itemClass == .identity { try deleteIdentities(request, query) } else { try delete(request) }
        }
    }

    /// Removes the items that a request names. - Throws: As `delete(_:)`.
    func delete(_ request: ItemRequest) throws {
        guard !request.isOldReference, !request.namesSyncRecord else { throw StatusError(errSecItemNotFound) }
        for criteria in try criteriaForChange(request) { try keychain.delete(criteria) }
    }

    // MARK: Queries

    /// The search that a request asks for, without its filters and its limit.
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

    /// The requests of a change: the one, or one for each item that `kSecMatchItemList` names.
    ///
    /// - Throws: `StatusError`; -25300 where the list names none of the items, as a search with it.
    private func individually(_ request: ItemRequest) throws -> [ItemRequest] {
        guard let list = request.filters?.items else { return [request] }
        let found = try candidates(request, isLimited: false)
            .filter { item in list.contains { item.isNamed(by: $0) } }
        // A certificate with two keys is one identity by its reference.
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

    /// The searches of a change: one, or one for each item where something is asked that no search knows.
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
        let group = attributes[.accessGroup]?.text
        // The group of tokens is everybody's to read.
        if isWriting || group != AccessGroups.token { try checkNotEmpty() }
        guard let group else { return }
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
    /// Whether a reference of either kind names the item: an identity is named by either of its halves too, and names
    /// them.
    func isNamed(by object: AnyObject) -> Bool {
        switch object {
        case let data as NSData:
            // What is no reference names nothing.
            guard let reference = try? PersistentReference(Data(referencing: data)) else { return false }
            if reference == self.reference { return true }
            // An identity has the row of its certificate, under the name of its own class.
            let isOfCertificates = [reference.itemClass, itemClass].allSatisfy { $0 == .certificate || $0 == .identity }
            return isOfCertificates && reference.identity == self.reference?.identity
        case let certificate as SecCertificate: return certificateDER == certificate.certificate.der
        case let identity as SecIdentity:
            guard itemClass == .key else { return certificateDER == identity.certificate.certificate.der }
            return isNamed(by: identity.privateKey)
        case let key as SecKey:
            guard itemClass == .key || itemClass == .identity else { return false }
            // An item that was made of bytes knows nothing of its key, and that of an identity what its owner said.
            if let item = key.item, item.itemClass == itemClass, item.reference == reference { return true }
            return searchAttributes(of: key).allSatisfy { attributes[$0.name]?.matches($0.value) ?? false }
        default: return false
        }
    }

    /// What its access control asks for.
    var constraints: SecAccessControlCreateFlags {
        attributes[.accessControl]?.bytes.flatMap { SecAccessControl(stored: $0) }?.flags ?? []
    }

    /// Whether its access control asks for a password of the application's.
    var asksForPassword: Bool { constraints.contains(.applicationPassword) }

    /// Whether its access control asks for somebody to be there, before its data is read or its key is used.
    var needsPresence: Bool {
        !constraints.isDisjoint(with: [.userPresence, .biometryAny, .biometryCurrentSet, .devicePasscode, .companion])
    }

    /// Whether what would be read of it takes somebody to be there. A private key that cannot leave its token has
    /// nothing to read: its price is asked for when it is used.
    fileprivate var givesOutConstrainedData: Bool {
        needsPresence && itemClass != .identity
            && !(isOnToken && isPrivateKey && attributes[.isExtractable]?.number == 0)
    }
}

extension ItemRequest {
    /// How many items a search needs to find; `nil` for all, where some of several may turn out to be damaged when
    /// their data is read.
    fileprivate var earlyLimit: Int? {
        let limit = limit ?? .one
        return limit != .one && opensItems ? nil : limit.count
    }

    /// Whether an item may turn out to be damaged when what is asked for is read: its data, or the key that it is.
    fileprivate var opensItems: Bool {
        returns.contains(.data) || returns.contains(.reference) && itemClass.livesOnToken
    }

    /// Whether the access control of an item asks for somebody, or for a password that the call has not brought along.
    fileprivate func asksSomebody(for item: Item) -> Bool {
        item.needsPresence || item.asksForPassword && credential == nil
    }

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
