import Foundation
import OpenSSL

/// A sum over the entries of an index, in whatever order: four numbers of 64 bits.
///
/// A sum, so that one entry more or less costs one digest and not one for each object; and no exclusive or, for which
/// an entry that is there twice would be none.
struct IndexSum: Hashable, Sendable {
    static let count = 32
    private var parts = SIMD4<UInt64>()

    init() {}

    /// The sum, or the digest of one entry, that these 32 bytes are.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.count else { return nil }
        for part in 0..<4 { parts[part] = UInt64(bigEndianBytes: bytes[part * 8..<part * 8 + 8]) ?? 0 }
    }

    var bytes: [UInt8] { (0..<4).flatMap { parts[$0].bigEndianBytes } }

    /// The digest of one entry: with `keys` one that only they make.
    init(of entry: IndexedObject, _ keys: VaultKeys?) throws {
        let bytes = entry.bytes
        let digest = try keys?.code(ofIndexed: bytes) ?? Digest.sha256.array(of: bytes)
        // Both digests have 32 bytes.
        self = Self(digest) ?? Self()
    }

    static func += (sum: inout Self, other: Self) { sum.parts = sum.parts &+ other.parts }
    static func -= (sum: inout Self, other: Self) { sum.parts = sum.parts &- other.parts }
}

/// What the vault keeps beside the index of token objects: the state of the token for which the index is true, and sums
/// that tell whether the entries are those that were written.
///
/// Two sums: nobody can make the keyed one without the vault's keys, and the open one is for those who read the public
/// objects while the keychain is locked. The keyed one is sealed, so that nobody learns the codes of single entries
/// from the sums before and after a change, and sealed together with the state, so that no older index passes.
struct IndexStamp {
    /// The open sum, nonce, ciphertext (binding and keyed sum), tag.
    private static let sealCount = IndexSum.count + 12 + 64 + 16

    /// The sum over the entries that needs no keys.
    let openSum: IndexSum
    private let sealed: SealedBytes
    private let binding: [UInt8]

    /// The stamp that lies in the vault, where it is one for `state`. Earlier versions kept the state alone: an index
    /// of which nothing tells whether it is whole.
    init?(_ bytes: Data?, of state: Data) {
        guard let bytes, bytes.count == state.count + Self.sealCount, bytes.starts(with: state) else { return nil }
        let seal = Array(bytes.dropFirst(state.count))
        guard let openSum = IndexSum(Array(seal[..<32])) else { return nil }
        self.openSum = openSum
        sealed = SealedBytes(
            initializationVector: Array(seal[32..<44]), ciphertext: Array(seal[44..<108]), tag: Array(seal[108...]))
        binding = Self.binding(state, openSum)
    }

    /// The keyed sum over the entries, or `nil` where the stamp is not one that Keyfob wrote.
    func keyedSum(_ keys: VaultKeys, vault: Data) -> IndexSum? {
        // Whyever it does not open: the token is there to be asked.
        guard let bytes = try? keys.open(sealed, Self.additionalData(vault)), bytes.count == 64,
            Array(bytes[..<32]) == binding
        else { return nil }
        return IndexSum(Array(bytes[32...]))
    }

    /// The stamp for a state, as it lies in the vault.
    static func bytes(
        of state: Data, openSum: IndexSum, keyedSum: IndexSum, _ keys: VaultKeys, vault: Data
    ) throws -> Data {
        let sealed = try keys.seal(binding(state, openSum) + keyedSum.bytes, additionalData(vault))
        var bytes = Array(state)
        for part in [openSum.bytes, sealed.initializationVector, sealed.ciphertext, sealed.tag] { bytes += part }
        return Data(bytes)
    }

    private static func binding(_ state: Data, _ openSum: IndexSum) -> [UInt8] {
        Digest.sha256.array(of: Array(state) + openSum.bytes)
    }

    private static func additionalData(_ vault: Data) -> AdditionalData {
        AdditionalData(.objectSum, vault: vault, row: Data(count: 16))
    }
}
