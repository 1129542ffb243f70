import Dispatch
import KeyfobPrimitives
import PKCS11
import Synchronization

/// The next signatures of a key, begun while nobody waits for them.
///
/// To begin an EC signature takes SoftHSM two thirds of its time: it reads the key's file and decrypts the key. A
/// server that has answered one handshake has that done for the next; and what is left is so little, where the token is
/// quick, that an event loop does it itself sooner than it has a thread do it (`signAtOnce`).
///
/// What was begun would be made even when the key is gone. So it is used only where certainly nothing has happened to
/// the key meanwhile: no login or logout, no removal by this process, no file of the token touched by any. Otherwise it
/// is dropped, and the signature is made from its beginning, by whose error the caller learns what has happened.
final class SignatureAhead: Sendable {
    /// A session that is not the pool's.
    private final class OwnSession: Sendable {
        enum Phase: UInt8, AtomicRepresentable { case idle, begun, taken, spent }

        let session: Session
        /// Becomes `begun` and `taken` under the lock of `state` only.
        let phase = Atomic(Phase.taken)

        init(_ session: consuming Session) { self.session = session }
    }

    /// A session, and what was begun in it last.
    private struct Slot: Sendable {
        let own: OwnSession
        var mechanism: Mechanism
        var moment: TokenStore.Moment

        var phase: OwnSession.Phase { own.phase.load(ordering: .acquiring) }
    }

    /// The key in the library's memory, while nothing has happened to the one on the token, whose file SoftHSM reads
    /// at each use: a third of what a signature costs then.
    private struct Copy: Sendable {
        /// With which it ends.
        let own: OwnSession
        let key: ObjectHandle
        let moment: TokenStore.Moment
    }

    /// Sessions that are needed no more. They are closed where this ends: outside of the lock.
    private struct Stale: Sendable {
        var slots: [Slot] = []
        var copy: Copy?
    }

    private struct State {
        var slots: [Slot] = []
        var copy: Copy?
        var watch: (any TokenWatch)?
        /// Counts how often something was touched, or dropped.
        var touches = 0

        /// Takes out what can be used no more; there is another watch where something was touched, or none.
        ///
        /// - Parameter isForUse: Whether the watch is asked. Who only adds leaves it to who uses: until then it forgets
        ///   nothing.
        mutating func removeStale(on token: TokenStore, at now: TokenStore.Moment, isForUse: Bool) -> Stale {
            var isTouched = false
            if watch == nil || isForUse && watch?.isUntouched() != true {
                watch = token.changeDetector?.watch()
                touches += 1
                isTouched = true
            }
            // One that is taken is its taker's, who has asked before.
            let isStale = { (slot: Slot) in
                slot.phase == .spent || slot.phase == .begun && (isTouched || slot.moment != now)
            }
            let stale = Stale(
                slots: slots.filter(isStale), copy: copy.flatMap { isTouched || $0.moment != now ? $0 : nil })
            slots.removeAll(where: isStale)
            if stale.copy != nil { copy = nil }
            return stale
        }

        /// Takes one that was begun, if there is one.
        func take(_ mechanism: Mechanism, at now: TokenStore.Moment) -> OwnSession? {
            let slot = slots.first { $0.phase == .begun && $0.mechanism == mechanism && $0.moment == now }
            slot?.own.phase.store(.taken, ordering: .relaxed)
            return slot?.own
        }

        func begun(_ mechanism: Mechanism) -> Int { slots.count { $0.phase == .begun && $0.mechanism == mechanism } }
    }

    /// More kinds than any client asks for: RSA has six.
    private static let mostKinds = 6
    /// How many are begun where event loops sign, and of how few on there are to be more: a thread is woken once for
    /// several.
    private static let stock = 16
    private static let low = 8
    /// What an event loop may spend on a signature, in nanoseconds: on average, in which none counts more than the
    /// other number. Who lost its core for a while is not slow.
    private static let quick: UInt64 = 250_000
    private static let slowest: UInt64 = 1_000_000

