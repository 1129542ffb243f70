import Foundation
import KeyfobPrimitives
import OpenSSL
import PKCS11

/// Changes to the token that are atomic together with their rows; see ``TokenPlan``.
struct TokenWriter: Sendable {
    let store: any ItemStore
    let token: TokenStore
    let lock: VaultLock
    /// The vault's file, beside which the witnesses of plans lie.
    let vault: String
    /// The keychain's name, for messages.
    let keychain: String
    let index: ObjectIndex
    let keys: VaultKeys
    let deadline: Deadline
    /// The token as one that other keychains may be on, too; `nil` for one that Keyfob made, which has one keychain.
    var shared: SharedToken?

    /// What a change made of the token's objects.
    struct Outcome {
        var added: [TokenObject] = []
        var changed: [(before: TokenObject, after: TokenObject)] = []
        var removed: [TokenObject] = []

        /// The objects after the change.
        func applied(to objects: [TokenObject]) -> [TokenObject] {
            var objects = objects
            if !removed.isEmpty { objects.removeAll { removed.contains($0) } }
            for (before, after) in changed {
                if let position = objects.firstIndex(of: before) { objects[position] = after }
            }
            return objects + added
        }
    }

    /// Carries out one change.
    ///
    /// - Parameters:
    ///   - plan: Looks at the objects that are there, refuses duplicates, and says what will be done;
    ///     `nil` when there is nothing to do to the token.
    ///   - change: Does it. Runs at most once; must do no more than the plan says. May refine the plan on
    ///     disk through the closure it is given before it goes on.
    ///   - isUntouched: Whether a change that failed has left the token as it was, so that its plan is void;
    ///     asked for removals, which are finished rather than undone.
    ///   - commit: Writes the rows, in the transaction that also removes the plan.
    func perform<Result>(
        _ operation: TokenOperation,
        plan: ([TokenObject]) throws -> TokenPlan?,
        change: (borrowing Session, (TokenPlan) throws -> Void) throws -> Outcome,
        isUntouched: () -> Bool = { false },
        commit: (any StoreWriter, Outcome) throws -> Result
    ) throws -> Result {
        try alone {
            try recoverLocked()
            let before = token.changeDetector?.snapshot()
            let objects = try index.objects(keys, at: before?.stamp)
            guard var plan = try plan(objects) else {
                return try store.write(keys.tree) { try commit($0, Outcome()) }
            }
            plan.begun = Date()
            let identity = Data(try RandomBytes.bytes(count: 16))
            let witness = Witness(ofPlan: identity, in: vault)
            plan.witness = try witness.make()
            let intent = try keys.sealPlan(plan, identity: identity, vault: store.identity)
            let intentID: Int64
            do { intentID = try store.write(keys.tree) { try $0.insert(intent) } } catch {
                witness.remove()
                throw error
            }
            var current = plan
            var isRemoved = false
            do {
                let outcome = try token.withSession(operation, idempotent: false) { session in
                    try change(session) { refined in
                        current = refined
                        (current.begun, current.witness) = (plan.begun, plan.witness)
                        var row = try keys.sealPlan(current, identity: identity, vault: store.identity)
                        row.id = intentID
                        try store.write(keys.tree) { try $0.update(row) }
                    }
                }
                try token.requireFinished(outcome.added + outcome.changed.map(\.after))
                isRemoved = plan.kind == .destroy
                if !outcome.removed.isEmpty || !outcome.changed.isEmpty { token.forgetHandles() }
                // The rows are on the disk when they are written. A row without its object is no item, and an object
                // that comes back after its removal is one that nobody knows of.
                try token.changeDetector?.makeDurable(since: before)
                // Objects that nothing tells apart cannot be kept apart in the index.
                let isDistinct = outcome.added.allSatisfy { new in
                    // The fingerprint first: for the rest the object is copied.
                    objects.first(at: { $0[$1].fingerprint == new.fingerprint && $0[$1].isSame(as: new) }) == nil
                } && ObjectIndex.areDistinct(outcome.added)
                let stamp = isDistinct ? newStamp(before: before, outcome) : nil
                let result = try store.write(keys.tree) { writer in
                    let result = try commit(writer, outcome)
                    try updateIndex(writer, outcome, before: before, stamp: stamp)
                    try writer.deleteIntent(intentID)
                    return result
                }
                witness.remove()
                index.didChange(to: outcome.applied(to: objects), stamp: stamp, from: before?.stamp)
                return result
            } catch {
                // A removal that was begun is finished at the next opening; everything else is undone now, and
                // what cannot be undone now, then. The first error is the one to report.
                let isVoid = current.kind == .destroy ? isUntouched() : (try? settle(current)) == true
                // The plan that stays on disk is settled by the next opening; so is that of an object which the token
                // did not let go.
                if isVoid, (try? store.write(keys.tree) { try $0.deleteIntent(intentID) }) != nil { witness.remove() }
                throw isRemoved ? afterRemoval(error) : error
            }
        }
    }

