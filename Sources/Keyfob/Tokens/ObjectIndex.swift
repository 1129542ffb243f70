import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11

/// The token's objects, from the vault's index where it is still true, else from the token.
///
/// SoftHSM opens every object's file before it answers anything: 37 ms and more for 1,000 objects. The
/// index answers without opening the token, and only where the token can tell that nothing has changed.
/// Public objects are kept in clear, as the token shows them without a login; private ones are sealed. The index is a
/// cache: a program that can write the vault's file can remove entries from it, as it can remove rows. Every operation
/// reads class and fingerprint of an object back from the token.
final class ObjectIndex: Sendable {
    private let store: any ItemStore
    private let token: TokenStore
    /// The last answer, for as long as the token says that nothing has changed.
    private let cache = Lock<Answer?>(nil)

    private struct Answer {
        let stamp: Data
        let objects: [TokenObject]
        /// Whether private objects are among them.
        let isComplete: Bool
    }

    init(store: any ItemStore, token: TokenStore) {
        self.store = store
        self.token = token
    }

    /// All objects that can be seen: with `keys`, the private ones too.
    ///
    /// Without `keys` nobody is logged in, and private objects are left out.
    func objects(_ keys: VaultKeys?) throws -> [TokenObject] {
        try objects(keys, at: token.changeDetector?.snapshot()?.stamp)
    }

    /// The same for a caller who has just asked the token for its state; `nil` where the token cannot tell.
    func objects(_ keys: VaultKeys?, at stamp: Data?) throws -> [TokenObject] {
        guard let detector = token.changeDetector, let stamp else { return try token.readObjects().objects }
        let wanted = keys != nil
        if let answer = cache.withLock({ $0 }), answer.stamp == stamp, answer.isComplete == wanted {
            return answer.objects
        }
        if let objects = try indexed(stamp, keys) {
            remember(objects, stamp, isComplete: wanted)
            return objects
        }
        guard let keys else { return try token.readObjects().objects }
        return try rebuild(keys, detector)
    }

    /// Takes note of a change of our own, after which the token is in the state of `stamp`.
    ///
    /// - Parameter before: The state before it. Of objects that were not all read then, this is not all there is either.
    func didChange(to objects: [TokenObject], stamp: Data?, from before: Data?) {
        let wasComplete = cache.withLock { $0.map { $0.stamp == before && $0.isComplete } ?? false }
        guard let stamp, wasComplete else { return cache.withLock { $0 = nil } }
        remember(TokenStore.completing(objects), stamp, isComplete: true)
    }

    /// Drops what was remembered: the keychain was locked.
    func forget() { cache.withLock { $0 = nil } }

    private func remember(_ objects: [TokenObject], _ stamp: Data, isComplete: Bool) {
        cache.withLock { $0 = Answer(stamp: stamp, objects: objects, isComplete: isComplete) }
    }

    private func indexed(_ stamp: Data, _ keys: VaultKeys?) throws -> [TokenObject]? {
        try store.read { reader -> [TokenObject]? in
            guard try reader.objectIndexStamp() == stamp else { return nil }
            var objects: [TokenObject] = []
            var isReadable = true
            try reader.forEachIndexedObject { entry in
                guard isReadable else { return }
                if keys == nil, case .sealed = entry.content { return }
                guard let object = self.object(in: entry, keys) else { return isReadable = false }
                objects.append(object)
            }
            // An entry that cannot be read is not a reason to fail: the token itself is there. Entries are written one
            // by one: that of a private key may not know the public half.
            return isReadable ? TokenStore.completing(objects) : nil
        }
    }

    /// The object of an entry, or `nil` where there is none to be read.
    private func object(in entry: IndexedObject, _ keys: VaultKeys?) -> TokenObject? {
        switch entry.content {
        case .clear(let bytes): return TokenObject(encoded: bytes)
        case .sealed(let sealed):
            // Whatever the reason, it is the same to those who can ask the token.
            guard let bytes = try? keys?.open(sealed, additionalData) else { return nil }
            return TokenObject(encoded: bytes)
        }
    }

