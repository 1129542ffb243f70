import Foundation

/// Where the vault's rows are kept.
///
/// The store knows nothing of keys, classes or attributes: it holds ciphertext and digests, finds rows
/// by digests, and gives transactions that are durable when they return. SQLite is the first
/// implementation; one for a database server fits the same calls.
///
/// Implementation guidance: `read` sees one consistent state; `write` is one transaction, serialised
/// with all other writers of all processes, rolled back when the body throws, and on disk when it
/// returns. A unique violation of `primaryKey` throws `duplicateItem`. All calls block.
protocol ItemStore: Sendable {
    /// Identifies the vault; 16 random bytes, made with it. Part of all additional data.
    var identity: Data { get }

    /// Runs `body` on one consistent state. Rows are compared with the record of `tree`; without it their standing
    /// is unknown.
    func read<Result>(_ tree: RowTreeKey?, _ body: (any StoreReader) throws -> Result) throws -> Result

    /// Runs `body` in one transaction, which also brings the record of the rows up to date.
    func write<Result>(_ tree: RowTreeKey, _ body: (any StoreWriter) throws -> Result) throws -> Result

    /// Checks the file itself and, with `tree`, that it holds the rows that were written last and no others; the
    /// findings, empty when it is sound.
    ///
    /// `damage` gives the finding about a row that fails its integrity check, and `nil` for one that is whole. It is
    /// asked first: what the record says of a row that does not open is not what is wrong with it.
    func integrityFindings(
        _ tree: RowTreeKey?, damage: (SealedRow) throws -> VaultFinding?
    ) throws -> [VaultFinding]
}

extension ItemStore {
    /// Runs `body` on one consistent state; for what is no row.
    func read<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result { try read(nil, body) }
}

/// Reads of one consistent state.
protocol StoreReader {
    /// Live rows of the classes that carry all of `terms`, in the order in which they were added.
    ///
    /// - Parameters:
    ///   - after: The `id` of the row before the first one that is wanted; 0 for all rows.
    ///   - body: Returns `false` to stop.
    func forEachRow(
        classDigests: [Data], terms: [Data], withSecrets: Bool, after: Int64, _ body: (SealedRow) throws -> Bool
    ) throws

    /// The live row of an identity.
    func row(identity: Data, withSecret: Bool) throws -> SealedRow?

    /// The live row with a primary key.
    func row(primaryKey: Data) throws -> SealedRow?

    /// How many rows there are in any state.
    func rowCount() throws -> Int

    /// How many live rows of a class there are.
    func rowCount(classDigest: Data) throws -> Int

    /// How many transactions have changed rows.
    func changeCount() throws -> UInt64

    /// How many rows there are in any state, by the record of the rows.
    func recordedRowCount() throws -> Int

    /// All wrapping keys, oldest first.
    func wrappingKeys() throws -> [WrappingKeyRow]

    /// The rows that are not live, oldest first.
    func unfinishedRows() throws -> [SealedRow]

    /// What the rows say in clear of objects that the token shows without a login, oldest row first.
    func publicNames() throws -> [PublicName]

    /// The index of the token's objects, with the stamp it was true for; `nil` where there is none.
    func objectIndexStamp() throws -> Data?

    /// Every object of the index.
    func forEachIndexedObject(_ body: (IndexedObject) throws -> Void) throws

    /// The object of the index under a key.
    func indexedObject(key: Data) throws -> IndexedObject?
}

extension StoreReader {
    /// All rows of one class; as `forEachRow(classDigests:terms:withSecrets:after:_:)`.
    func forEachRow(
        classDigest: Data, terms: [Data], withSecrets: Bool, _ body: (SealedRow) throws -> Bool
    ) throws {
        try forEachRow(classDigests: [classDigest], terms: terms, withSecrets: withSecrets, after: 0, body)
    }
}

/// Changes within one transaction.
protocol StoreWriter: StoreReader {
    /// Begins the record of the rows in a vault that has no row yet.
    func beginRecord() throws

    /// Makes a new record of the rows that are there and for which `isWhole` says so; how many they are. Of the
    /// others stays recorded what was.
    func renewRecord(_ isWhole: (SealedRow) throws -> Bool) throws -> Int

    /// Inserts a row with its recipients and terms and returns its id.
    func insert(_ row: SealedRow) throws -> Int64

    /// Replaces a row, its recipients and its terms. `row.version` must be one more than the stored one.
    func update(_ row: SealedRow) throws

    /// Removes a row.
    func delete(rowID: Int64) throws

    /// Removes the rows for which `damage` gives a finding; these findings.
    func deleteRows(_ damage: (SealedRow) throws -> VaultFinding?) throws -> [VaultFinding]

    /// Adds a wrapping key and returns its id.
    func insert(_ key: WrappingKeyRow) throws -> Int64

    /// Replaces the index. `nil` as stamp forgets it.
    func replaceObjectIndex(_ objects: [IndexedObject], stamp: Data?) throws

    /// Changes single entries of the index and its stamp.
    func updateObjectIndex(inserting: [IndexedObject], removing: [Data], stamp: Data?) throws
}
