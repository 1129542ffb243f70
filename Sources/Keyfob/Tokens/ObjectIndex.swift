import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11

/// The token's objects, from the vault's index if it is current, otherwise from the token.
///
/// SoftHSM opens every object's file before it answers any question: 37 ms and more for 1,000 objects. The index
/// answers without opening the token, but only if the token can report that nothing has changed. Public objects are
/// stored in clear, since the token shows them without a login; private ones are sealed.
///
/// The index is a cache. A program that can write the vault's file can remove entries from it, as it can remove rows.
/// So every operation reads class and fingerprint of an object back from the token.
final class ObjectIndex: Sendable {
    private let store: any ItemStore
    private let token: TokenStore
    /// The last answer, valid as long as the token reports no change.
    private let cache = Lock<Answer?>(nil)

    private struct Answer {
        let stamp: Data
        let objects: [TokenObject]
        /// Whether private objects are included.
        let isComplete: Bool
    }

    init(store: any ItemStore, token: TokenStore) {
        self.store = store
        self.token = token
    }

    /// All visible objects; with `keys`, including the private ones.
    ///
    /// - Parameter keys: The vault's keys; `nil` if the keychain is locked, which leaves out private objects.
    /// - Returns: The objects.
    /// - Throws: `KeychainError`.
    func objects(_ keys: VaultKeys?) throws -> [TokenObject] {
        try objects(keys, at: token.changeDetector?.snapshot()?.stamp)
    }

    /// Like `objects(_:)`, for a caller that has just determined the token's state; `nil` if the token cannot report
    /// it.
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

    /// Records a change by this process, after which the token is in the state of `stamp`.
    ///
    /// - Parameters:
    ///   - objects: The objects after the change.
    ///   - stamp: The state after the change; `nil` if it is unknown.
    ///   - before: The state before the change. If the cache did not hold all objects of that state, it is cleared.
    func didChange(to objects: [TokenObject], stamp: Data?, from before: Data?) {
        let wasComplete = cache.withLock { $0.map { $0.stamp == before && $0.isComplete } ?? false }
        guard let stamp, wasComplete else { return cache.withLock { $0 = nil } }
        remember(TokenStore.completing(objects), stamp, isComplete: true)
    }

    /// Clears the cache, because the keychain was locked.
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
            // An entry that cannot be read is not a failure, since the token can be read instead. Entries are written
            // one by one, so that of a private key may lack the public half.
            return isReadable ? TokenStore.completing(objects) : nil
        }
    }

    /// Decodes the object of an entry; `nil` if that fails.
    private func object(in entry: IndexedObject, _ keys: VaultKeys?) -> TokenObject? {
        switch entry.content {
        case .clear(let bytes): return TokenObject(encoded: bytes)
        case .sealed(let sealed):
            // Whatever the reason is, the caller reads the token instead.
            guard let bytes = try? keys?.open(sealed, additionalData) else { return nil }
            return TokenObject(encoded: bytes)
        }
    }

    /// Updates the vault's index from one state of the token to the next. Touches only the entries that change.
    ///
    /// Invalidates the index if it was not current in the first state, or if a state is unknown.
    func update(
        _ writer: any StoreWriter, inserting: [TokenObject], removing: [TokenObject], from before: Data?,
        to after: Data?, _ keys: VaultKeys
    ) throws {
        guard let before, let after, try writer.objectIndexStamp() == before else { return try invalidate(writer) }
        try writer.updateObjectIndex(
            inserting: inserting.map { try entry($0, keys) }, removing: removing.map { try key(of: $0, keys) },
            stamp: after)
    }

    /// Marks the vault's index as not current for any state of the token.
    func invalidate(_ writer: any StoreWriter) throws {
        try writer.updateObjectIndex(inserting: [], removing: [], stamp: nil)
    }

    private func rebuild(_ keys: VaultKeys, _ detector: SoftHSMChangeDetector) throws -> [TokenObject] {
        let before = detector.snapshot()?.stamp
        let listing = try wholeListing()
        let objects = listing.objects
        guard let before, detector.snapshot()?.stamp == before else { return objects }
        // An index without an unreadable object would hide that object until the token changes.
        guard listing.isComplete else { return objects }
        // Objects that cannot be distinguished cannot have separate entries in the index.
        guard Self.areDistinct(objects) else { return objects }
        let entries = try objects.map { try entry($0, keys) }
        do {
            try store.write(keys.tree) { try $0.replaceObjectIndex(entries, stamp: before) }
        } catch let error as KeychainError
            where [.vaultBusy, .refused, .vaultUnavailable, .diskFull].contains(error.code)
        {
            // The index is optional: a process that can only read gets the answer without it.
        }
        remember(objects, before, isComplete: true)
        return objects
    }

    /// All objects of one of Keyfob's tokens, including the private ones.
    ///
    /// A list without private objects must not be taken as complete: an import would duplicate keys, and the index
    /// would hide identities from all processes. The first attempt may be incomplete because another thread locked the
    /// keychain.
    private func wholeListing() throws -> TokenStore.Listing {
        let first = try token.readObjects()
        if first.isWhole { return first }
        // The pool may wrongly believe that it is logged in; after a logout it logs in again for the next attempt.
        try token.logout()
        let second = try token.readObjects()
        guard second.isWhole else {
            throw KeychainError(
                .pinRequired, "token \"\(token.label)\" shows its private objects only after a login.",
                remedies: [Remedy("Unlock the keychain", .unlock())])
        }
        return second
    }

    /// Whether every object has an index key of its own.
    static func areDistinct(_ objects: [TokenObject]) -> Bool {
        Set(objects.map(\.indexKey)).count == objects.count
    }

    /// The index entry of an object.
    private func entry(_ object: TokenObject, _ keys: VaultKeys) throws -> IndexedObject {
        let content: IndexedObject.Content = object.flags.contains(.isPrivate)
            ? .sealed(try keys.seal(object.encoded, additionalData)) : .clear(object.encoded)
        return IndexedObject(key: try self.key(of: object, keys), content: content)
    }

    /// The key of an object's index entry.
    private func key(of object: TokenObject, _ keys: VaultKeys) throws -> Data {
        // A key in clear would reveal the public key of a private object.
        object.flags.contains(.isPrivate)
            ? try keys.term(.key, .objectFingerprint, .data(object.indexKey)) : object.indexKey
    }

    private var additionalData: AdditionalData {
        AdditionalData(.object, vault: store.identity, row: Data(count: 16))
    }
}