    /// Brings the vault's index from one state of the token to the next; forgets it where it was not true for the first
    /// or where a state is not known. Touches only the entries that change.
    func update(
        _ writer: any StoreWriter, inserting: [TokenObject], removing: [TokenObject], from before: Data?,
        to after: Data?, _ keys: VaultKeys
    ) throws {
        guard let before, let after, try writer.objectIndexStamp() == before else { return try invalidate(writer) }
        try writer.updateObjectIndex(
            inserting: inserting.map { try entry($0, keys) }, removing: removing.map { try key(of: $0, keys) },
            stamp: after)
    }

    /// Marks the vault's index as true for no state of the token.
    ///
    /// The mark is random, so that a reader sees that objects changed while it read them.
    func invalidate(_ writer: any StoreWriter) throws {
        try writer.updateObjectIndex(
            inserting: [], removing: [], stamp: Data(try RandomBytes.bytes(count: Self.invalidStampCount)))
    }

    /// Shorter than every stamp of a token, so that it equals none.
    private static let invalidStampCount = 16

    private func rebuild(_ keys: VaultKeys, _ detector: any TokenChangeDetector) throws -> [TokenObject] {
        let before = detector.snapshot()?.stamp
        let listing = try wholeListing()
        let objects = listing.objects
        guard let before, detector.snapshot()?.stamp == before else { return objects }
        // An index without an object that could not be read would hide it until the token changes.
        guard listing.isComplete else { return objects }
        // Objects that nothing tells apart cannot be kept apart in the index either.
        guard Self.areDistinct(objects) else { return objects }
        let entries = try objects.map { try entry($0, keys) }
        do {
            try store.write(keys.tree) { try $0.replaceObjectIndex(entries, stamp: before) }
        } catch let error as KeychainError
            where [.vaultBusy, .refused, .vaultUnavailable, .diskFull].contains(error.code)
        {
            // The index is a convenience: somebody who may or can only read gets the answer without it.
        }
        remember(objects, before, isComplete: true)
        return objects
    }

    /// All objects of a token of ours, the private ones too.
    ///
    /// Whoever took a list without them for the whole would import keys a second time, and hide identities from every
    /// other process by the index. The first look may have been cut short by somebody who locked the keychain.
    private func wholeListing() throws -> TokenStore.Listing {
        let first = try token.readObjects()
        if first.isWhole { return first }
        // The pool may believe itself logged in; it logs in anew for the next look.
        try token.logout()
        let second = try token.readObjects()
        guard second.isWhole else {
            throw KeychainError(
                .pinRequired, "token \"\(token.label)\" shows its private objects to nobody who is not logged in.",
                remedies: [Remedy("Unlock the keychain", .unlock())])
        }
        return second
    }

    /// Whether every object has an entry of its own.
    static func areDistinct(_ objects: [TokenObject]) -> Bool {
        Set(objects.map(\.indexKey)).count == objects.count
    }

    /// The index entry of an object.
    private func entry(_ object: TokenObject, _ keys: VaultKeys) throws -> IndexedObject {
        let content: IndexedObject.Content = object.flags.contains(.isPrivate)
            ? .sealed(try keys.seal(object.encoded, additionalData)) : .clear(object.encoded)
        return IndexedObject(key: try self.key(of: object, keys), content: content)
    }

    /// What the index entry of an object is found by.
    private func key(of object: TokenObject, _ keys: VaultKeys) throws -> Data {
        // A key in clear would tell the public key of a private object.
        object.flags.contains(.isPrivate)
            ? try keys.term(.key, .objectFingerprint, .data(object.indexKey)) : object.indexKey
    }

    private var additionalData: AdditionalData {
        AdditionalData(.object, vault: store.identity, row: Data(count: 16))
    }
}
