import Foundation

/// One item as the vault stores it, without any attribute in clear.
struct SealedRow: Sendable {
    /// The `rowid`, which is never reused; zero before the row is inserted.
    var id: Int64 = 0
    /// The item's identity: 16 random bytes, which its persistent reference contains.
    var identity: Data
    /// The keyed digest of the item's class.
    var classDigest: Data
    /// Whether the row is an item, or an object on the token that a change is making or destroying.
    var state = RowState.live
    /// The keyed digest of the primary key; unique in the vault.
    var primaryKey: Data
    /// The version of the row, counted from 1; part of the additional data of both ciphertexts.
    var version: Int64
    /// The time of creation in milliseconds since 1970.
    var created: Int64
    /// The time of the last change in milliseconds since 1970.
    ///
    /// The sealed attributes hold the same time. That one is shown to callers and is the base of the next one.
    var modified: Int64
    /// The attributes, sealed under the metadata key.
    var attributes: SealedBytes
    /// The secret, sealed under the row key; `nil` for an item without a secret.
    var secret: SealedBytes?
    /// The recipients of the row key; empty for an item without a secret, and unless the caller reads secrets.
    var recipients: [Recipient] = []
    /// The keyed digests of the indexed attributes. They are written, but never read back.
    var terms: Set<Data> = []
    /// The name of an object that the token shows without a login; `nil` for all other rows.
    var publicName: PublicName?
    /// The row's status in the vault's record of its rows, for a row that was read.
    var recordStatus = RecordStatus.unknown(KeychainError(.failed, "a row was read without the vault's record of its rows."))

    /// Whether a row is the one that was written last.
    enum RecordStatus: Sendable {
        /// The row is the one that was written last.
        case current
        /// The row is an older copy, or was removed.
        case superseded
        /// The record cannot be read, or was not read.
        case unknown(KeychainError)
    }

    /// The entry of the row in the record: the beginnings of the tags of its attributes and of its secret.
    ///
    /// Without the key, tags cannot be told from random bytes. 64 bits therefore distinguish any two versions.
    var treeEntry: RowTree.Entry {
        RowTree.Entry(
            high: UInt64(bigEndianBytes: attributes.tag.prefix(8)) ?? 0,
            low: secret.map { UInt64(bigEndianBytes: $0.tag.prefix(8)) ?? 0 } ?? 0)
    }
}

/// One recipient of a row key: a wrapping key that can unwrap it.
struct Recipient: Hashable, Sendable {
    /// The wrapping key's row in the vault.
    var wrappingKey: Int64
    /// The row key, wrapped in the form of the wrapping key's suite.
    var encryptedKey: [UInt8]
}
