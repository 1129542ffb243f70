import KeyfobPrimitives
package import PKCS11
import Synchronization

/// Signature operations of a key that are started before they are needed.
///
/// Starting an EC signature takes two thirds of SoftHSM's time, because it reads the key's file and decrypts the key. A
/// server that has answered one handshake starts the signature for the next. A server that answers several at a time
/// comes to have as many started, since each thread that finds none starts one when it is done.
///
/// A started operation would produce a signature even after the key is gone. So it is used only if certainly nothing
/// has happened to the key: no login or logout, no removal by this process, and no file of the token touched by any
/// process. Otherwise it is dropped and the signature is made from the start, which reports the error, if any.
package final class SignaturePrefetch: Sendable {
    /// A session outside the pool.
    private final class OwnSession: Sendable {
        let session: Session

        init(_ session: consuming Session) { self.session = session }
    }

    private struct Begun: Sendable {
        let own: OwnSession
        let mechanism: Mechanism
        let moment: TokenStore.Moment
    }

    /// A copy of the key in the module's memory, used while the key on the token is unchanged.
    ///
    /// SoftHSM reads the file of the original at each use, which takes a third of the remaining time of a signature.
    private struct Copy: Sendable {
        /// The session that owns the copy. The copy is destroyed with it.
        let own: OwnSession
        let key: ObjectHandle
        let moment: TokenStore.Moment
    }

    /// Operations and copies that must not be used any more. Their sessions are closed on deinitialization, outside the
    /// lock.
    private struct Stale: Sendable {
        var begun: [Begun] = []
        var copy: Copy?
    }

    private struct State {
        var begun: [Begun] = []
        /// Sessions in which no operation is started.
        var idle: [OwnSession] = []
        var copy: Copy?
        var watch: DirectoryWatch?
        /// Incremented whenever something is dropped, including after a change to the token.
        var touches = 0

        /// Removes what is not from the current moment, and everything if the token was touched. In that case a new
        /// watch is made, if the token supports one.
        ///
        /// - Parameter isForUse: Whether to ask the watch. An answer clears the watch, so a caller that only adds an
        ///   operation leaves the question to one that uses an operation.
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
            // Increment, so that an operation that is just being started is not kept either.
            touches += 1
            defer { (begun, copy) = ([], nil) }
            return Stale(begun: begun, copy: copy)
        }
    }

    /// The maximum number of started operations: of one kind, one for each signing thread; in total more, since RSA has
    /// six kinds.
    private static let most = (ofOneKind: 4, ofAll: 8)

    private let state = Lock(State())

    /// Creates a prefetch without any started operation.
    package init() {}
    /// Whether an operation was ever started. A caller that signs only occasionally avoids the lock.
    private let isUsed = Atomic(false)
    /// Whether the token copies the key, as far as is known.
    private let isCopied = Atomic(true)

    /// How many operations are started, and whether there is a copy of the key.
    package var inUse: (begun: Int, isCopied: Bool) { state.withLock { ($0.begun.count, $0.copy != nil) } }

    deinit {
        let (all, idle) = state.withLock { (Stale(begun: $0.begun, copy: $0.copy), $0.idle) }
        guard !all.begun.isEmpty || all.copy != nil || !idle.isEmpty else { return }
        // The last owner may be an event loop, and closing a session calls the token.
        BlockingExecutor.shared.start { withExtendedLifetime((all, idle)) {} }
    }

    /// Finishes a started operation; `nil` if there is none that may be used. Blocks.
    ///
    /// - Parameters:
    ///   - data: The data to sign.
    ///   - mechanism: The mechanism of the signature.
    ///   - token: The key's token.
    /// - Returns: The signature.
    /// - Throws: Errors of loading the token's module.
    package func sign(_ data: [UInt8], using mechanism: Mechanism, on token: TokenStore) throws -> [UInt8]? {
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
            // The caller makes the signature from the start and gets the error then.
            return nil
        }
    }

    /// Starts the next signature, unless enough of its kind are started already. Blocks.
    ///
    /// Errors are ignored; the signature itself reports them. Does nothing on a token that cannot report changes by
    /// other processes.
    ///
    /// - Parameters:
    ///   - mechanism: The mechanism of the signature.
    ///   - token: The key's token.
    ///   - handle: Finds the key.
    package func begin(
        _ mechanism: Mechanism, on token: TokenStore, findingKey handle: (borrowing Session) throws -> ObjectHandle
    ) {
        do {
            // From here on the watch and the moment report what happens to the key.
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
                // The copy may be at fault.
                _ = state.withLock { $0.removeAll() }
                throw error
            }
            state.withLock { state in
                // Another thread may have asked the watch in the meantime and consumed its answer.
                guard state.touches == touches else { return }
                state.begun.append(Begun(own: own, mechanism: mechanism, moment: moment))
            }
        } catch {
            // The state of the session is unknown, so it is closed here.
        }
    }

    /// Drops all started operations, at the end of a login. Blocks.
    ///
    /// SoftHSM keeps a key of a started signature until the signature is finished or the session is closed.
    package func drop() { _ = state.withLock { $0.removeAll() } }

    /// The copy of the key in memory; `nil` if it is not copied. It is valid as long as the result lives.
    private func copy(
        at moment: TokenStore.Moment, _ touches: Int, on token: TokenStore,
        findingKey handle: (borrowing Session) throws -> ObjectHandle
    ) throws -> Copy? {
        if let known = state.withLock({ $0.copy }), known.moment == moment { return known }
        // If a handle may come to name another key, a copy of the wrong key would outlive the error.
        guard isCopied.load(ordering: .relaxed), try token.keepsHandles() else { return nil }
        let own = try OwnSession(token.pool().openSession())
        let original = try handle(own.session)
        do throws(PKCS11Error) {
            // The copy gets a random id and no label. So a search for the key, also by other code in this process,
            // finds only the one on the token.
            let key = try own.session.copy(
                original, changing: [.token(false), .id(Self.randomID()), .bytes(.label, [])])
            let copy = Copy(own: own, key: key, moment: moment)
            state.withLock { state in
                if state.touches == touches, state.copy == nil { state.copy = copy }
            }
            return copy
        } catch {
            // The key may not be copied. If the session has died instead, signing without a copy is only slower.
            isCopied.store(false, ordering: .relaxed)
            return nil
        }
    }

    private static func randomID() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }
}
