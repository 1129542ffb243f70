import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL

/// SecItemAdd.
extension ItemOperations {
    /// Adds an item.
    ///
    /// - Throws: `StatusError`, `KeychainError`.
    func add(_ dictionary: NSDictionary) throws -> CallResult {
        let request = try addition(dictionary)
        if case .identity(let identity) = request.reference { return try add(identity, request) }
        let (item, data) = try store(request)
        request.reference?.claimImported()
        guard !request.returns.isEmpty else { return .nothing }
        return .value(try ItemResults(keychain: keychain, request: request).added(item, data: data?.value()))
    }

    /// The request of an addition, with what an item gets when the caller says nothing.
    ///
    /// - Throws: `StatusError`, `KeychainError`.
    func addition(_ dictionary: NSDictionary) throws -> ItemRequest {
        var request = try ItemRequest(parsing: dictionary, for: .add)
        try checkNotEmpty()
        try checkGroup(request.attributes, isWriting: true)
        try checkToken(request.attributes)
        try checkData(request)
        try complete(&request)
        guard request.itemClass != .identity || request.reference != nil else {
            throw StatusError.parameter("an identity is added by reference, as a certificate and a key are")
        }
        return request
    }

    /// Gives a certificate or key that an import has just stored the attributes of the caller's addition.
    ///
    /// - Parameter said: The attributes of the addition that the class has.
    /// - Returns: The item; `nil` where the import did not add it, or it is not there any more.
    /// - Throws: `StatusError`, `KeychainError`.
    func claim(
        _ imported: ImportedItem?, _ brought: ItemAttributes, _ said: ItemAttributes, _ request: ItemRequest,
        as itemClass: ItemClass
    ) throws -> Item? {
        guard imported?.claim() ?? false else { return nil }
        var named = ItemRequest(itemClass: itemClass)
        named.usesSystemKeychain = request.usesSystemKeychain
        for definition in ClassSchema.of(itemClass).primaryKey where definition.name != .multiUser {
            named.attributes[definition.name] = said[definition.name] ?? brought[definition.name]
        }
        for (name, value) in PrimaryKeyMembers.of(itemClass).empty(but: .init()) where named.attributes[name] == nil {
            named.attributes[name] = value
        }
        let criteria = try criteria(named)
        guard let item = try keychain.findItems(criteria).first(where: { $0.isOnToken }), let reference = item.reference
        else { return nil }
        var changes = said
        for name in Self.protection.union(ClassSchema.of(itemClass).primaryKey.map(\.name)) { changes[name] = nil }
        var one = criteria
        one.reference = reference
        try keychain.update(one, changes)
        return try keychain.findItems(one).first
    }

    /// Checks that `kSecValueData` beside `kSecValueRef` holds the bytes of the referenced object.
    ///
    /// - Throws: `StatusError` (`errSecParam`) if the bytes differ.
    private func checkData(_ request: ItemRequest) throws(StatusError) {
        guard let reference = request.reference, let data = request.data?.copyData() else { return }
        let isSame = switch reference {
        case .certificate(let certificate): certificate.certificate.der == data
        // The given bytes are decoded and compared as a key, because a key may be unable to leave its token.
        case .key(let key): KeyMaterial(data, searchAttributes(of: key))?.key == key
        case .identity: false
        }
        guard isSame else { throw .parameter("kSecValueData is not what kSecValueRef refers to") }
    }

    /// The bytes of an item that was just added, computed only when the call returns them.
    typealias LazyData = (value: () throws -> Data?, Void)