    /// The error of a vault that could not be written when the objects were gone already: to try again would find
    /// nothing.
    private func afterRemoval(_ error: any Error) -> any Error {
        guard let error = error as? KeychainError else { return error }
        return KeychainError(
            error.code,
            error.message + " What was to be removed is off token \"\(token.label)\" all the same.",
            hint: "Nothing need be done again: the next command that can write the vault finishes the removal.",
            details: error.details, cause: error.cause)
    }

    // MARK: Recovery

    /// Settles changes that another process did not live to finish. Must be called without the lock.
    func recover() throws { try alone { try recoverLocked() } }

    /// Runs `body` while nobody else of Keyfob's changes the token, and nobody looks at its objects.
    private func alone<Result>(_ body: () throws -> Result) throws -> Result {
        try lock.withLock(until: deadline) {
            try holdingToken {
                try token.regainSight()
                return try token.writingObjects(until: deadline, body)
            }
        }
    }

    private func holdingToken<Result>(_ body: () throws -> Result) throws -> Result {
        guard let shared else { return try body() }
        return try shared.withLock(until: deadline, body)
    }

    private func recoverLocked() throws {
        let intents = try store.read { try $0.intents() }
        // No more than tidying up: where the directory cannot be read, they stay.
        try? Witness.removeAll(ofPlansIn: vault, besides: Set(intents.map(\.identity)))
        var damage: (any Error)?
        for intent in intents {
            let plan: TokenPlan
            do { plan = try keys.openPlan(intent, vault: store.identity) } catch {
                // The others can be settled all the same.
                damage = error
                continue
            }
            let witness = Witness(ofPlan: intent.identity, in: vault)
            // Of a plan out of a backup nobody knows what has become of it since: the objects that are there stay.
            let isOriginal = plan.witness.map { witness.isOriginal(of: $0) } ?? true
            // What a token does not let go now it never may: from here on it is shown as any other object.
            if isOriginal { _ = try settle(plan, sparing: shared) }
            try store.write(keys.tree) { writer in
                for identity in isOriginal && plan.kind == .destroy ? plan.rows : [] {
                    guard let row = try writer.row(identity: identity, withSecret: false) else { continue }
                    try writer.delete(rowID: row.id)
                }
                try writer.deleteIntent(intent.id)
                // Objects came and went without the index.
                try writer.replaceObjectIndex([], stamp: nil)
            }
            witness.remove()
        }
        if let damage { throw unreadablePlan(damage) }
    }

    /// The error for a plan that cannot be read: what its change has left half done may be in the way of the next one,
    /// and nobody but its owner can say that it does no harm.
    private func unreadablePlan(_ cause: any Error) -> KeychainError {
        KeychainError(
            .vaultDamaged,
            "a change to token \"\(token.label)\" was interrupted, and its plan fails its integrity check: what is "
                + "left of the change cannot be told. Nothing was changed.",
            hint: "Remove the plan: keyfob keychain check \(ShellWord.quoted(keychain)) --remove-damaged     "
                + "What is on the token then: keyfob token show --objects",
            details: ["keychain": keychain], cause: cause)
    }

