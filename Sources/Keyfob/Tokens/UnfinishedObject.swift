import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11

/// An object on the token that a change is making or destroying, as recorded in a row of the vault; see ``RowState``.
struct UnfinishedObject: Sendable {
    /// The row's id in the vault; zero before the row is inserted.
    var rowID: Int64 = 0
    /// `pending` or `removing`.
    var state: RowState
    /// `CKA_CLASS`.
    var objectClass: ObjectClass
    /// `CKA_ID`. A generated key first has a random one and later the digest of its public key.
    var ids: [Data]
    /// The object's fingerprint; `nil` for a key that is being generated.
    var fingerprint: Data?
    /// The name of the item, for the check of the keychain.
    var name: AttributeValue?
    /// Whether the token shows the object without a login.
    var isPublic: Bool
    /// The identities of the rows that a removal deletes together with the object.
    var rows: [Data] = []

    /// Describes an object that is about to be created.
    init(making object: NewObject) {
        state = .pending
        objectClass = object.objectClass
        ids = [Data(object.id)]
        fingerprint = object.fingerprint
        isPublic = object.objectClass == .certificate
    }

    /// Describes half of a key pair, or a secret key, that is about to be generated under a temporary identifier.
    init(generating objectClass: ObjectClass, id: [UInt8], name: AttributeValue?) {
        state = .pending
        self.objectClass = objectClass
        ids = [Data(id)]
        self.name = name
        isPublic = false
    }

    /// Describes a key that was generated for an identity whose certificate is not stored yet.
    init(awaitingCertificate object: TokenObject, name: AttributeValue?) {
        state = .pending
        objectClass = object.objectClass
        ids = [object.id]
        self.name = name
        isPublic = false
    }

    /// Describes an object that is about to be destroyed.
    init(removing object: TokenObject, rows: [Data]) {
        state = .removing
        objectClass = object.objectClass
        ids = [object.id]
        fingerprint = object.fingerprint
        name = object.label
        isPublic = object.objectClass == .certificate && !object.flags.contains(.isPrivate)
        self.rows = rows
    }

    /// Whether this object is the public half of a private key on the token.
    func isHalf(of key: TokenObject) -> Bool {
        key.objectClass == .privateKey && objectClass == .publicKey && ids.contains(key.id)
    }

    /// Whether an object on the token is the one described.
    func matches(_ object: TokenObject) -> Bool {
        object.objectClass == objectClass && ids.contains(object.id)
            && (fingerprint == nil || fingerprint == object.fingerprint)
    }
}

extension UnfinishedObject {
    private static let identityCount = 16

    /// The row that records the object.
    func row(_ keys: VaultKeys) throws -> SealedRow {
        let itemClass: ItemClass = objectClass == .certificate ? .certificate : .key
        let identity = Data(try RandomBytes.bytes(count: Self.identityCount))
        let now = SealedRow.now()
        var row = SealedRow(
            id: rowID, identity: identity, classDigest: keys.digest(of: itemClass), state: state,
            // Random, so that it never equals the primary key of an item.
            primaryKey: Data(try RandomBytes.bytes(count: 32)), version: 1, created: now, modified: now,
            attributes: try keys.sealAttributes(
                attributes, of: itemClass, row: identity, version: 1, state: state))
        if isPublic, let fingerprint { row.publicName = PublicName(object: fingerprint, name: nil) }
        return row
    }

    private var attributes: ItemAttributes {
        var attributes = ItemAttributes()
        attributes[.indexedClass] = .number(Int64(bitPattern: UInt64(objectClass.rawValue)))
        attributes[.objectID] = ids.first.map { .data($0) }
        if ids.count > 1 { attributes[.finalObjectID] = .data(ids[1]) }
        attributes[.objectFingerprint] = fingerprint.map { .data($0) }
        attributes[.label] = name
        if !rows.isEmpty { attributes[.removedRows] = .data(rows.reduce(Data(), +)) }
        return attributes
    }

    /// Reads the object that a row records; `nil` for a live row.
    ///
    /// - Throws: `KeychainError` with code `vaultDamaged` for a row that cannot be opened.
    init?(_ row: SealedRow, _ keys: VaultKeys) throws {
        guard row.state != .live else { return nil }
        let (_, attributes) = try keys.openAttributes(row)
        guard let objectClass = attributes[.indexedClass]?.number, let id = attributes[.objectID]?.bytes else {
            throw KeychainError.damagedItem(cause: nil)
        }
        rowID = row.id
        state = row.state
        self.objectClass = ObjectClass(rawValue: UInt(UInt64(bitPattern: objectClass)))
        ids = [id] + [attributes[.finalObjectID]?.bytes].compactMap(\.self)
        fingerprint = attributes[.objectFingerprint]?.bytes
        name = attributes[.label]
        isPublic = false
        let identities = attributes[.removedRows]?.bytes ?? Data()
        rows = stride(from: 0, to: identities.count, by: Self.identityCount).map {
            Data(identities.dropFirst($0).prefix(Self.identityCount))
        }
    }
}

extension AttributeName {
    /// In the row of a key that is being generated: the final `CKA_ID`, once the public key is known.
    fileprivate static let finalObjectID = AttributeName(rawValue: "_cif")
    /// In the row of an object that is being destroyed: the identities of the rows to delete with it, concatenated.
    fileprivate static let removedRows = AttributeName(rawValue: "_rms")
}

extension StoreReader {
    /// The objects that changes are making or destroying.
    ///
    /// - Throws: `KeychainError` with code `vaultDamaged` for a row that cannot be opened.
    func unfinishedObjects(_ keys: VaultKeys) throws -> [UnfinishedObject] {
        try unfinishedRows().compactMap { try UnfinishedObject($0, keys) }
    }
}
