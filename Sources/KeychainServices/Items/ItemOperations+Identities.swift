import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL

/// Identities, each of which is a certificate and a key without a row of its own.
extension ItemOperations {
    // MARK: Add

    /// Adds the certificate and the key in one step. Either may exist already; if both do, nothing is added.
    func add(_ identity: SecIdentity, _ request: ItemRequest) throws -> CallResult {
        let certificate: Item?
        do { certificate = try addHalves(identity, request).certificate } catch let error as KeychainError
            where error.code == .duplicateItem
        {
            guard let claimed = try claim(identity, request) else { throw error }
            certificate = claimed.certificate
        }
        request.reference?.claimImported()
        guard request.returns.contains(.persistentReference), let reference = certificate?.reference else {
            return .nothing
        }
        return .value(NSData(data: Data(ItemClass.identity.rawValue.utf8) + reference.identity))
    }

    /// Gives the halves of an identity that an import has just stored the attributes of the caller's addition; `nil`
    /// where the import has added neither.
    private func claim(_ identity: SecIdentity, _ request: ItemRequest) throws -> (certificate: Item?, key: Item?)? {
        let certificate = try claim(
            identity.certificate.imported, KeychainServices.attributes(of: identity.certificate),
            certificateAttributes(request), request, as: .certificate)
        let said = Self.attributes(request.attributes, of: .key)
        let brought = try attributes(of: identity.privateKey, said, request)
        let key = try claim(identity.privateKey.imported, brought, said, request, as: .key)
        return certificate == nil && key == nil ? nil : (certificate, key)
    }

    /// The attributes of an identity that its certificate has.
    private func certificateAttributes(_ request: ItemRequest) -> ItemAttributes {
        var attributes = Self.attributes(request.attributes, of: .certificate)
        // Each half has the default of its class, and both what the caller said.
        if request.isAccessibilityDefault, attributes[.accessible] == "ak" {
            attributes[.accessible] = Self.defaults(of: .certificate)[.accessible]
        }
        return attributes
    }

    /// Adds certificate and key in one step, and gives those that are new.
    ///
    /// - Throws: `StatusError`; `KeychainError` with `duplicateItem` where both are there.
    func addHalves(_ identity: SecIdentity, _ request: ItemRequest) throws -> (certificate: Item?, key: Item?) {
        var certificate = CertificateItem(identity.certificate.certificate)
        certificate.attributes.merge(certificateAttributes(request))
        let keyAttributes = try attributes(
            of: identity.privateKey, Self.attributes(request.attributes, of: .key), request)
        let mayLeave = Self.mayLeave(request.attributes) && !identity.privateKey.staysInMemory
        let key: IdentityKey =
            switch identity.privateKey.material {
            // Of an identity the key stays on the token unless the caller says otherwise.
            case .memory(let key):
                .memory(key, isExtractable: mayLeave && request.attributes[.isExtractable]?.number == 1)
            case .token(let key):
                // One that was imported may be gone from the token, and is in the file.
                identity.privateKey.imported?.key.map { .memory($0, isExtractable: false) } ?? .token(key.publicKey)
            case .public: throw StatusError.parameter("the key of an identity is a private one")
            }
        return try keychain.identities.add(
            certificate, key: key, keyAttributes, existing: mayLeave ? .any : .mustStay)
    }

    /// The attributes of an identity that one half of it has.
    private static func attributes(_ attributes: ItemAttributes, of itemClass: ItemClass) -> ItemAttributes {
        var own = ItemAttributes()
        for (name, value) in attributes where name == .program || AttributeCoding.isAttribute(name, of: itemClass) {
            own[name] = value
        }
        return own
    }

    // MARK: Search

    /// Returns the identity of a certificate, with its private key from the keychain.
    ///
    /// The certificate need not be an item.
    ///
    /// - Returns: `nil` if no visible item is the key of the certificate.
    func identity(of certificate: SecCertificate, usesSystemKeychain: Bool = false) throws -> SecIdentity? {
        let publicKey = certificate.certificate.publicKey
        var request = ItemRequest(itemClass: .key)
        request.attributes = [.keyClass: .number(KeyClass.private.rawValue)]
        request.matchesAnySynchronizable = true
        request.usesSystemKeychain = usesSystemKeychain
        try checkGroup(request.attributes, isWriting: false)
        // The owner of an item may have changed its application label. If the lookup by hash fails, all keys are
        // compared.
        for hash in [AttributeValue.data(publicKey.identifier), nil] {
            request.attributes[.applicationLabel] = hash
            // An item that is only in the vault has the attributes of a key but no key to use.
            for item in try keychain.findItems(try criteria(request)) where item.isOnToken {
                guard try keychain.keys.publicKey(of: KeyItem(item: item)) == publicKey else { continue }
                let key = try keychain.keys.tokenKey(for: KeyItem(item: item))
                return SecIdentity(certificate: certificate, privateKey: SecKey(.token(key), item: item))
            }
        }
        return nil
    }

