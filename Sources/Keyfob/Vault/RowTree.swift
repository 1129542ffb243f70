import Foundation

/// A Merkle tree over the ids of the vault's rows, which records the current version of each row.
///
/// Every intact ciphertext opens, so an older copy of a row would open too. The tree detects such a copy. Its leaves
/// hold the tags of the ciphertexts that were written last, each node is authenticated by its parent, and the root by a
/// code under a key of the vault. Reading or writing a row touches one node per level; 262,144 rows need three levels.
///
/// One value serves one transaction. A node is read and checked when it is first needed. Changes stay in memory until
/// `flush` writes them, so that each node is written once however many rows under it change.
final class RowTree {
    /// The number of children of a node. `bits` is its binary logarithm.
    static let fanOut = 64
    private static let bits = 6

    /// The record that a parent has of a child, or a leaf node of a row.
    struct Entry: Hashable, Sendable {
        var high: UInt64 = 0
        var low: UInt64 = 0

        /// The entry of a child or row that does not exist.
        static let none = Entry()
        static let byteCount = 16
    }

    /// The place of a node in the tree.
    struct NodeID: Hashable {
        let level: Int
        let position: Int64

        /// The number under which a store keeps the node. The nodes of one level have consecutive numbers.
        var number: Int64 { Int64(level) << 58 | position }
        var parent: NodeID { NodeID(level: level + 1, position: position >> Int64(RowTree.bits)) }
        var indexInParent: Int { Int(position) & (RowTree.fanOut - 1) }
    }

    /// The root of the tree, against which all nodes are checked.
    struct Root: Hashable, Sendable {
        /// The level of the topmost node.
        var height = 0
        /// The number of transactions that changed a row.
        var counter: UInt64 = 0
        /// The number of rows.
        var count: Int64 = 0
        /// The topmost node's digest.
        var digest = Entry.none
    }

    /// The storage of the nodes and the root, within the tree's transaction.
    protocol Storage {
        func treeRoot() throws -> [UInt8]?
        func treeNode(_ number: Int64) throws -> [UInt8]?
        func setTreeRoot(_ bytes: [UInt8]) throws
        /// Writes a node; `nil` removes it.
        func setTreeNode(_ number: Int64, _ bytes: [UInt8]?) throws
        func removeTreeNodes() throws
    }

    /// The nodes that one transaction has checked, for use by the next one.
    ///
    /// It is valid as long as the bytes of the root stay the same.
    struct Snapshot: Sendable {
        fileprivate let bytes: [UInt8]
        let root: Root
        /// The checked nodes above the leaf nodes: one for 64 leaf nodes.
        fileprivate let nodes: [NodeID: [UInt8]]

        /// Whether this snapshot is newer than `other`, or has more nodes of the same root.
        func isBetter(than other: Snapshot?) -> Bool {
            guard let other else { return true }
            return bytes == other.bytes ? nodes.count > other.nodes.count : root.counter > other.root.counter
        }
    }

    /// The most nodes that are kept for the next transaction: 4 MiB, enough for 16 million rows.
    private static let maximumKnown = 4096

    private let key: RowTreeKey
    private let storage: any Storage
    private let previous: Snapshot?
    private var loaded: (bytes: [UInt8], root: Root)?
    private var isChanged = false
    private var dirty: [NodeID: [UInt8]] = [:]
    /// The checked nodes above the leaf nodes.
    private var known: [NodeID: [UInt8]] = [:]
    /// The leaf node used last, already checked. A walk in the order of the ids checks each leaf node once.
    private var lastLeaf: (position: Int64, bytes: [UInt8])?

    /// Makes a tree that reads its nodes from `storage` when they are needed.
    ///
    /// - Parameter previous: What a transaction checked that ended before this one began.
    init(key: RowTreeKey, storage: any Storage, previous: Snapshot? = nil) {
        self.key = key
        self.storage = storage
        self.previous = previous
    }

    /// The checked nodes, to be kept after the commit; `nil` if this transaction read nothing or is not flushed.
    var snapshot: Snapshot? {
        guard let loaded, !isChanged else { return nil }
        return Snapshot(
            bytes: loaded.bytes, root: loaded.root, nodes: known.count <= Self.maximumKnown ? known : [:])
    }

    /// Returns the root.
    ///
    /// - Throws: `KeychainError` with code `vaultDamaged` if the root is missing, forged, or older than one that this
    ///   process has seen.
    func root() throws -> Root {
        if let loaded { return loaded.root }
        guard let bytes = try storage.treeRoot() else { throw Self.damaged() }
        if let previous, previous.bytes == bytes {
            known = previous.nodes
            loaded = (bytes, previous.root)
            return previous.root
        }
        guard let root = try key.open(bytes) else { throw Self.damaged() }
        // Every change increments the counter, so another root with the same counter belongs to another history.
        guard root.counter > previous?.root.counter ?? 0 else {
            throw KeychainError(
                .vaultDamaged, "the vault is older than it was a moment ago: an earlier copy was put in its place.",
                hint: "If you restored a backup on purpose, start the program anew.", details: ["reason": "replayed"])
        }
        loaded = (bytes, root)
        return root
    }

