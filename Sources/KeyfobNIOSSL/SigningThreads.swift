#if NIOSSL
import Foundation
import Keyfob
import KeyfobPrimitives
import Synchronization

/// The threads that sign with the keys of one token.
///
/// They are started with the token's first key and wait from then on, so that no handshake has to start one on its
/// event loop. They are the token's own: one that is slow, or hangs, holds up no handshake with the key of another.
/// They end with its last key. A child made by fork(2) has none of its parent's threads: its first signature starts
/// threads of its own, so that a server may load its key and fork its workers then.
final class SigningThreads: Sendable {
    private let queue: SigningQueue
    private let width: Int
    /// Whose threads they are.
    private let process = getpid()
    /// Those of a child.
    private let successor = AtomicLazyReference<SigningThreads>()

    /// Starts the threads.
    ///
    /// - Parameter width: How many at most are awake at once; more than most machines need, for one that waits for a
    ///   token leaves its core to another.
    /// - Throws: `KeychainError` with code `failed` where the system has not that many threads to give.
    init(width: Int = 4) throws(KeychainError) {
        let queue = SigningQueue(width: width)
        self.queue = queue
        self.width = width
        // Not `self`, which would never end then.
        let signers = (0..<width).map { index in { @Sendable in queue.run(index) } }
        for body in signers + [{ @Sendable in queue.watch() }] {
            guard POSIXThread.startDetached("keyfob-signing", body) else {
                queue.end()
                throw KeychainError(
                    .failed, "the system has no more threads, and handshakes are signed on threads of their own.",
                    hint: "Raise the limit: ulimit -u, or TasksMax= of the service.")
            }
        }
    }

    deinit { queue.end() }

    /// Has a thread do `work`. Never waits for one: it is for event loops.
    func start(_ work: @escaping @Sendable () -> Void) {
        guard getpid() != process else { return queue.add(work) }
        do {
            // Of two event loops that make some, those of one are kept.
            let own = try successor.load() ?? successor.storeIfNil(SigningThreads(width: width))
            own.start(work)
        } catch {
            BlockingExecutor.shared.start(work)
        }
    }

    // MARK: By token

    private struct Weak {
        weak var threads: SigningThreads?
    }

    private static let known = Lock<[String: Weak]>([:])

    /// The threads of the token that a key is on, started where they are not there yet.
    ///
    /// - Throws: As `init(width:)`.
    static func of(_ key: TokenKey) throws(KeychainError) -> SigningThreads {
        let configuration = key.keychain.configuration
        let token = "\(configuration.module) \(configuration.token)"
        return try known.withLock { known throws(KeychainError) in
            if let threads = known[token]?.threads { return threads }
            let threads = try SigningThreads()
            known = known.filter { $0.value.threads != nil }
            known[token] = Weak(threads: threads)
            return threads
        }
    }
}
#endif
