import Foundation
public import KeyfobOpenSSL
import PKCS11

/// Adding keys from memory, with any attributes of the class.
///
/// One key may be several items that differ in tag, access group or another part of the primary key. The token object
/// is created with the first item and removed with the last.
extension KeychainKeys {
    /// Stores a private key. Its public half is stored too, but is not an item of its own.
    ///
    /// - Parameters:
    ///   - attributes: Attributes of the class; those that only the token can determine are ignored.
    ///   - existing: The requirement for a key that is already on the token.
    /// - Throws: `KeychainError`; `duplicateItem`, also if the key must not be extractable and the token's key is;
    ///   `keyNotExtractable` in the opposite case; `unsupportedFormat` for a key type that tokens do not hold,
    ///   `tokenContractViolation`, `tokenFull`, and the errors of `unlock()`.
    @available(*, noasync, message: "call it from a thread of your own")
    package func add(
        _ key: PrivateKey, _ attributes: ItemAttributes, isExtractable: Bool,
        existing requirement: ExistingKeyPolicy = .any
    ) throws -> KeyItem {
        try keychain.withDeadline { [self] in
            let pair = try NewObject.pair(
                key, label: [UInt8](attributes[.label]?.labelBytes ?? Data()), subject: nil,
                isExtractable: isExtractable)
            return try add(attributes, pair.privateKey, with: pair.publicKey, existing: requirement)
        }
    }

    /// Stores a public key, or makes an item of the public half of a private key on the token.
    ///
    /// - Throws: `KeychainError`; `duplicateItem`, `unsupportedFormat` for a key type that tokens do not hold,
    ///   `tokenContractViolation`, `tokenFull`, and the errors of `unlock()`.
    @available(*, noasync, message: "call it from a thread of your own")
    package func add(_ key: PublicKey, _ attributes: ItemAttributes) throws -> KeyItem {
        try keychain.withDeadline { [self] in
            let object = try NewObject(publicKey: key, label: [UInt8](attributes[.label]?.labelBytes ?? Data()))
            return try add(attributes, object, with: nil, existing: .any)
        }
    }

    /// Makes another item of a private key that is already on the token.
    ///
    /// - Parameter existing: The requirement for the key.
    /// - Throws: `KeychainError`; `itemNotFound` if the key is not on the token, `duplicateItem` or `keyNotExtractable`
    ///   if it does not meet the requirement, and the errors of `unlock()`.
    @available(*, noasync, message: "call it from a thread of your own")
    package func add(
        onToken publicKey: PublicKey, _ attributes: ItemAttributes, existing requirement: ExistingKeyPolicy
    ) throws -> KeyItem {
        try keychain.withDeadline { [self] in
            let keys = try keychain.vaultKeys()
            let attributes = try Self.recordable(attributes)
            var found: TokenObject?
            let recorded = try keychain.writer(keys).changeRows { objects in
                found = objects.first {
                    $0.objectClass == .privateKey && $0.keyIdentifier == publicKey.identifier
                }
                if let found { try require(requirement, of: found, attributes) }
            } commit: { writer in
                guard let found else {
                    throw KeychainError(.itemNotFound, "the key is not on token \"\(keychain.token.label)\".")
                }
                try refuseTwin(of: found, attributes, writer, keys)
                return try keychain.tokenItems.recordItem(Item(.key, attributes), found, writer, keys, isNew: false)
            }
            return KeyItem(item: recorded)
        }
    }

    private func add(
        _ attributes: ItemAttributes, _ object: NewObject, with half: NewObject?,
        existing requirement: ExistingKeyPolicy
    ) throws -> KeyItem {
        let keys = try keychain.vaultKeys()
        let attributes = try Self.recordable(attributes)
        var existing: TokenObject?
        var isHidden = false
        let recorded = try keychain.writer(keys).create { objects in
            existing = objects.first { object.isSame(as: $0) }
            if let existing { try require(requirement, of: existing, attributes) }
            isHidden = object.objectClass == .publicKey && objects.contains {
                $0.objectClass == .privateKey && $0.keyIdentifier == Data(object.id)
            }
            return [object, half].compactMap { $0 }
        } commit: { writer, added in
            guard let existing else {
                guard let made = TokenStore.completing(added).first else {
                    throw KeychainError(.failed, "the token made no key.")
                }
                return try keychain.tokenItems.recordItem(Item(.key, attributes), made, writer, keys)
            }
            if !isHidden { try refuseTwin(of: existing, attributes, writer, keys) }
            return try keychain.tokenItems.recordItem(Item(.key, attributes), existing, writer, keys, isNew: false)
        }
        return KeyItem(item: recorded)
    }

    /// Checks the requirement for an existing key of which another item is made.
    ///
    /// - Parameter attributes: The attributes of the new item.
    /// - Throws: `KeychainError`; `duplicateItem` or `keyNotExtractable` if the key does not meet the requirement.
    func require(_ requirement: ExistingKeyPolicy, of existing: TokenObject, _ attributes: ItemAttributes) throws {
        let mayLeave = existing.flags.contains(.extractable)
        switch requirement {
        case .refused:
            throw keychain.vaultRows.duplicate(.key, attributes)
        case .mayLeave where !mayLeave:
            throw KeychainError(
                .keyNotExtractable, "token \"\(keychain.token.label)\" has the key already, and does not give it out.",
                details: ["token": keychain.token.label])
        case .mustStay where mayLeave:
            throw KeychainError(
                .duplicateItem, "token \"\(keychain.token.label)\" has the key already, and gives it out.",
                hint: "Remove the items of it that may leave, then add it anew.",
                details: ["token": keychain.token.label])
        case .any, .mayLeave, .mustStay:
            return
        }
    }

    /// Refuses a second item with the primary key of an object without a row, which another tool made.
    func refuseTwin(
        of object: TokenObject, _ attributes: ItemAttributes, _ writer: any StoreWriter, _ keys: VaultKeys
    ) throws {
        guard let itemClass = object.itemClass,
            try keychain.tokenItems.objectRows(object, keys, writer).isEmpty
        else { return }
        let base = try object.itemAttributes()
        var complete = base
        complete.merge(attributes)
        guard try keys.primaryKey(itemClass, base) != keys.primaryKey(itemClass, complete) else {
            throw keychain.vaultRows.duplicate(itemClass, attributes)
        }
    }

    /// The attributes coerced to the class, without those that only the token can determine.
    static func recordable(_ attributes: ItemAttributes) throws -> ItemAttributes {
        var attributes = try ClassSchema.of(.key).coerce(attributes)
        for name in [AttributeName.isSensitive, .wasAlwaysSensitive, .isExtractable, .wasNeverExtractable] {
            attributes[name] = nil
        }
        return attributes
    }
}

extension KeychainKeys {
    /// Imports a private key without a certificate.
    ///
    /// - Throws: `KeychainError`; `duplicateItem` if the token has the key, `tokenContractViolation`, `tokenFull`,
    ///   `unsupportedFormat` for key types that tokens do not hold, and the errors of `unlock()`.
    @available(*, noasync, message: "use the asynchronous form")
    public func importKey(_ key: PrivateKey, label: String, isExtractable: Bool = false) throws -> KeyItem {
        try keychain.withDeadline { [self] in
            try add(key, [.label: .string(label)], isExtractable: isExtractable, existing: .refused)
        }
    }
}