    private let state = Lock(State())
    /// Whether anything was ever begun: who signs only now and then does without the lock.
    private let isUsed = Atomic(false)
    /// How long the end of a signature takes; slow until it has shown otherwise a dozen times.
    private let duration = Atomic(slowest)
    private let isQuick = Atomic(false)
    /// Whether event loops may sign.
    var signsAtOnce: Bool { isQuick.load(ordering: .relaxed) }
    /// Whether the token makes copies of the key, as far as is known.
    private let isCopied = Atomic(true)
    /// Whether somebody has been asked to begin more.
    private let isStockingUp = Atomic(false)

    /// How many sessions it has open.
    var sessions: Int { state.withLock { $0.slots.count + ($0.copy == nil ? 0 : 1) } }

    deinit {
        let all = state.withLock { Stale(slots: $0.slots, copy: $0.copy) }
        guard !all.slots.isEmpty || all.copy != nil else { return }
        // The last owner may be an event loop, and to close a session is to call the token.
        BlockingExecutor.shared.start { withExtendedLifetime(all) {} }
    }

    /// Makes a signature that was begun; `nil` where none may be used. Blocks.
    ///
    /// - Throws: Where the token's module cannot be loaded.
    func sign(_ data: [UInt8], using mechanism: Mechanism, on token: TokenStore) throws -> [UInt8]? {
        guard isUsed.load(ordering: .relaxed) else { return nil }
        let now = try token.moment()
        let (own, _) = state.withLock { state in
            let stale = state.removeStale(on: token, at: now, isForUse: true)
            return (state.take(mechanism, at: now), stale)
        }
        return own.flatMap { own in end(own) { () throws(PKCS11Error) in try own.session.endSignature(data) } }
    }

    /// Makes a signature that was begun, on an event loop: waits for no lock of ours, opens no file, and takes a
    /// fraction of a millisecond. `nil` where that cannot be had just now, and for tokens that are slow.
    ///
    /// - Parameter stockUp: Called where more are to be begun, which is for another thread to do.
    func signAtOnce(
        _ data: [UInt8], using mechanism: Mechanism, on token: TokenStore, stockUp: () -> Void
    ) -> [UInt8]? {
        // The module is there where anything was begun; of one that is not, the thread that signs tells.
        guard signsAtOnce, let now = try? token.moment() else { return nil }
        let taken = state.withLockIfFree { state -> (own: OwnSession, left: Int)? in
            guard let isUntouched = state.watch?.isUntouchedAtOnce() else { return nil }
            guard isUntouched else {
                // The threads find no watch, and drop what was begun.
                state.watch = nil
                return nil
            }
            return state.take(mechanism, at: now).map { ($0, state.begun(mechanism)) }
        }
        guard case let (own, left)?? = taken else { return nil }
        if left <= Self.low, !isStockingUp.exchange(true, ordering: .relaxed) { stockUp() }
        return end(own) { () throws(PKCS11Error) in try own.session.endSignatureAtOnce(data) }
    }

    /// Ends what was begun, at the end of a login: SoftHSM keeps a key that it was told to sign with until it has, or
    /// until the session ends. Blocks.
    func drop() {
        _ = state.withLock { state -> Stale in
            let stale = Stale(slots: state.slots.filter { $0.phase != .taken }, copy: state.copy)
            state.slots.removeAll { $0.phase != .taken }
            state.copy = nil
            // What is just being begun is not kept either.
            state.touches += 1
            return stale
        }
    }

