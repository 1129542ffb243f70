import Foundation
import KeyfobPrimitives
import Logging
import KeyfobOpenSSL
import PKCS11

/// Changes objects on the token together with their rows in the vault.
///
/// The vault is the only journal. A change that creates objects first writes a `pending` row for each; a change that
/// destroys objects writes `removing` rows. When the token is done, one transaction writes the items and deletes these
/// rows. After a killed change, recovery finishes a removal and forgets an addition. It never destroys an object that
/// no command has asked to destroy.
struct TokenWriter: Sendable {
    let store: any ItemStore
    let token: TokenStore
    let lock: VaultLock
    let index: ObjectIndex
    let keys: VaultKeys
    let deadline: Deadline
    let logger: Logger

    /// The effect of a change on the token.
    struct Outcome {
        var added: [TokenObject] = []
        var removed: [TokenObject] = []

        /// The objects after the change.
        func applied(to objects: [TokenObject]) -> [TokenObject] {
            (removed.isEmpty ? objects : objects.filter { !removed.contains($0) }) + added
        }
    }

    /// Carries out one change.
    ///
    /// - Parameters:
    ///   - operation: The operation, for error messages.
    ///   - key: A key that awaits its certificate and that this change treats as listed.
    ///   - prepare: Gets the listed objects on the token, refuses the change if necessary, and returns the objects that
    ///     it creates or destroys; an empty list if only rows change.
    ///   - change: Changes the token. Runs at most once. It gets the objects that killed changes have left, and a
    ///     closure that replaces the rows of the objects. The closure is for a key whose identifier is known only after
    ///     its generation.
    ///   - commit: Writes the items, in the transaction that also deletes the rows of the change.
    /// - Returns: The result of `commit`.
    /// - Throws: `KeychainError`; errors of the closures.
    func perform<Result>(
        _ operation: TokenOperation, listing key: TokenObject? = nil,
        prepare: ([TokenObject]) throws -> [UnfinishedObject],
        change: (borrowing Session, [TokenObject], ([UnfinishedObject]) throws -> Void) throws -> Outcome,
        commit: (any StoreWriter, Outcome) throws -> Result
    ) throws -> Result {
        try exclusively {
            try finishRemovals()
            let before = token.changeDetector?.snapshot()
            let objects = try index.objects(keys, at: before?.stamp)
            let known = try presentUnfinished(among: objects)
            let leftovers = objects.filter { object in
                known.contains { $0.matches(object) } && key.map { !object.isSame(as: $0) } ?? true
            }
            let wanted = try prepare(leftovers.isEmpty ? objects : objects.filter { !leftovers.contains($0) })
            guard !wanted.isEmpty else { return try store.write(keys.tree) { try commit($0, Outcome()) } }
            var unfinished = try store.write(keys.tree) { try insert(wanted, $0) }
            var isRemoved = false
            do {
                let outcome = try token.withSession(operation, idempotent: false) { session in
                    try change(session, leftovers) { refined in
                        unfinished = try store.write(keys.tree) { writer in
                            for object in unfinished { try writer.delete(rowID: object.rowID) }
                            return try insert(refined, writer)
                        }
                    }
                }
                try token.requireFinished(outcome.added)
                isRemoved = !outcome.removed.isEmpty
                if isRemoved { token.forgetHandles() }
                try token.changeDetector?.makeDurable()
                let stamp = newStamp(before: before, outcome, among: objects)
                let result = try store.write(keys.tree) { writer in
                    let result = try commit(writer, outcome)
                    try index.update(
                        writer, inserting: outcome.added, removing: outcome.removed, from: before?.stamp, to: stamp,
                        keys)
                    let finished = unfinished + known.filter { one in outcome.added.contains { one.matches($0) } }
                    for object in finished { try writer.delete(rowID: object.rowID) }
                    return result
                }
                index.didChange(to: outcome.applied(to: objects), stamp: stamp, from: before?.stamp)
                return result
            } catch {
                // Report the first error. Objects that cannot be destroyed now stay hidden. The next process that opens
                // the keychain finishes a removal that has destroyed an object.
                let isRemoval = unfinished.contains { $0.state == .removing }
                let isVoid = (try? isRemoval ? arePresent(unfinished) : undo(unfinished)) == true
                if isVoid { try? store.write(keys.tree) { try delete(unfinished, $0) } }
                throw isRemoved ? afterRemoval(error) : error
            }
        }
    }