    /// Stores what a request describes and returns the item with its data.
    func store(_ request: ItemRequest, isExtractable: Bool? = nil) throws -> (Item, LazyData?) {
        var attributes = request.attributes
        switch (request.reference, request.data) {
        case (.certificate(let certificate), _):
            do { return try store(certificate.certificate, attributes) } catch let error as KeychainError
                where error.code == .duplicateItem
            {
                let brought = KeychainServices.attributes(of: certificate)
                guard let item = try claim(certificate.imported, brought, attributes, request, as: .certificate) else {
                    throw error
                }
                return (item, ({ certificate.certificate.der }, ()))
            }
        case (.key(let key), _):
            let own = try self.attributes(of: key, attributes, request)
            let mayLeave = Self.mayLeave(attributes) && !key.staysInMemory
            // Before anything is stored: if the user refuses to give out the bytes, nothing is added.
            let bytes = try givenOut(key, by: request)
            let (item, data): (Item, LazyData?)
            do {
                (item, data) = try store(
                    key, own, isExtractable: isExtractable ?? (mayLeave && !key.neverLeavesTokens),
                    existing: mayLeave ? .any : .mustStay)
            } catch let error as KeychainError where error.code == .duplicateItem {
                guard let item = try claim(key.imported, own, attributes, request, as: .key) else { throw error }
                return (item, nil)
            }
            guard let bytes else { return (item, data) }
            return (item, ({ bytes }, ()))
        case (_, let data?) where request.itemClass == .certificate:
            let der = data.copyData()
            // Bytes that are not a certificate are stored as they are.
            if let certificate = try? Certificate(der: der) { return try store(certificate, attributes) }
        case (_, let data?) where request.itemClass == .key:
            guard let material = KeyMaterial(data.copyData(), attributes) else { break }
            // A caller that adds bytes expects to read them back. If no token would return them, they are sealed like a
            // password.
            if material.key.neverLeavesTokens, Self.mayLeave(attributes) { break }
            // Apple stores such a key as plain bytes: a primary key attribute that the caller left out stays empty, so
            // two keys with the same attributes are one item.
            for name: AttributeName in [.keySizeInBits, .effectiveKeySize] where attributes[name] == nil {
                attributes[name] = 0
            }
            if attributes[.applicationLabel] == nil { attributes[.applicationLabel] = .data(Data()) }
            do {
                let mayLeave = Self.mayLeave(attributes)
                return try store(
                    material.key, attributes, isExtractable: mayLeave, existing: mayLeave ? .mayLeave : .mustStay)
            } catch let error as KeychainError where error.code == .keyNotExtractable { break }
        case (nil, nil) where request.itemClass == .key && !(attributes[.tokenID]?.text ?? "").isEmpty:
            return (try generate(attributes), nil)
        default: break
        }
        let flags = request.itemClass.livesOnToken ? [] : request.accessControl?.flags ?? []
        let item = try keychain.vaultRows.addToVault(
            Item(request.itemClass, attributes), secret: request.sealed(request.data, flags))
        return (item, ({ request.data?.copyData() }, ()))
    }

    /// Stores a certificate. The caller's attributes override those read from the certificate.
    private func store(_ certificate: Certificate, _ attributes: ItemAttributes) throws -> (Item, LazyData?) {
        var item = CertificateItem(certificate)
        item.attributes.merge(attributes)
        let added = try keychain.tokenItems.addCertificates([item.item], sharesObjects: true)
        return (added[0], ({ certificate.der }, ()))
    }

    /// Stores a key.
    private func store(
        _ key: SecKey, _ attributes: ItemAttributes, isExtractable: Bool, existing: ExistingKeyPolicy
    ) throws -> (Item, LazyData?) {
        let item: Item
        do {
            item = switch key.material {
            case .memory(let key): try keychain.keys.add(
                key, attributes, isExtractable: isExtractable, existing: existing).item
            case .public(let key): try keychain.keys.add(key, attributes).item
            case .token:
                // One that was imported may be gone from the token, and is in the file.
                if let key = key.imported?.key {
                    try keychain.keys.add(key, attributes, isExtractable: false, existing: existing).item
                } else {
                    try keychain.keys.add(onToken: key.publicKey, attributes, existing: existing).item
                }
            }
        } catch let error as KeychainError where error.code == .unsupportedFormat {
            // No token holds keys of this type. A public key can be stored without one.
            guard case .public(let key) = key.material else { throw error }
            let secret = SecretBytes(key.bits)
            return (
                try keychain.vaultRows.addToVault(Item(.key, attributes), secret: secret), ({ secret.copyData() }, ())
            )
        }
        return (item, ({ try KeyMaterial.data(of: item, in: keychain) }, ()))
    }

    /// Returns the bytes of a token key that the call gives out, after any user confirmation.
    ///
    /// - Returns: `nil` if the call does not return data, or if the key cannot leave its token.
    private func givenOut(_ key: SecKey, by request: ItemRequest) throws -> Data? {
        // What an import has stored never leaves.
        guard request.returns.contains(.data), case .token = key.material, key.imported == nil else { return nil }
        return try KeyMaterial.ofUsableKey { try key.externalRepresentation() }
    }