    private func end(_ own: OwnSession, _ body: () throws(PKCS11Error) -> [UInt8]?) -> [UInt8]? {
        let start = DispatchTime.now().uptimeNanoseconds
        // Why it was not made is met again by whoever makes it from its beginning.
        guard let signature = try? body() else {
            own.phase.store(.spent, ordering: .releasing)
            return nil
        }
        own.phase.store(.idle, ordering: .releasing)
        // Threads may overwrite each other's, which is of no weight in an average.
        let average = duration.load(ordering: .relaxed)
        let taken = min(DispatchTime.now().uptimeNanoseconds - start, Self.slowest)
        duration.store(average - average / 8 + taken / 8, ordering: .relaxed)
        return signature
    }

    /// Begins the next signature, unless enough of its kind are begun already. Blocks.
    ///
    /// What goes wrong is met again by the signature. Does nothing on a token that cannot tell what others do to it.
    ///
    /// - Parameter handle: Finds the key.
    /// - Returns: Whether another one is to be begun.
    @discardableResult
    func begin(
        _ mechanism: Mechanism, on token: TokenStore, findingKey handle: (borrowing Session) throws -> ObjectHandle
    ) -> Bool {
        var isToGoOn = false
        defer { if !isToGoOn { isStockingUp.store(false, ordering: .relaxed) } }
        do {
            // What happens to the key from here on, the watch and the moment tell.
            let moment = try token.moment()
            if !isUsed.exchange(true, ordering: .relaxed) { token.register(self) }
            let isQuick = try duration.load(ordering: .relaxed) < Self.quick && token.keepsHandles()
            self.isQuick.store(isQuick, ordering: .relaxed)
            let enough = isQuick ? Self.stock : 1
            let (touches, spare, _) = state.withLock { state -> (Int?, OwnSession?, Stale) in
                let stale = state.removeStale(on: token, at: moment, isForUse: false)
                guard state.watch != nil, state.begun(mechanism) < enough,
                    state.slots.count(where: { $0.phase == .begun }) < Self.mostKinds + enough - 1
                else { return (nil, nil, stale) }
                let index = state.slots.firstIndex { $0.phase == .idle }
                return (state.touches, index.map { state.slots.remove(at: $0).own }, stale)
            }
            guard let touches else { return false }
            let own = try spare ?? OwnSession(token.pool().openSession())
            let copy = isQuick ? try copy(at: moment, touches, on: token, findingKey: handle) : nil
            do {
                try own.session.beginSignature(with: copy?.key ?? handle(own.session), using: mechanism)
            } catch {
                _ = state.withLock { state -> Copy? in
                    defer { state.copy = nil }
                    return state.copy
                }
                throw error
            }
            isToGoOn = state.withLock { state in
                // Another thread may have asked the watch meanwhile, and got the answer that was for this.
                guard state.touches == touches else { return false }
                own.phase.store(.begun, ordering: .relaxed)
                state.slots.append(Slot(own: own, mechanism: mechanism, moment: moment))
                return state.begun(mechanism) < enough
            }
        } catch {
            // The session ends here, for its state is not known.
        }
        return isToGoOn
    }

    /// The key in memory; `nil` where it is not copied. It is valid for as long as the result lives.
    private func copy(
        at moment: TokenStore.Moment, _ touches: Int, on token: TokenStore,
        findingKey handle: (borrowing Session) throws -> ObjectHandle
    ) throws -> Copy? {
        if let known = state.withLock({ $0.copy }), known.moment == moment { return known }
        guard isCopied.load(ordering: .relaxed) else { return nil }
        let own = try OwnSession(token.pool().openSession())
        let original = try handle(own.session)
        do throws(PKCS11Error) {
            // Under an id of its own: whoever looks for the key must find the one on the token.
            let key = try own.session.copy(original, changing: [.token(false), .id(Self.randomID())])
            let copy = Copy(own: own, key: key, moment: moment)
            state.withLock { state in
                if state.touches == touches, state.copy == nil { state.copy = copy }
            }
            return copy
        } catch {
            // It may not be copied; or the session has died, and then a file that is read is the lesser evil, too.
            isCopied.store(false, ordering: .relaxed)
            return nil
        }
    }

    private static func randomID() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }
}
