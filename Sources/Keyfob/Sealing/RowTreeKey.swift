import KeyfobOpenSSL

/// The key that authenticates the nodes and the root of a ``RowTree``.
///
/// It is derived with the vault's identity, so that no part of another vault's tree is valid.
struct RowTreeKey: Sendable {
    private let key: HMACSHA256

    init(_ key: HMACSHA256) { self.key = key }

    /// Returns the digest that a parent stores for a node: half of the code of its position and its entries.
    func digest(of node: [UInt8], at id: RowTree.NodeID) throws -> RowTree.Entry {
        var message = Array("node".utf8)
        message.reserveCapacity(node.count + 13)
        message.append(UInt8(id.level))
        message += id.position.bigEndianBytes
        message += node
        let code = try key.authenticationCode(for: message)
        return RowTree.Entry(
            high: UInt64(bigEndianBytes: code[0..<8]) ?? 0, low: UInt64(bigEndianBytes: code[8..<16]) ?? 0)
    }

    /// Returns the bytes of the root in the vault: height (1), counter (8), number of rows (8), digest (16), code (32).
    func seal(_ root: RowTree.Root) throws -> [UInt8] {
        let bytes = [UInt8(root.height)] + root.counter.bigEndianBytes + root.count.bigEndianBytes
            + root.digest.high.bigEndianBytes + root.digest.low.bigEndianBytes
        return bytes + (try key.authenticationCode(for: Array("root".utf8) + bytes))
    }

    /// Returns the root; `nil` if `seal` did not make these bytes.
    func open(_ bytes: [UInt8]) throws -> RowTree.Root? {
        guard bytes.count == 65, try key.isValid(Array(bytes[33...]), for: Array("root".utf8) + bytes[..<33]),
            let counter = UInt64(bigEndianBytes: bytes[1..<9]), let count = UInt64(bigEndianBytes: bytes[9..<17]),
            let high = UInt64(bigEndianBytes: bytes[17..<25]), let low = UInt64(bigEndianBytes: bytes[25..<33])
        else { return nil }
        return RowTree.Root(
            height: Int(bytes[0]), counter: counter, count: Int64(bitPattern: count),
            digest: RowTree.Entry(high: high, low: low))
    }
}