    /// Undoes or finishes a plan; whether every object that was to go has gone, or is somebody else's by now.
    ///
    /// - Parameter shared: The token, where somebody may have taken over what is to go: not in the moment of the change.
    private func settle(_ plan: TokenPlan, sparing shared: SharedToken? = nil) throws -> Bool {
        let before = token.changeDetector?.snapshot()
        var isWhole = true
        if plan.kind.writesObjects { try token.removeUnfinishedObjects(since: plan.begun) }
        try token.withSession(.destroy) { session in
            var found: [(handle: ObjectHandle, object: TokenObject)] = []
            for handle in try session.findObjects() {
                do throws(PKCS11Error) {
                    if let object = try token.read(handle, in: session) { found.append((handle, object)) }
                } catch {
                    // What cannot be read is not in the plan; a session that has died is met again, and made anew.
                    guard [.final, .lookUpAgain].contains(error.recovery) || error.returnValue == .generalError else {
                        throw error
                    }
                }
            }
            // In the form in which the plan saw them: with their public halves.
            let objects = TokenStore.completing(found.map(\.object))
            let seen = Array(zip(found.map(\.handle), objects)).map { (handle: $0, object: $1) }
            let own = Dictionary(grouping: seen) { one in plan.objects.firstIndex { $0.matches(one.object) } }
            var doomed: [(planned: TokenPlan.Object, object: TokenObject)] = []
            for (index, planned) in plan.objects.enumerated() where plan.settlement(of: planned) == .destroy {
                for (_, object) in own[index] ?? [] { doomed.append((planned, object)) }
            }
            let isSpared = try shared?.spares(doomed, in: session) ?? false
            for (index, planned) in plan.objects.enumerated() {
                guard let own = own[index] else { continue }
                switch plan.settlement(of: planned) {
                case .destroy:
                    guard !isSpared else { continue }
                    // The plan was for one. Of several that look alike one was there before, and nothing tells which.
                    guard own.count == 1 || planned.fingerprint != nil || plan.kind == .destroy else { continue }
                    for (handle, _) in own {
                        let isGone = try leavingWhatTheTokenProtects(in: session) { try session.destroy(handle) }
                        isWhole = isWhole && isGone
                    }
                case .restoreLabel:
                    try leavingWhatTheTokenProtects(in: session) {
                        try token.restoreLabel(planned, of: own, in: session)
                    }
                }
            }
            // Certificates that were lost while their label was written.
            for planned in plan.objects where plan.settlement(of: planned) == .restoreLabel {
                guard let der = planned.certificate, !objects.contains(where: { planned.matches($0) }) else { continue }
                let label = planned.oldLabel.map { AttributeValue.data($0) }
                _ = try session.create(NewObject(certificate: Certificate(der: der), label: label).template)
            }
        }
        token.forgetHandles()
        // The caller removes the plan.
        try token.changeDetector?.makeDurable(since: before)
        return isWhole
    }

    /// Passes over an object that the token does not let be changed: the plan would otherwise stand in the way of every
    /// later change. What is said of session, login or device is met again by the pool, which heals it.
    ///
    /// - Returns: Whether it was changed.
    @discardableResult
    private func leavingWhatTheTokenProtects(in session: borrowing Session, _ body: () throws -> Void) throws -> Bool {
        do {
            try body()
            return true
        } catch let error as PKCS11Error
            where [.destroyObject, .setAttributeValue, .copyObject].contains(error.function)
        {
            switch error.recovery {
            case .final: break
            // A token on which only its officer may do so; or nobody is logged in any more.
            case .logInAgain: guard try session.info().isUserLoggedIn else { throw error }
            default: throw error
            }
            return false
        }
    }

    // MARK: Index

    /// The stamp after the change, where it can be proved that nobody else changed anything meanwhile.
    private func newStamp(before: TokenSnapshot?, _ outcome: Outcome) -> Data? {
        guard let detector = token.changeDetector, let before, let after = detector.snapshot() else { return nil }
        let difference = before.difference(to: after)
        guard difference.added.count == outcome.added.count, difference.removed.count == outcome.removed.count,
            difference.changed.count == outcome.changed.count
        else { return nil }
        return after.stamp
    }

    private func updateIndex(
        _ writer: any StoreWriter, _ outcome: Outcome, before: TokenSnapshot?, stamp: Data?
    ) throws {
        guard let stamp, let before else {
            return try writer.updateObjectIndex(inserting: [], removing: [], stamp: nil)
        }
        try index.update(
            writer, inserting: outcome.added + outcome.changed.map(\.after),
            removing: outcome.removed + outcome.changed.map(\.before), from: before.stamp, to: stamp, keys)
    }
}
