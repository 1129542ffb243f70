import KeyfobPrimitives
import PKCS11
import Synchronization

/// The next signatures of a key, begun while nobody waits for them.
///
/// To begin an EC signature takes SoftHSM two thirds of its time: it reads the key's file and decrypts the key. A
/// server that has answered one handshake has that done for the next.
///
/// What was begun would be made even when the key is gone. So it is used only where certainly nothing has happened to
/// the key meanwhile: no login or logout, no removal by this process, no file of the token touched by any. Otherwise it
/// is dropped, and the signature is made from its beginning, by whose error the caller learns what has happened.
final class SignatureAhead: Sendable {
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

    private struct State {
        /// One for each kind of signature that clients ask for.
        var begun: [Begun] = []
        /// In these nothing is begun.
        var idle: [OwnSession] = []
        var watch: (any TokenWatch)?
        /// Counts how often something was touched.
        var touches = 0

        /// Asks the watch, and drops what was begun where something was touched; there is another watch then, or none.
        mutating func drop(ifTouchedOn token: TokenStore) -> [Begun] {
            if let watch, watch.isUntouched() { return [] }
            watch = token.changeDetector?.watch()
            touches += 1
            defer { begun = [] }
            return begun
        }
    }

    /// More kinds than any client asks for: RSA has six.
    private static let mostKinds = 6

    private let state = Lock(State())
    /// Whether anything was ever begun: who signs only now and then does without the lock.
    private let isUsed = Atomic(false)

    deinit {
        let (begun, idle) = state.withLock { ($0.begun, $0.idle) }
        guard !begun.isEmpty || !idle.isEmpty else { return }
        // The last owner may be an event loop, and to close a session is to call the token.
        BlockingExecutor.shared.start { withExtendedLifetime((begun, idle)) {} }
    }

    /// Makes a signature that was begun; `nil` where none may be used. Blocks.
    ///
    /// - Throws: Where the token's module cannot be loaded.
    func sign(_ data: [UInt8], using mechanism: Mechanism, on token: TokenStore) throws -> [UInt8]? {
        guard isUsed.load(ordering: .relaxed) else { return nil }
        let now = try token.moment()
        // What is dropped ends outside of the lock, and its session with it.
        let (found, _) = state.withLock { state -> (Begun?, [Begun]) in
            let dropped = state.drop(ifTouchedOn: token)
            let index = state.begun.firstIndex { $0.mechanism == mechanism }
            return (index.map { state.begun.remove(at: $0) }, dropped)
        }
        guard let found, found.moment == now else { return nil }
        do throws(PKCS11Error) {
            let signature = try found.own.session.endSignature(data)
            state.withLock { $0.idle.append(found.own) }
            return signature
        } catch {
            // Met again by whoever makes the signature from its beginning.
            return nil
        }
    }

    /// Begins the next signature, unless one of its kind is begun already. Blocks.
    ///
    /// What goes wrong is met again by the signature. Does nothing on a token that cannot tell what others do to it.
    ///
    /// - Parameter handle: Finds the key.
    func begin(
        _ mechanism: Mechanism, on token: TokenStore, findingKey handle: (borrowing Session) throws -> ObjectHandle
    ) {
        let (touches, spare, _) = state.withLock { state -> (Int?, OwnSession?, [Begun]) in
            let dropped = state.drop(ifTouchedOn: token)
            guard state.watch != nil, state.begun.count < Self.mostKinds,
                !state.begun.contains(where: { $0.mechanism == mechanism })
            else { return (nil, nil, dropped) }
            return (state.touches, state.idle.popLast(), dropped)
        }
        guard let touches else { return }
        do {
            // What happens to the key from here on, the watch and the moment tell.
            let moment = try token.moment()
            let own = try spare ?? OwnSession(token.pool().openSession())
            try own.session.beginSignature(with: handle(own.session), using: mechanism)
            isUsed.store(true, ordering: .relaxed)
            state.withLock { state in
                // Another thread may have asked the watch meanwhile, and got the answer that was for this.
                guard state.touches == touches else { return }
                state.begun.append(Begun(own: own, mechanism: mechanism, moment: moment))
            }
        } catch {
            // The session ends here, for its state is not known.
        }
    }
}
