import KeyfobPrimitives
import PKCS11
import Synchronization

/// The next signatures of a key, begun while nobody waits for them.
///
/// To begin an EC signature takes SoftHSM two thirds of its time: it reads the key's file and decrypts the key. A
/// server that has answered one handshake has that done for the next; one that answers several at a time comes to have
/// as many begun, for whoever finds none begins one when he is done, too.
///
/// What was begun would be made even when the key is gone. So it is used only where certainly nothing has happened to
/// the key meanwhile: no login or logout, no removal by this process, no file of the token touched by any. Otherwise it
/// is dropped, and the signature is made from its beginning, by whose error the caller learns what has happened.
final class SignaturePrefetch: Sendable {
    /// A session that is not the pool's.
    private final class OwnSession: Sendable {
        let session: Session

        init(_ session: consuming Session) { self.session = session }
    }

    private struct Begun: Sendable {
        let own: OwnSession
        let mechanism: Mechanism
        let moment: TokenStore.Moment
    }

    /// The key in the library's memory, while nothing has happened to the one on the token, whose file SoftHSM reads
    /// at each use: a third of what a signature costs then.
    private struct Copy: Sendable {
        /// With which it ends.
        let own: OwnSession
        let key: ObjectHandle
        let moment: TokenStore.Moment
    }

    /// What can be used no more. Its sessions are closed where it ends: outside of the lock.
    private struct Stale: Sendable {
        var begun: [Begun] = []
        var copy: Copy?
    }

    private struct State {
        var begun: [Begun] = []
        /// In these nothing is begun.
        var idle: [OwnSession] = []
        var copy: Copy?
        var watch: (any TokenWatch)?
        /// Counts how often something was touched, or dropped.
        var touches = 0

        /// Takes out what is not of this moment, and everything where something was touched; there is another watch
        /// then, or none.
        ///
        /// - Parameter isForUse: Whether the watch is asked. Who only adds leaves it to who uses: until then it forgets
        ///   nothing.
        mutating func removeStale(on token: TokenStore, at now: TokenStore.Moment, isForUse: Bool) -> Stale {
            if watch == nil || isForUse && watch?.isUntouched() != true {
                watch = token.changeDetector?.watch()
                return removeAll()
            }
            var stale = Stale()
            if let copy, copy.moment != now {
                stale.copy = copy
                self.copy = nil
            }
            if begun.contains(where: { $0.moment != now }) {
                stale.begun = begun.filter { $0.moment != now }
                begun.removeAll { $0.moment != now }
            }
            return stale
        }

        mutating func removeAll() -> Stale {
            // What is just being begun is not kept either.
            touches += 1
            defer { (begun, copy) = ([], nil) }
            return Stale(begun: begun, copy: copy)
        }
    }

    /// How many are begun: of one kind, as many as there are threads that sign; of all, for RSA has six kinds.
    private static let most = (ofOneKind: 4, ofAll: 8)

    private let state = Lock(State())
    /// Whether anything was ever begun: who signs only now and then does without the lock.
    private let isUsed = Atomic(false)
    /// Whether the token makes copies of the key, as far as is known.
    private let isCopied = Atomic(true)

    /// How many signatures are begun, and whether there is a copy of the key.
    var inUse: (begun: Int, isCopied: Bool) { state.withLock { ($0.begun.count, $0.copy != nil) } }

    deinit {
        let (all, idle) = state.withLock { (Stale(begun: $0.begun, copy: $0.copy), $0.idle) }
        guard !all.begun.isEmpty || all.copy != nil || !idle.isEmpty else { return }
        // The last owner may be an event loop, and to close a session is to call the token.
        BlockingExecutor.shared.start { withExtendedLifetime((all, idle)) {} }
    }

    /// Makes a signature that was begun; `nil` where none may be used. Blocks.
    ///
    /// - Throws: Where the token's module cannot be loaded.
    func sign(_ data: [UInt8], using mechanism: Mechanism, on token: TokenStore) throws -> [UInt8]? {
        guard isUsed.load(ordering: .relaxed) else { return nil }
        let now = try token.moment()
        let (found, _) = state.withLock { state in
            let stale = state.removeStale(on: token, at: now, isForUse: true)
            let index = state.begun.firstIndex { $0.mechanism == mechanism }
            return (index.map { state.begun.remove(at: $0).own }, stale)
        }
        guard let found else { return nil }
        do throws(PKCS11Error) {
            let signature = try found.session.endSignature(data)
            state.withLock { $0.idle.append(found) }
            return signature
        } catch {
            // Met again by whoever makes the signature from its beginning.
            return nil
        }
    }

    /// Begins the next signature, unless enough of its kind are begun already. Blocks.
    ///
    /// What goes wrong is met again by the signature. Does nothing on a token that cannot tell what others do to it.
    ///
    /// - Parameter handle: Finds the key.
    func begin(
        _ mechanism: Mechanism, on token: TokenStore, findingKey handle: (borrowing Session) throws -> ObjectHandle
    ) {
        do {
            // What happens to the key from here on, the watch and the moment tell.
            let moment = try token.moment()
            if !isUsed.exchange(true, ordering: .relaxed) { token.register(self) }
            let (touches, spare, _) = state.withLock { state -> (Int?, OwnSession?, Stale) in
                let stale = state.removeStale(on: token, at: moment, isForUse: false)
                guard state.watch != nil, state.begun.count < Self.most.ofAll,
                    state.begun.count(where: { $0.mechanism == mechanism }) < Self.most.ofOneKind
                else { return (nil, nil, stale) }
                return (state.touches, state.idle.popLast(), stale)
            }
            guard let touches else { return }
            let own = try spare ?? OwnSession(token.pool().openSession())
            let copy = try copy(at: moment, touches, on: token, findingKey: handle)
            do {
                try own.session.beginSignature(with: copy?.key ?? handle(own.session), using: mechanism)
            } catch {
                // The copy may be what is wrong.
                _ = state.withLock { $0.removeAll() }
                throw error
            }
            state.withLock { state in
                // Another thread may have asked the watch meanwhile, and got the answer that was for this.
                guard state.touches == touches else { return }
                state.begun.append(Begun(own: own, mechanism: mechanism, moment: moment))
            }
        } catch {
            // The session ends here, for its state is not known.
        }
    }

    /// Ends what was begun, at the end of a login: SoftHSM keeps a key that it was told to sign with until it has, or
    /// until the session ends. Blocks.
    func drop() { _ = state.withLock { $0.removeAll() } }

    /// The key in memory; `nil` where it is not copied. It is valid for as long as the result lives.
    private func copy(
        at moment: TokenStore.Moment, _ touches: Int, on token: TokenStore,
        findingKey handle: (borrowing Session) throws -> ObjectHandle
    ) throws -> Copy? {
        if let known = state.withLock({ $0.copy }), known.moment == moment { return known }
        // Of a key that another has taken the handle of, the copy would outlive the mistake.
        guard isCopied.load(ordering: .relaxed), try token.keepsHandles() else { return nil }
        let own = try OwnSession(token.pool().openSession())
        let original = try handle(own.session)
        do throws(PKCS11Error) {
            // Under an id of its own and no label: whoever looks for the key, also other users of the library in this
            // process, must find the one on the token.
            let key = try own.session.copy(
                original, changing: [.token(false), .id(Self.randomID()), .bytes(.label, [])])
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