    /// Returns the entry of a row; `none` if the tree has no such row.
    ///
    /// - Throws: `KeychainError` with code `vaultDamaged` if the root or a node on the path fails its check.
    func entry(of row: Int64) throws -> Entry {
        guard row >= 0, row >> Int64(Self.bits * (try root().height + 1)) == 0 else { return .none }
        return try node(NodeID(level: 0, position: row >> Int64(Self.bits))).entry(Int(row) & (Self.fanOut - 1))
    }

    /// Records a row; `none` removes its entry.
    ///
    /// - Throws: `KeychainError` with code `vaultDamaged` if the root or a node on the path fails its check, or if
    ///   `row` is negative.
    func set(_ entry: Entry, of row: Int64) throws {
        let old = try self.entry(of: row)
        guard old != entry else { return }
        guard row >= 0 else { throw Self.damaged() }
        try grow(toHold: row)
        try change(NodeID(level: 0, position: row >> Int64(Self.bits)), Int(row) & (Self.fanOut - 1), entry)
        if old == .none { loaded?.root.count += 1 } else if entry == .none { loaded?.root.count -= 1 }
        isChanged = true
    }

    /// Writes the changed nodes and the root.
    func flush() throws {
        guard isChanged else { return }
        var level = 0
        while try level <= root().height {
            // In the order of their numbers, so that SQLite appends a batch of new nodes.
            let nodes = dirty.filter { $0.key.level == level }.sorted { $0.key.position < $1.key.position }
            for (id, bytes) in nodes {
                let isEmpty = bytes.allSatisfy { $0 == 0 }
                try storage.setTreeNode(id.number, isEmpty ? nil : bytes)
                let digest = isEmpty ? Entry.none : try key.digest(of: bytes, at: id)
                if try level == root().height {
                    loaded?.root.digest = digest
                } else {
                    try change(id.parent, id.indexInParent, digest)
                }
            }
            level += 1
        }
        var root = try root()
        root.counter += 1
        let bytes = try key.seal(root)
        try storage.setTreeRoot(bytes)
        loaded = (bytes, root)
        for (id, bytes) in dirty where id.level > 0 { known[id] = bytes }
        dirty = [:]
        lastLeaf = nil
        isChanged = false
    }

    /// Starts a tree without rows in place of the present one, which may be damaged.
    func makeEmpty() throws {
        // The counter must exceed that of any root seen before. A root that cannot be read does not count.
        let counter = max(previous?.root.counter ?? 0, (try? root().counter) ?? 0)
        try storage.removeTreeNodes()
        loaded = ([], Root(counter: counter))
        dirty = [:]
        known = [:]
        lastLeaf = nil
        isChanged = true
    }

    // MARK: Nodes

    private func node(_ id: NodeID) throws -> [UInt8] {
        if let bytes = dirty[id] { return bytes }
        if id.level == 0 {
            if let lastLeaf, lastLeaf.position == id.position { return lastLeaf.bytes }
        } else if let bytes = known[id] {
            return bytes
        }
        let root = try root()
        let expected = id.level == root.height ? root.digest : try node(id.parent).entry(id.indexInParent)
        let bytes: [UInt8]
        if expected == .none {
            bytes = [UInt8](repeating: 0, count: Self.fanOut * Entry.byteCount)
        } else {
            guard let found = try storage.treeNode(id.number), found.count == Self.fanOut * Entry.byteCount,
                try key.digest(of: found, at: id) == expected
            else { throw Self.damaged() }
            bytes = found
        }
        if id.level == 0 { lastLeaf = (id.position, bytes) } else { known[id] = bytes }
        return bytes
    }

    private func change(_ id: NodeID, _ index: Int, _ entry: Entry) throws {
        // Removed from the dictionary, so that the array is changed in place and not copied.
        var bytes = try dirty.removeValue(forKey: id) ?? node(id)
        bytes.setEntry(entry, index)
        dirty[id] = bytes
    }

    private func grow(toHold row: Int64) throws {
        var root = try root()
        while row >> Int64(Self.bits * (root.height + 1)) != 0 {
            let top = NodeID(level: root.height + 1, position: 0)
            var bytes = [UInt8](repeating: 0, count: Self.fanOut * Entry.byteCount)
            // If the old top has changed, `flush` updates this entry.
            bytes.setEntry(root.digest, 0)
            root.height += 1
            dirty[top] = bytes
        }
        loaded?.root = root
    }

    private static func damaged() -> KeychainError {
        KeychainError(
            .vaultDamaged, "the vault's record of its rows is damaged or was changed by another program.",
            hint: "Restore the vault from a backup.")
    }
}

extension [UInt8] {
    fileprivate func entry(_ index: Int) -> RowTree.Entry {
        let start = index * RowTree.Entry.byteCount
        return RowTree.Entry(
            high: UInt64(bigEndianBytes: self[start..<start + 8]) ?? 0,
            low: UInt64(bigEndianBytes: self[start + 8..<start + 16]) ?? 0)
    }

    fileprivate mutating func setEntry(_ entry: RowTree.Entry, _ index: Int) {
        let start = index * RowTree.Entry.byteCount
        replaceSubrange(start..<start + 16, with: entry.high.bigEndianBytes + entry.low.bigEndianBytes)
    }
}