    /// Changes only rows, while no other Keyfob process changes the token.
    ///
    /// - Parameters:
    ///   - prepare: Gets the listed objects on the token, and refuses the change if necessary.
    ///   - commit: Writes the items, in one transaction.
    /// - Returns: The result of `commit`.
    /// - Throws: `KeychainError`; errors of the closures.
    func changeRows<Result>(
        prepare: ([TokenObject]) throws -> Void = { _ in }, commit: (any StoreWriter) throws -> Result
    ) throws -> Result {
        try perform(.change) { objects in
            try prepare(objects)
            return []
        } change: { _, _, _ in
            Outcome()
        } commit: { writer, _ in
            try commit(writer)
        }
    }

    /// The error if the vault cannot be written after the objects were destroyed.
    private func afterRemoval(_ error: any Error) -> any Error {
        guard let error = error as? KeychainError else { return error }
        return error.with(
            message: error.message + " The objects are removed from token \"\(token.label)\" all the same.",
            remedies: ["Nothing need be done again: the next command that can write the vault finishes the removal."])
    }

    private func insert(_ objects: [UnfinishedObject], _ writer: any StoreWriter) throws -> [UnfinishedObject] {
        try objects.map { object in
            var object = object
            object.rowID = try writer.insert(object.row(keys))
            return object
        }
    }

    /// Deletes the rows of unfinished objects. Invalidates the index, since it does not include their creation or
    /// removal.
    private func delete(_ objects: [UnfinishedObject], _ writer: any StoreWriter) throws {
        for object in objects { try writer.delete(rowID: object.rowID) }
        try index.invalidate(writer)
    }

    // MARK: Recovery

    /// Finishes the removals of a killed process.
    ///
    /// - Parameter deadline: The limit for waiting for another process that changes the token.
    /// - Throws: `KeychainError`; `vaultBusy` if another process changes the token until `deadline`.
    func recover(until deadline: Deadline) throws {
        guard try hasRemovals() else { return }
        try exclusively(until: deadline) { try finishRemovals() }
    }

    private func hasRemovals() throws -> Bool {
        try store.read(keys.tree) { try $0.unfinishedRows() }.contains { $0.state == .removing }
    }

    /// Runs `body` while no other Keyfob process changes the token or reads its objects.
    private func exclusively<Result>(until limit: Deadline? = nil, _ body: () throws -> Result) throws -> Result {
        try lock.withLock(until: limit ?? deadline) {
            try token.reinitializeIfBroken()
            return try token.writingObjects(until: deadline, body)
        }
    }

    /// Destroys the objects that interrupted removals have left on the token, and deletes the rows recorded with them.
    private func finishRemovals() throws {
        guard try hasRemovals() else { return }
        let removals = try store.read(keys.tree) { try $0.unfinishedObjects(keys) }.filter { $0.state == .removing }
        _ = try destroy(removals)
        // An object that the token does not destroy is listed again from now on.
        try store.write(keys.tree) { writer in
            for identity in Set(removals.flatMap(\.rows)) {
                guard let row = try writer.row(identity: identity, withSecret: false) else { continue }
                try writer.delete(rowID: row.id)
            }
            try delete(removals, writer)
        }
        logger.notice("an interrupted removal was finished", metadata: ["objects": "\(removals.count)"])
    }

    /// The unfinished objects that exist on the token. Deletes the rows of those that do not.
    private func presentUnfinished(among objects: [TokenObject]) throws -> [UnfinishedObject] {
        let unfinished = try store.read(keys.tree) { try $0.unfinishedObjects(keys) }
        guard !unfinished.isEmpty else { return [] }
        let absent = unfinished.filter { one in !objects.contains { one.matches($0) } }
        if !absent.isEmpty {
            // A killed process may have left their files empty, and SoftHSM lists no object for an empty file.
            try token.removeUnfinishedObjects(since: nil)
            try store.write(keys.tree) { writer in for one in absent { try writer.delete(rowID: one.rowID) } }
        }
        return unfinished.filter { one in !absent.contains { $0.rowID == one.rowID } }
    }