    /// Generates the key that attributes without data describe, on the token they name.
    ///
    /// - Throws: `StatusError`; `errSecParam` if the type or size is missing or a public key is requested,
    ///   `errSecKeySizeNotAllowed` for a size that no token generates.
    private func generate(_ attributes: ItemAttributes) throws -> Item {
        guard attributes[.keyClass].map({ $0.number == KeyClass.private.rawValue }) ?? true else {
            throw StatusError.parameter("only private keys are generated")
        }
        let parameters = NSMutableDictionary()
        for name: AttributeName in [.type, .keySizeInBits] {
            guard let value = attributes[name]?.number else { continue }
            parameters.setObject(NSNumber(value: value), forKey: AttributeCoding.key(name))
        }
        let algorithm = try KeyParameters.algorithm(parameters)
        guard let specification = KeySpecification(algorithm) else {
            throw StatusError(errSecKeySizeNotAllowed, "no token generates keys of this size")
        }
        var own = usages(of: algorithm, .private)
        own.merge(attributes)
        for name: AttributeName in [.keyClass, .type, .keySizeInBits, .isPermanent] { own[name] = nil }
        return try keychain.keys.generate(specification, own, publicAttributes: nil).privateKey.item
    }

    /// Returns the attributes of the item for a key: those of the key itself, overridden by the caller's.
    ///
    /// - Parameter said: The attributes of the request that apply to keys.
    /// - Throws: `StatusError` (`errSecParam`) if the key's own access control contradicts them.
    func attributes(
        of key: SecKey, _ said: ItemAttributes, _ request: ItemRequest
    ) throws(StatusError) -> ItemAttributes {
        var attributes = KeychainServices.attributes(broughtBy: key)
        // An access control without constraints also replaces the key's own.
        if request.accessControl != nil { attributes[.accessControl] = nil }
        let brought = attributes[.accessControl]?.bytes.flatMap { SecAccessControl(stored: $0) }
        attributes.merge(said)
        guard let brought else { return attributes }
        if request.isAccessibilityDefault { attributes[.accessible] = .string(brought.protection) }
        try ItemRequest.check(brought, attributes)
        return attributes
    }

    /// Whether a key may leave the token. As with Apple it may, unless the caller names a token or makes the key
    /// unextractable.
    static func mayLeave(_ attributes: ItemAttributes) -> Bool {
        (attributes[.isExtractable]?.number ?? 1) != 0 && (attributes[.tokenID]?.text ?? "").isEmpty
    }

    // MARK: Defaults

    /// Adds the defaults of the class and the attributes that the access control and the use keys imply.
    func complete(_ request: inout ItemRequest) throws {
        var attributes = request.attributes
        if attributes[.accessGroup] == nil { attributes[.accessGroup] = groups.defaultGroup.map { .string($0) } }
        for name: AttributeName in [.creationDate, .modificationDate] { attributes[name] = nil }
        if let control = request.accessControl {
            attributes[.accessible] = .string(control.protection)
            if control.isConstrained {
                try control.check(isFor: request.itemClass)
                attributes[.accessControl] = .data(control.stored)
            }
        } else if attributes[.accessible] == nil {
            request.isAccessibilityDefault = true
            attributes[.accessible] = attributes[.accessGroup]?.text == "com.apple.apsd"
                ? "dku" : Self.defaults(of: request.itemClass)[.accessible]
        }
        if request.usesSystemKeychain { attributes[.multiUser] = .data(Self.systemUser) }
        attributes[.program] = .string(ProgramName.current)
        request.attributes = attributes
    }
}

extension SecKey {
    /// Whether a token never gives back the key, even an extractable one: tokens do not wrap Ed25519 private keys.
    fileprivate var neverLeavesTokens: Bool {
        guard case .memory(let key) = material, case .ed25519 = key.publicKey.algorithm else { return false }
        return true
    }
}

extension KeyMaterial {
    /// The reference type around the key.
    var key: SecKey {
        switch self {
        case .private(let key): SecKey(.memory(key))
        case .public(let key): SecKey(.public(key))
        }
    }
}
