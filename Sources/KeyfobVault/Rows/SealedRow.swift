package import Foundation

/// One item as the vault stores it, without any attribute in clear.
package struct SealedRow: Sendable {
    /// The `rowid`, which is never reused; zero before the row is inserted.
    package var id: Int64 = 0
    /// The item's identity: 16 random bytes, which its persistent reference contains.
    package var identity: Data
    /// The keyed digest of the item's class.
    package var classDigest: Data
    /// Whether the row is an item, or an object on the token that a change is making or destroying.
    package var state = RowState.live
    /// The keyed digest of the primary key; unique in the vault.
    package var primaryKey: Data
    /// The version of the row, counted from 1; part of the additional data of both ciphertexts.
    package var version: Int64
    /// The time of creation in milliseconds since 1970.
    package var created: Int64
    /// The time of the last change in milliseconds since 1970.
    ///
    /// The sealed attributes hold the same time. That one is shown to callers and is the base of the next one.
    package var modified: Int64
    /// The attributes, sealed under the metadata key.
    package var attributes: SealedBytes
    /// The secret, sealed under the row key; `nil` for an item without a secret.
    package var secret: SealedBytes?
    /// The recipients of the row key; empty for an item without a secret, and unless the caller reads secrets.
    package var recipients: [Recipient] = []
    /// The keyed digests of the indexed attributes. They are written, but never read back.
    package var terms: Set<Data> = []
    /// The name of an object that the token shows without a login; `nil` for all other rows.
    package var publicName: PublicName?
    /// The row's status in the vault's record of its rows, for a row that was read.
    package var recordStatus = RecordStatus.unknown(
        KeychainError(.failed, "a row was read without the vault's record of its rows."))

    package init(
        id: Int64 = 0, identity: Data, classDigest: Data, state: RowState = RowState.live, primaryKey: Data,
        version: Int64, created: Int64, modified: Int64, attributes: SealedBytes, secret: SealedBytes? = nil,
        recipients: [Recipient] = [], terms: Set<Data> = [], publicName: PublicName? = nil
    ) {
        self.id = id
        self.identity = identity
        self.classDigest = classDigest
        self.state = state
        self.primaryKey = primaryKey
        self.version = version
        self.created = created
        self.modified = modified
        self.attributes = attributes
        self.secret = secret
        self.recipients = recipients
        self.terms = terms
        self.publicName = publicName
    }

    /// Whether a row is the one that was written last.
    package enum RecordStatus: Sendable {
        /// The row is the one that was written last.
        case current
        /// The row is an older copy, or was removed.
        case superseded
        /// The record cannot be read, or was not read.
        case unknown(KeychainError)
    }

    /// The entry of the row in the record: the beginnings of the tags of its attributes and of its secret.
    ///
    /// Without the keys, tags cannot be told from random bytes, and the codes of the recipients keep out row keys
    /// that an attacker knows. So 64 bits distinguish any two versions.
    package var treeEntry: RowTree.Entry {
        RowTree.Entry(
            high: UInt64(bigEndianBytes: attributes.tag.prefix(8)) ?? 0,
            low: secret.map { UInt64(bigEndianBytes: $0.tag.prefix(8)) ?? 0 } ?? 0)
    }
}

/// One recipient of a row key: a wrapping key that can unwrap it.
package struct Recipient: Hashable, Sendable {
    /// The wrapping key's row in the vault.
    package var wrappingKey: Int64
    /// The row key, wrapped in the form of the wrapping key's suite.
    package var encryptedKey: [UInt8]
    /// The code by which the metadata key authenticates the wrapped key (`VaultKeys.recipient(_:of:_:)`).
    package var code: [UInt8]

    package init(wrappingKey: Int64, encryptedKey: [UInt8], code: [UInt8]) {
        self.wrappingKey = wrappingKey
        self.encryptedKey = encryptedKey
        self.code = code
    }
}

extension SealedRow {
    /// The present time in the unit of rows: milliseconds since 1970.
    package static func now() -> Int64 { Int64((Date().timeIntervalSince1970 * 1000).rounded()) }
}
