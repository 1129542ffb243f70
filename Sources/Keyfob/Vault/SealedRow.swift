import Foundation

/// One item as it lies in the vault: no attribute of it is in clear.
struct SealedRow: Sendable {
    /// `rowid`; never reused. Zero before the row is inserted.
    var id: Int64 = 0
    /// The item's identity, 16 random bytes: the core of its persistent reference.
    var identity: Data
    /// Keyed digest of the item's class.
    var classDigest: Data
    /// Whether the row is an item, or an object on the token that a change is making or destroying.
    var state = RowState.live
    /// Keyed digest of the primary key; unique in the vault.
    var primaryKey: Data
    /// Counts the versions of the row, from 1; part of the additional data of both ciphertexts.
    var version: Int64
    /// Milliseconds since 1970.
    var created: Int64
    /// Milliseconds since 1970, as sealed in the attributes: what is shown, and the next one is made from, is there.
    var modified: Int64
    /// The attributes, under the metadata key.
    var attributes: SealedBytes
    /// The secret, under the row key; `nil` for an item without one.
    var secret: SealedBytes?
    /// The row key's recipients; empty for an item without a secret. Filled only where a caller asks for secrets.
    var recipients: [Recipient] = []
    /// Keyed digests of the indexed attributes. Written, never read back.
    var terms: Set<Data> = []
    /// The name of an object that the token shows without a login; `nil` for all other rows.
    var publicName: PublicName?
    /// What the vault's record of its rows says of this one, for a row that was read.
    var recordStatus = RecordStatus.unknown(KeychainError(.failed, "a row was read without the vault's record of its rows."))

    /// Whether a row is the one that was written last.
    enum RecordStatus: Sendable {
        /// It is.
        case current
        /// It is not: an older copy, or one of a row that was removed.
        case superseded
        /// The record cannot be read, or was not asked for.
        case unknown(KeychainError)
    }

    /// What the record keeps of the row: the beginnings of the tags of its attributes and of its secret.
    ///
    /// A tag is as good as random to whoever has no key, so that 64 bits tell any two versions apart.
    var treeEntry: RowTree.Entry {
        RowTree.Entry(
            high: UInt64(bigEndianBytes: attributes.tag.prefix(8)) ?? 0,
            low: secret.map { UInt64(bigEndianBytes: $0.tag.prefix(8)) ?? 0 } ?? 0)
    }
}

/// One recipient of a row's key: a wrapping key that can unwrap it.
struct Recipient: Hashable, Sendable {
    /// The wrapping key's row in the vault.
    var wrappingKey: Int64
    /// The row key, wrapped in the form of the wrapping key's suite.
    var encryptedKey: [UInt8]
}
