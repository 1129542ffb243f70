import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL

/// What the metadata key opens: the attributes of all items, and the digests by which they are found.
///
/// Made once when the keychain is unlocked and dropped, wiped, when it is locked. No token operation
/// happens here.
struct VaultKeys: Sendable {
    /// The metadata key itself, for the unlocked state that lies between two commands.
    let metadataKey: SecretBytes
    private let vault: Data
    private let attributeKey: AESGCM
    private let indexKey: HMACSHA256
    /// Authenticates the vault's record of its rows.
    let tree: RowTreeKey
    private let classDigests: [(itemClass: ItemClass, digest: Data)]

    /// Derives the keys.
    ///
    /// - Throws: `OpenSSLError` where libcrypto fails.
    init(metadataKey: SecretBytes, vault: Data) throws {
        self.metadataKey = metadataKey
        self.vault = vault
        func derive(_ purpose: String) throws -> SecretBytes {
            try HKDF.derive(key: metadataKey, salt: [UInt8](vault), info: Array("keyfob 1 \(purpose)".utf8), count: 32)
        }
        attributeKey = try AESGCM(key: derive("attributes"))
        let indexKey = try HMACSHA256(key: derive("index"))
        self.indexKey = indexKey
        tree = RowTreeKey(try HMACSHA256(key: derive("tree")))
        classDigests = try ItemClass.allCases.map { itemClass in
            let code = try indexKey.authenticationCode(for: Array("class\(itemClass.rawValue)".utf8))
            return (itemClass, Data(code.prefix(8)))
        }
    }

    // MARK: Digests

    /// The digest that stands for a class in the vault.
    func digest(of itemClass: ItemClass) -> Data { classDigests.first { $0.itemClass == itemClass }?.digest ?? Data() }

    /// The class behind a digest, or `nil` for one that this vault's keys never made.
    func itemClass(of digest: Data) -> ItemClass? { classDigests.first { $0.digest == digest }?.itemClass }

