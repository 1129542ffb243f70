package import Foundation
package import KeyfobPrimitives
import KeyfobOpenSSL

/// The keys derived from the metadata key, for the attributes of all items and the digests that find them.
///
/// They are made when the keychain is unlocked, and wiped when it is locked. They need no token operation.
package struct VaultKeys: Sendable {
    /// The metadata key itself, for the unlocked state that is kept between two commands.
    package let metadataKey: SecretBytes
    private let vault: Data
    private let attributeKey: AESGCM
    private let indexKey: HMACSHA256
    private let wrappingKeyKey: HMACSHA256
    private let rowKeyKey: HMACSHA256
    /// The key that authenticates the vault's record of its rows.
    package let tree: RowTreeKey
    private let classDigests: [(itemClass: ItemClass, digest: Data)]

    /// Derives the keys.
    ///
    /// - Throws: `OpenSSLError` if libcrypto fails.
    package init(metadataKey: SecretBytes, vault: Data) throws {
        self.metadataKey = metadataKey
        self.vault = vault
        func derive(_ purpose: String) throws -> SecretBytes {
            try HKDF.derive(key: metadataKey, salt: [UInt8](vault), info: Array("keyfob 1 \(purpose)".utf8), count: 32)
        }
        attributeKey = try AESGCM(key: derive("attributes"))
        let indexKey = try HMACSHA256(key: derive("index"))
        self.indexKey = indexKey
        tree = RowTreeKey(try HMACSHA256(key: derive("tree")))
        wrappingKeyKey = try HMACSHA256(key: derive("wrapping key"))
        rowKeyKey = try HMACSHA256(key: derive("row key"))
        classDigests = try ItemClass.allCases.map { itemClass in
            let code = try indexKey.authenticationCode(for: Array("class\(itemClass.rawValue)".utf8))
            return (itemClass, Data(code.prefix(8)))
        }
    }

    // MARK: Digests

    /// Returns the digest that represents a class in the vault.
    package func digest(of itemClass: ItemClass) -> Data {
        classDigests.first { $0.itemClass == itemClass }?.digest ?? Data()
    }

    /// Returns the class of a digest; `nil` for a digest that this vault's keys did not make.
    package func itemClass(of digest: Data) -> ItemClass? { classDigests.first { $0.digest == digest }?.itemClass }

    /// Returns the digest of one attribute's value.
    package func term(_ itemClass: ItemClass, _ name: AttributeName, _ value: AttributeValue) throws -> Data {
        try term(itemClass, [(name, value)])
    }

    private func term(_ itemClass: ItemClass, _ parts: [(AttributeName, AttributeValue)]) throws -> Data {
        var message = Array(itemClass.rawValue.utf8)
        for (name, value) in parts {
            let bytes = value.canonicalBytes
            message += name.rawValue.utf8
            message += UInt32(bytes.count).bigEndianBytes
            message += bytes
        }
        return Data(try indexKey.authenticationCode(for: message).prefix(16))
    }

    /// Returns all digests under which an item is found.
    package func terms(_ itemClass: ItemClass, _ attributes: ItemAttributes) throws -> Set<Data> {
        let schema = ClassSchema.of(itemClass)
        var terms: Set<Data> = []
        for definition in schema.definitions where definition.isIndexed {
            guard let value = attributes[definition.name] else { continue }
            terms.insert(try term(itemClass, definition.name, value))
        }
        for (first, second) in schema.pairs {
            guard let one = attributes[first], let two = attributes[second] else { continue }
            terms.insert(try term(itemClass, [(first, one), (second, two)]))
        }
        if itemClass.livesOnToken { terms.insert(try termOfRowsWithoutObject(itemClass)) }
        return terms
    }

    /// Returns the digest of rows without an object whose class lives on the token.
    ///
    /// It takes the place of the digest of the object's fingerprint.
    package func termOfRowsWithoutObject(_ itemClass: ItemClass) throws -> Data {
        try term(itemClass, .objectFingerprint, .data(Data()))
    }

    /// Returns the digests under which the row of an object is found: the object's fingerprint and the item's label.
    package func terms(
        _ itemClass: ItemClass, object fingerprint: Data, _ attributes: ItemAttributes
    ) throws -> Set<Data> {
        var terms: Set = [try term(itemClass, .objectFingerprint, .data(fingerprint))]
        if let label = attributes[.label] {
            terms.insert(try term(itemClass, .label, label))
        }
        return terms
    }

    /// Returns the digests that narrow a search, the most selective first; empty if no attribute has an index.
    package func searchTerms(_ itemClass: ItemClass, _ attributes: ItemAttributes) throws -> [Data] {
        let schema = ClassSchema.of(itemClass)
        // Items without an attribute of the primary key also match its empty value, but have no digest of it.
        func telling(_ name: AttributeName) -> AttributeValue? {
            guard let value = attributes[name], let definition = schema[name] else { return nil }
            let isEmpty = definition.isPrimaryKey && value.matches(ClassSchema.emptyValue(of: definition.kind))
            return isEmpty ? nil : value
        }
        for (first, second) in schema.pairs {
            guard let one = telling(first), let two = telling(second) else { continue }
            return [try term(itemClass, [(first, one), (second, two)])]
        }
        return try schema.definitions.filter(\.isIndexed).compactMap { definition in
            try telling(definition.name).map { try term(itemClass, definition.name, $0) }
        }
    }

    /// Returns the digest of an item's primary key.
    package func primaryKey(_ itemClass: ItemClass, _ attributes: ItemAttributes) throws -> Data {
        var message = Array("primary key".utf8) + itemClass.rawValue.utf8
        for definition in ClassSchema.of(itemClass).primaryKey {
            let value = attributes[definition.name] ?? ClassSchema.emptyValue(of: definition.kind)
            let bytes = value.canonicalBytes
            message += UInt32(bytes.count).bigEndianBytes
            message += bytes
        }
        return Data(try indexKey.authenticationCode(for: message))
    }

    // MARK: Wrapped keys

    /// Returns the code that authenticates the public half of a wrapping key, with its suite, name and `CKA_ID`.
    ///
    /// Row keys are wrapped with the public half without a check by the token. An attacker who can write the vault must
    /// not be able to replace it.
    package func code(of row: WrappingKeyRow) throws -> Data {
        Data(try wrappingKeyKey.authenticationCode(for: Self.message(Self.parts(of: row))))
    }

    /// Returns whether this vault's metadata key authenticates the public half of a wrapping key.
    package func authenticates(_ row: WrappingKeyRow) throws -> Bool {
        guard row.publicKey != nil, let code = row.publicKeyCode else { return false }
        return constantTimeEqual(code, try self.code(of: row))
    }

    /// Returns the recipient of a row key, with the code that authenticates the wrapped key.
    ///
    /// The code binds the wrapped key to its wrapping key, and to the vault, row, class and version of the secret. Any
    /// program can wrap a key with a public wrapping key. An attacker who can write the vault must not be able to put
    /// in a row key of their own.
    ///
    /// - Parameters:
    ///   - encryptedKey: The wrapped row key.
    ///   - wrappingKey: The key that wrapped it.
    ///   - additionalData: The additional data of the secret.
    /// - Returns: The recipient.
    /// - Throws: `OpenSSLError` if memory runs out.
    package func recipient(
        _ encryptedKey: [UInt8], of wrappingKey: WrappingKeyRow, _ additionalData: AdditionalData
    ) throws -> Recipient {
        let code = try rowKeyKey.authenticationCode(for: Self.message(encryptedKey, wrappingKey, additionalData))
        return Recipient(wrappingKey: wrappingKey.id, encryptedKey: encryptedKey, code: code)
    }

    /// Returns whether the code of a recipient is right.
    ///
    /// The token must not get a wrapped key without the right code: cards and TPMs answer a wrong one as if the device
    /// had failed or were absent.
    ///
    /// - Throws: `OpenSSLError` if memory runs out.
    package func authenticates(
        _ recipient: Recipient, of wrappingKey: WrappingKeyRow, _ additionalData: AdditionalData
    ) throws -> Bool {
        try rowKeyKey.isValid(
            recipient.code, for: Self.message(recipient.encryptedKey, wrappingKey, additionalData))
    }

    private static func message(
        _ encryptedKey: [UInt8], _ wrappingKey: WrappingKeyRow, _ additionalData: AdditionalData
    ) -> [UInt8] {
        message([additionalData.bytes] + parts(of: wrappingKey) + [encryptedKey])
    }

    /// The columns of a wrapping key that codes authenticate.
    private static func parts(of row: WrappingKeyRow) -> [[UInt8]] {
        [Array(row.suite.utf8), Array(row.keyID.utf8), Array(row.objectID), row.publicKey.map { Array($0) } ?? []]
    }

    /// Joins the parts of a message, each after its length.
    private static func message(_ parts: [[UInt8]]) -> [UInt8] {
        var message: [UInt8] = []
        message.reserveCapacity(parts.reduce(0) { $0 + 4 + $1.count })
        for part in parts {
            message += UInt32(part.count).bigEndianBytes
            message += part
        }
        return message
    }

    // MARK: Ciphertext

    /// Encrypts bytes under this vault's metadata key.
    package func seal(_ bytes: [UInt8], _ additionalData: AdditionalData) throws -> SealedBytes {
        let nonce = try RandomBytes.bytes(count: AESGCM.nonceCount)
        let (ciphertext, tag) = try attributeKey.seal(bytes, nonce: nonce, additionalData: additionalData.bytes)
        return SealedBytes(initializationVector: nonce, ciphertext: ciphertext, tag: tag)
    }

    /// Decrypts bytes that `seal` encrypted.
    ///
    /// - Throws: `KeychainError` with code `vaultDamaged` if they were changed or moved.
    package func open(_ sealed: SealedBytes, _ additionalData: AdditionalData) throws -> [UInt8] {
        do {
            return try attributeKey.openBytes(
                ciphertext: sealed.ciphertext, tag: sealed.tag, nonce: sealed.initializationVector,
                additionalData: additionalData.bytes)
        } catch { throw KeychainError.damagedItem(cause: error) }
    }

    /// Encrypts an item's attributes for one version of its row.
    package func sealAttributes(
        _ attributes: ItemAttributes, of itemClass: ItemClass, row: Data, version: Int64, state: RowState = .live
    ) throws -> SealedBytes {
        try seal(
            attributes.encoded,
            AdditionalData(
                .attributes, vault: vault, row: row, itemClass: itemClass, version: version, state: state))
    }

    /// Decrypts the attributes of a row, which binds them to its class and version.
    ///
    /// - Throws: `KeychainError` with code `vaultDamaged`, which names the row, if the attributes were changed or
    ///   moved, or if the row is not the one that was written last.
    package func openAttributes(_ row: SealedRow) throws -> (ItemClass, ItemAttributes) {
        let itemClass = itemClass(of: row.classDigest)
        do {
            let attributes = try attributes(row, itemClass)
            switch row.recordStatus {
            case .current: break
            case .superseded: throw Self.superseded(attributes.title(of: itemClass ?? .genericPassword))
            case .unknown(let error): throw error
            }
            guard let itemClass else { throw KeychainError.damagedItem(cause: nil) }
            return (itemClass, attributes)
        } catch let error as KeychainError {
            throw error.naming(row, itemClass)
        }
    }

    /// Decrypts the attributes of a row without checking its record status.
    private func attributes(_ row: SealedRow, _ itemClass: ItemClass?) throws -> ItemAttributes {
        guard let itemClass else { throw KeychainError.damagedItem(cause: nil) }
        let bytes = try open(
            row.attributes,
            AdditionalData(
                .attributes, vault: vault, row: row.identity, itemClass: itemClass, version: row.version,
                state: row.state))
        guard let attributes = ItemAttributes(encoded: bytes) else { throw KeychainError.damagedItem(cause: nil) }
        return attributes
    }

    /// Returns whether the attributes of a row are intact, whatever its record status.
    package func opens(_ row: SealedRow) -> Bool {
        // The reason of the failure does not matter.
        (try? attributes(row, itemClass(of: row.classDigest))) != nil
    }

    /// Returns the error for a row that is intact but is not the one that was written last.
    private static func superseded(_ title: String) -> KeychainError {
        KeychainError(
            .vaultDamaged,
            "\"\(title)\" in the vault is not what was written last: another program put an older copy of it back.",
            hint: "Restore the vault from a backup. The other items are not affected.",
            details: ["name": title, "reason": "replayed"])
    }
}

extension KeychainError {
    /// The same error with the row that it concerns, so that the caller can remove a damaged item.
    ///
    /// `details` gets `item`, the identity in hexadecimal digits. If the class is known, it also gets `reference`, the
    /// persistent reference in base64 for `Criteria(_:)` and `delete`. Neither contains content of the item.
    package func naming(_ row: SealedRow, _ itemClass: ItemClass?) -> KeychainError {
        var details = details
        details["item"] = row.identity.hexadecimal
        if let itemClass {
            let reference = PersistentReference(itemClass: itemClass, identity: row.identity)
            details["reference"] = reference.data.base64EncodedString()
        }
        return with(details: details)
    }
}