    /// Destroys objects that interrupted changes were creating, and deletes their rows.
    ///
    /// - Parameter isWanted: Selects the objects.
    func discardPending(where isWanted: (UnfinishedObject) -> Bool = { _ in true }) throws {
        try exclusively {
            try token.removeUnfinishedObjects(since: nil)
            let pending = try store.read(keys.tree) { try $0.unfinishedObjects(keys) }
                .filter { $0.state == .pending && isWanted($0) }
            guard !pending.isEmpty else { return }
            let isWhole = try destroy(pending)
            if isWhole { try store.write(keys.tree) { try delete(pending, $0) } }
        }
    }

    /// Whether all objects are on the token. A token may destroy an object and still report an error.
    private func arePresent(_ objects: [UnfinishedObject]) throws -> Bool {
        token.forgetHandles()
        return try token.withSession(.read) { session in
            let present = try token.readableObjects(in: session).map(\.object)
            return objects.allSatisfy { one in present.contains { one.matches($0) } }
        }
    }

    /// Destroys the objects that a failed change of this process has created.
    ///
    /// - Returns: Whether none of them is left.
    private func undo(_ objects: [UnfinishedObject]) throws -> Bool {
        try token.removeUnfinishedObjects(since: nil)
        return try destroy(objects)
    }

    /// Destroys objects on the token.
    ///
    /// - Returns: Whether none of them is left.
    private func destroy(_ objects: [UnfinishedObject]) throws -> Bool {
        var isWhole = true
        try token.withSession(.destroy) { session in
            for (handle, object) in try token.readableObjects(in: session)
            where objects.contains(where: { $0.matches(object) }) {
                let isGone = try leavingWhatTheTokenProtects(in: session) { try session.destroy(handle) }
                isWhole = isWhole && isGone
            }
        }
        token.forgetHandles()
        try token.changeDetector?.makeDurable()
        return isWhole
    }

    /// Runs `body`, ignoring an object that the token does not allow to be destroyed, since it would block every later
    /// change.
    ///
    /// Errors of the session, the login or the device are thrown, and the pool recovers from them.
    ///
    /// - Returns: Whether `body` succeeded.
    private func leavingWhatTheTokenProtects(in session: borrowing Session, _ body: () throws -> Void) throws -> Bool {
        do {
            try body()
            return true
        } catch let error as PKCS11Error where error.function == .destroyObject {
            switch error.recovery {
            case .final: break
            // On some tokens only the security officer may destroy the object. Otherwise the login has ended.
            case .logInAgain: guard try session.info().isUserLoggedIn else { throw error }
            default: throw error
            }
            return false
        }
    }

    // MARK: Index

    /// The state of the token after the change; `nil` if another program may have changed it as well.
    private func newStamp(
        before: TokenSnapshot?, _ outcome: Outcome, among objects: [TokenObject]
    ) -> Data? {
        // Objects that cannot be distinguished cannot have separate entries in the index.
        let isDistinct = outcome.added.allSatisfy { new in
            // Compare the fingerprint first, because the other comparisons copy the object.
            objects.first(at: { $0[$1].fingerprint == new.fingerprint && $0[$1].isCopy(of: new) }) == nil
        } && ObjectIndex.areDistinct(outcome.added)
        guard isDistinct, let before, let after = token.changeDetector?.snapshot() else { return nil }
        let difference = before.difference(to: after)
        guard difference.added.count == outcome.added.count, difference.removed.count == outcome.removed.count,
            difference.changed.isEmpty
        else { return nil }
        return after.stamp
    }
}

extension TokenStore {
    /// The readable objects on the token, with their handles. An object that cannot be read is left out.
    func readableObjects(in session: borrowing Session) throws -> [(handle: ObjectHandle, object: TokenObject)] {
        try searching(with: session) { try readableObjectsOnce(in: session) }
    }

    private func readableObjectsOnce(
        in session: borrowing Session
    ) throws -> [(handle: ObjectHandle, object: TokenObject)] {
        var found: [(handle: ObjectHandle, object: TokenObject)] = []
        for handle in try session.findObjects() {
            do throws(PKCS11Error) {
                if let object = try read(handle, in: session) { found.append((handle, object)) }
            } catch {
                // Errors of a session that has become invalid are thrown: the pool opens a new one.
                guard [.final, .lookUpAgain].contains(error.recovery) || error.returnValue == .generalError else {
                    throw error
                }
            }
        }
        try requireLogin(session)
        // Add the public halves, as the vault's index does.
        return Array(zip(found.map(\.handle), Self.completing(found.map(\.object)))).map { ($0, $1) }
    }
}