    // MARK: Update

    /// Applies the same changes to the certificate and then to the key; the first failure ends the update.
    func updateIdentities(_ request: ItemRequest, _ query: NSDictionary, _ changes: NSDictionary) throws {
        let ofCertificate = try ItemChanges(parsing: changes, of: .certificate)
        let ofKey = try ItemChanges(parsing: changes, of: .key)
        // Both halves would get the same bytes, which would destroy the private key.
        guard ofKey.data == nil else { throw StatusError.parameter("an identity has no data of its own") }
        if request.reference == nil, request.persistentReference == nil {
            try update(try half(.certificate, query, for: .update), ofCertificate)
            try update(try half(.key, query, for: .update), ofKey)
            return
        }
        try checkGroup(ofCertificate.attributes, isWriting: true)
        let (certificates, keys) = try halves(request)
        guard !certificates.isEmpty else { throw StatusError(errSecItemNotFound) }
        let halves = (certificates.map { ($0, ofCertificate) } + keys.map { ($0, ofKey) }).map { half in
            var criteria = half.0
            criteria.services?.check = half.1.check
            return (criteria, half.1)
        }
        // All halves are checked before the first is changed.
        for (criteria, _) in halves where criteria.services?.check != nil { _ = try checkedItems(criteria) }
        for (criteria, changes) in halves {
            try refusingProtection(changes) {
                try keychain.update(criteria, changes.attributes, removing: changes.removed, secret: changes.data)
            }
        }
    }

    // MARK: Delete

    /// Removes identities.
    ///
    /// By reference, the certificate is removed, and the key if it was the last certificate for it. By attributes, the
    /// matching certificates are removed first, then the matching keys.
    func deleteIdentities(_ request: ItemRequest, _ query: NSDictionary) throws {
        if request.reference == nil, request.persistentReference == nil {
            try delete(try half(.certificate, query, for: .delete))
            try delete(try half(.key, query, for: .delete))
            return
        }
        guard !request.isOldReference else { throw StatusError(errSecItemNotFound) }
        do { try keychain.delete(try criteriaOfBothHalves(request)) } catch let error as KeychainError
            where error.code == .itemNotFound
        {
            // The certificate may be gone already; then its key is removed alone. If the identity exists but was not
            // matched because it is synchronizable, its key stays.
            guard case .identity(let identity) = request.reference else { throw error }
            var any = request
            any.attributes[.synchronizable] = nil
            any.matchesAnySynchronizable = true
            guard try keychain.findItems(try criteriaOfBothHalves(any)).isEmpty else { throw error }
            var half = request
            half.itemClass = .key
            half.reference = .key(identity.privateKey)
            half.attributes = Self.attributes(request.attributes, of: .key)
            try delete(half)
        }
    }

    // MARK: Halves

    /// Returns the search for identities to change or remove.
    private func criteriaOfBothHalves(_ request: ItemRequest) throws -> Criteria {
        var criteria = try criteria(request)
        criteria.services?.isAboutBothHalves = true
        return criteria
    }

    /// Turns the query for identities into one for certificates or keys.
    ///
    /// - Throws: `StatusError` for attributes that the class lacks.
    private func half(
        _ itemClass: ItemClass, _ query: NSDictionary, for purpose: ItemRequest.Purpose
    ) throws -> ItemRequest {
        let own = NSMutableDictionary()
        for entry in try RequestEntry.all(of: query) {
            own.setObject(entry.value.object, forKey: NSString(string: entry.key))
        }
        own.setObject(NSString(string: itemClass.rawValue), forKey: NSString(string: "class"))
        return try ItemRequest(parsing: own, for: purpose)
    }

    /// Returns searches for the certificates and keys of the identities that a reference names.
    private func halves(_ request: ItemRequest) throws -> (certificates: [Criteria], keys: [Criteria]) {
        guard !request.isOldReference else { return ([], []) }
        let identities = try keychain.findItems(try criteriaOfBothHalves(request))
        func named(_ itemClass: ItemClass, _ reference: PersistentReference?) throws -> Criteria? {
            guard let reference else { return nil }
            var half = request
            half.itemClass = itemClass
            half.reference = nil
            half.attributes = ItemAttributes()
            half.persistentReference = reference
            return try criteria(half)
        }
        var seen: Set<PersistentReference> = []
        func unseen(_ reference: PersistentReference?) -> PersistentReference? {
            reference.flatMap { seen.insert($0).inserted ? $0 : nil }
        }
        let certificates = try identities.compactMap { try named(.certificate, unseen($0.certificateReference)) }
        let keys = try identities.compactMap { try named(.key, unseen($0.keyReference)) }
        return (certificates, keys)
    }
}
