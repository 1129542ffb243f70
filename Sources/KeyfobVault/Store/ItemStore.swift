package import Foundation

/// The storage of the vault's rows.
///
/// The store does not know keys, classes or attributes. It holds ciphertext and digests, finds rows by digest, and runs
/// transactions that are durable when they return. The only implementation uses SQLite; one for a database server would
/// fit the same calls.
///
/// Implementation guidance: `read` sees one consistent state. `write` is one transaction that is serialised with the
/// other writers of all processes, rolled back if the body throws, and on disk when it returns. A unique violation of
/// `primaryKey` throws `duplicateItem`. All calls block.
package protocol ItemStore: Sendable {
    /// The 16 random bytes that identify the vault.
    ///
    /// They are made with the vault and are part of all additional data.
    var identity: Data { get }

    /// Runs `body` on one consistent state.
    ///
    /// Rows are compared with the record that `tree` authenticates. Without a key, the record status of a row is
    /// unknown.
    func read<Result>(_ tree: RowTreeKey?, _ body: (any StoreReader) throws -> Result) throws -> Result

    /// Runs `body` in one transaction and brings the record of the rows up to date in it.
    func write<Result>(_ tree: RowTreeKey, _ body: (any StoreWriter) throws -> Result) throws -> Result

    /// Checks the file and, given `tree`, that it holds exactly the rows that were written last.
    ///
    /// - Parameters:
    ///   - tree: The key of the record of the rows; `nil` checks the file only.
    ///   - damage: Returns the finding about a row that fails its integrity check, and `nil` for an intact row. A row
    ///     with such a finding is not compared with the record.
    /// - Returns: The findings; empty if the vault is sound.
    func integrityFindings(
        _ tree: RowTreeKey?, damage: (SealedRow) throws -> VaultFinding?
    ) throws -> [VaultFinding]
}

extension ItemStore {
    /// Runs `body` on one consistent state, for calls that do not read rows.
    package func read<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result { try read(nil, body) }
}

/// Reads of one consistent state.
package protocol StoreReader {
    /// Calls `body` with the live rows of the classes that have all of `terms`, in the order in which they were added.
    ///
    /// - Parameters:
    ///   - classDigests: The digests of the classes.
    ///   - terms: The digests of attributes that a row must have, the most selective one first.
    ///   - withSecrets: Whether `body` needs the secrets and their recipients.
    ///   - after: The `id` of the row before the first one to read; 0 for all rows.
    ///   - body: Returns `false` to stop.
    func forEachRow(
        classDigests: [Data], terms: [Data], withSecrets: Bool, after: Int64, _ body: (SealedRow) throws -> Bool
    ) throws

    /// Returns the live row with an identity.
    func row(identity: Data, withSecret: Bool) throws -> SealedRow?

    /// Returns the live row with a primary key.
    func row(primaryKey: Data) throws -> SealedRow?

    /// Returns the number of rows in any state.
    func rowCount() throws -> Int

    /// Returns the number of live rows of a class.
    func rowCount(classDigest: Data) throws -> Int

    /// Returns the number of transactions that have changed rows.
    func changeCount() throws -> UInt64

    /// Returns the number of rows in any state according to the record of the rows.
    func recordedRowCount() throws -> Int

    /// Returns all wrapping keys, oldest first.
    func wrappingKeys() throws -> [WrappingKeyRow]

    /// Returns the rows that are not live, oldest first.
    func unfinishedRows() throws -> [SealedRow]

    /// Returns the names stored in clear of objects that the token shows without a login, oldest row first.
    func publicNames() throws -> [PublicName]

    /// Returns the stamp with which the index of the token's objects was written; `nil` if there is no index.
    func objectIndexStamp() throws -> Data?

    /// Calls `body` with every object of the index.
    func forEachIndexedObject(_ body: (IndexedObject) throws -> Void) throws
}

extension StoreReader {
    /// Calls `body` with the live rows of one class that have all of `terms`, in the order in which they were added.
    package func forEachRow(
        classDigest: Data, terms: [Data], withSecrets: Bool, _ body: (SealedRow) throws -> Bool
    ) throws {
        try forEachRow(classDigests: [classDigest], terms: terms, withSecrets: withSecrets, after: 0, body)
    }
}

/// Changes within one transaction.
package protocol StoreWriter: StoreReader {
    /// Starts the record of the rows in a vault that has no rows yet.
    func beginRecord() throws

    /// Makes a new record of the rows for which `isWhole` returns `true`.
    ///
    /// The other rows keep the entries that the old record had for them.
    ///
    /// - Returns: The number of intact rows.
    func renewRecord(_ isWhole: (SealedRow) throws -> Bool) throws -> Int

    /// Inserts a row with its recipients and terms and returns its id.
    func insert(_ row: SealedRow) throws -> Int64

    /// Replaces a row, its recipients and its terms.
    ///
    /// `row.version` must be the stored version plus one.
    func update(_ row: SealedRow) throws

    /// Removes a row.
    func delete(rowID: Int64) throws

    /// Removes the rows for which `damage` returns a finding, and returns these findings.
    func deleteRows(_ damage: (SealedRow) throws -> VaultFinding?) throws -> [VaultFinding]

    /// Adds a wrapping key and returns its id.
    func insert(_ key: WrappingKeyRow) throws -> Int64

    /// Replaces the index; `nil` as the stamp marks it as absent.
    func replaceObjectIndex(_ objects: [IndexedObject], stamp: Data?) throws

    /// Changes single entries of the index, and its stamp.
    func updateObjectIndex(inserting: [IndexedObject], removing: [Data], stamp: Data?) throws
}