    /// The digest of one attribute's value.
    func term(_ itemClass: ItemClass, _ name: AttributeName, _ value: AttributeValue) throws -> Data {
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

    /// All digests under which an item is found.
    func terms(_ itemClass: ItemClass, _ attributes: ItemAttributes) throws -> Set<Data> {
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

    /// The digest that rows carry which belong to no object, although their class lives on the token: where others
    /// have the fingerprint of the object, they have none.
    func termOfRowsWithoutObject(_ itemClass: ItemClass) throws -> Data {
        try term(itemClass, .objectFingerprint, .data(Data()))
    }

    /// The digests under which the row of an object is found: the object's fingerprint, and the item's label.
    func terms(_ itemClass: ItemClass, of object: TokenObject, _ attributes: ItemAttributes) throws -> Set<Data> {
        var terms: Set = [try term(itemClass, .objectFingerprint, .data(object.fingerprint))]
        if let label = attributes[.label] {
            terms.insert(try term(itemClass, .label, label))
        }
        return terms
    }

    /// Digests that narrow a search, the most telling first; empty when none of the attributes has an index.
    func searchTerms(_ itemClass: ItemClass, _ attributes: ItemAttributes) throws -> [Data] {
        let schema = ClassSchema.of(itemClass)
        // Items that do not have an attribute of the primary key match its empty value too, and have no digest of it.
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

    /// The digest of an item's primary key.
    func primaryKey(_ itemClass: ItemClass, _ attributes: ItemAttributes) throws -> Data {
        var message = Array("primary key".utf8) + itemClass.rawValue.utf8
        for definition in ClassSchema.of(itemClass).primaryKey {
            let value = attributes[definition.name] ?? ClassSchema.emptyValue(of: definition.kind)
            let bytes = value.canonicalBytes
            message += UInt32(bytes.count).bigEndianBytes
            message += bytes
        }
        return Data(try indexKey.authenticationCode(for: message))
    }

    // MARK: Ciphertext

    /// Encrypts bytes that only this vault's metadata key opens.
    func seal(_ bytes: [UInt8], _ additionalData: AdditionalData) throws -> SealedBytes {
        let nonce = try RandomBytes.bytes(count: AESGCM.nonceCount)
        let (ciphertext, tag) = try attributeKey.seal(bytes, nonce: nonce, additionalData: additionalData.bytes)
        return SealedBytes(initializationVector: nonce, ciphertext: ciphertext, tag: tag)
    }

    /// Decrypts what `seal` made.
    ///
    /// - Throws: `KeychainError` with code `vaultDamaged` where it was changed or moved.
    func open(_ sealed: SealedBytes, _ additionalData: AdditionalData) throws -> [UInt8] {
        do {
            return try attributeKey.openBytes(
                ciphertext: sealed.ciphertext, tag: sealed.tag, nonce: sealed.initializationVector,
                additionalData: additionalData.bytes)
        } catch { throw Self.damaged(cause: error) }
    }

    /// Encrypts an item's attributes for one version of its row.
    func sealAttributes(
        _ attributes: ItemAttributes, of itemClass: ItemClass, row: Data, version: Int64, state: RowState = .live
    ) throws -> SealedBytes {
        try seal(
            attributes.encoded,
            AdditionalData(
                .attributes, vault: vault, row: row, itemClass: itemClass, version: version, state: state))
    }

    /// Decrypts the attributes of a row; class and version must be those it was written with.
    ///
    /// - Throws: `KeychainError` with code `vaultDamaged`, which names the row, also where the row is whole but not
    ///   the one that was written last.
    func openAttributes(_ row: SealedRow) throws -> (ItemClass, ItemAttributes) {
        let itemClass = itemClass(of: row.classDigest)
        do {
            let attributes = try attributes(row, itemClass)
            switch row.recordStatus {
            case .current: break
            case .superseded: throw Self.superseded(Keychain.title(itemClass ?? .genericPassword, attributes))
            case .unknown(let error): throw error
            }
            guard let itemClass else { throw Self.damaged(cause: nil) }
            return (itemClass, attributes)
        } catch let error as KeychainError {
            throw error.naming(row, itemClass)
        }
    }

    /// Decrypts what a row says, whatever its standing.
    private func attributes(_ row: SealedRow, _ itemClass: ItemClass?) throws -> ItemAttributes {
        guard let itemClass else { throw Self.damaged(cause: nil) }
        let bytes = try open(
            row.attributes,
            AdditionalData(
                .attributes, vault: vault, row: row.identity, itemClass: itemClass, version: row.version,
                state: row.state))
        guard let attributes = ItemAttributes(encoded: bytes) else { throw Self.damaged(cause: nil) }
        return attributes
    }

    /// Whether the attributes of a row are whole, whatever its standing.
    func opens(_ row: SealedRow) -> Bool {
        // Any reason that it does not open is the same answer.
        (try? attributes(row, itemClass(of: row.classDigest))) != nil
    }

    /// The error for a row that is whole, and not the one that was written last.
    private static func superseded(_ title: String) -> KeychainError {
        KeychainError(
            .vaultDamaged,
            "\"\(title)\" in the vault is not what was written last: another program put an older copy of it back.",
            hint: "Restore the vault from a backup. The other items are not affected.",
            details: ["name": title, "reason": "replayed"])
    }

    /// The error for ciphertext that does not open.
    static func damaged(cause: (any Error)?) -> KeychainError {
        KeychainError(
            .vaultDamaged, "an item of the vault fails its integrity check: it was damaged or changed.",
            remedies: [
                "Restore it from a backup. The other items are not affected.",
                Remedy("See which are damaged", .checkKeychain(nil, .secrets)),
            ],
            cause: cause)
    }
}

extension KeychainError {
    /// The same error with the row that it is about, so that a damaged item can at least be removed.
    ///
    /// `details` gets `item`, the identity in hex, and, where the class is known, `reference`: the persistent
    /// reference in base64, for `Criteria(_:)` and `delete`. Neither says anything about the item's content.
    func naming(_ row: SealedRow, _ itemClass: ItemClass?) -> KeychainError {
        var details = details
        details["item"] = row.identity.hexadecimal
        if let itemClass {
            let reference = PersistentReference(itemClass: itemClass, identity: row.identity)
            details["reference"] = reference.data.base64EncodedString()
        }
        return KeychainError(code, message, remedies: remedies, details: details, cause: cause)
    }
}
