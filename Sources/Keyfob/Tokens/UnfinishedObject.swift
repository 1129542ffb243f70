import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11

/// An object on the token that a change is making or destroying, as a row of the vault names it; see ``RowState``.
struct UnfinishedObject: Sendable {
    /// The row's id in the vault; zero before the row is inserted.
    var rowID: Int64 = 0
    /// `pending` or `removing`.
    var state: RowState
    /// `CKA_CLASS`.
    var objectClass: ObjectClass
    /// `CKA_ID`. A generated key has a random one first and the digest of its public key afterwards.
    var ids: [Data]
    /// The object's fingerprint; `nil` for a key that is generated.
    var fingerprint: Data?
    /// The name of the item, for a check of the keychain.
    var name: AttributeValue?
    /// Whether the token shows the object without a login.
    var isPublic: Bool
    /// The identities of the rows that a removal deletes together with the object.
    var rows: [Data] = []

    /// An object that is going to be made.
    init(making object: NewObject, name: AttributeValue? = nil) {
        state = .pending
        objectClass = object.objectClass
        ids = [Data(object.id)]
        fingerprint = object.fingerprint
        self.name = name
        isPublic = object.objectClass == .certificate
    }

    /// Half of a key pair, or a secret key, that is going to be generated under a temporary identifier.
    init(generating objectClass: ObjectClass, id: [UInt8], name: AttributeValue?) {
        state = .pending
        self.objectClass = objectClass
        ids = [Data(id)]
        self.name = name
        isPublic = false
    }

    /// A key that was generated for an identity whose certificate is not there yet.
    init(awaitingCertificate object: TokenObject, name: AttributeValue?) {
        state = .pending
        objectClass = object.objectClass
        ids = [object.id]
        self.name = name
        isPublic = false
    }

    /// An object that is going to be destroyed.
    init(removing object: TokenObject, rows: [Data], name: AttributeValue?) {
        state = .removing
        objectClass = object.objectClass
        ids = [object.id]
        fingerprint = object.fingerprint
        self.name = name ?? object.label
        isPublic = object.objectClass == .certificate && !object.flags.contains(.isPrivate)
        self.rows = rows
    }

    /// Whether a private key on the token is this one or the other half of it.
    func isHalf(of key: TokenObject) -> Bool {
        key.objectClass == .privateKey && objectClass == .publicKey && ids.contains(key.id)
    }

    /// Whether an object on the token is this one.
    func matches(_ object: TokenObject) -> Bool {
        object.objectClass == objectClass && ids.contains(object.id)
            && (fingerprint == nil || fingerprint == object.fingerprint)
    }
}

extension UnfinishedObject {
    private static let identityCount = 16

    /// The row that names the object.
    func row(_ keys: VaultKeys) throws -> SealedRow {
        let itemClass: ItemClass = objectClass == .certificate ? .certificate : .key
        let identity = Data(try RandomBytes.bytes(count: Self.identityCount))
        let now = Keychain.now()
        var row = SealedRow(
            id: rowID, identity: identity, classDigest: keys.digest(of: itemClass), state: state,
            // Never equal to the primary key of an item.
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

    /// The object that a row names; `nil` for a live row.
    ///
    /// - Throws: `KeychainError` with code `vaultDamaged` for a row that does not open.
    init?(_ row: SealedRow, _ keys: VaultKeys) throws {
        guard row.state != .live else { return nil }
        let (_, attributes) = try keys.openAttributes(row)
        guard let objectClass = attributes[.indexedClass]?.number, let id = attributes[.objectID]?.bytes else {
            throw VaultKeys.damaged(cause: nil)
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
    /// In a row of a key that is generated: `CKA_ID` once the public key is known.
    fileprivate static let finalObjectID = AttributeName(rawValue: "_cif")
    /// In a row of an object that is destroyed: the identities of the rows that go with it, one after the other.
    fileprivate static let removedRows = AttributeName(rawValue: "_rms")
}

extension StoreReader {
    /// The objects that a change is making or destroying.
    ///
    /// - Throws: `KeychainError` with code `vaultDamaged` for a row that does not open.
    func unfinishedObjects(_ keys: VaultKeys) throws -> [UnfinishedObject] {
        try unfinishedRows().compactMap { try UnfinishedObject($0, keys) }
    }
}
