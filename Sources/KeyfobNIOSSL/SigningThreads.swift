#if NIOSSL
import Foundation
import Keyfob
import KeyfobPrimitives
import NIOCore
import Synchronization

/// The threads that sign with the keys of one token.
///
/// They are started with the token's first key and wait from then on, so that no handshake has to start one on its
/// event loop. They are the token's own: one that is slow, or hangs, holds up no handshake with the key of another. They
/// end with its last key.
final class SigningThreads: Sendable {
    private let queue: SigningQueue
    /// Whether an event loop is going to look after the queue.
    private let isWatched = Atomic(false)

    /// Starts the threads.
    ///
    /// - Parameter width: How many at most are awake at once; more than most machines need, for one that waits for a token
    ///   leaves its core to another.
    /// - Throws: `KeychainError` with code `failed` where the system has not that many threads to give.
    init(width: Int = 4) throws(KeychainError) {
        let queue = SigningQueue(width: width)
        self.queue = queue
        for index in 0..<width {
            // Not `self`, which would never end then.
            guard POSIXThread.startDetached("keyfob-signing", { queue.run(index) }) else {
                queue.end()
                throw KeychainError(
                    .failed, "the system has no more threads, and handshakes are signed on threads of their own.",
                    hint: "Raise the limit: ulimit -u, or TasksMax= of the service.")
            }
        }
    }

    deinit { queue.end() }

    /// Has a thread do `work`. Never waits for one: it is for event loops.
    ///
    /// - Parameter loop: Looks whether work waits behind a signature that hangs.
    func start(on loop: any EventLoop, _ work: @escaping @Sendable () -> Void) {
        if !queue.add(work) { watch(loop) }
    }

    private func watch(_ loop: any EventLoop) {
        guard !isWatched.exchange(true, ordering: .relaxed) else { return }
        loop.scheduleTask(in: .milliseconds(5)) { [self] in
            isWatched.store(false, ordering: .relaxed)
            if queue.look() { watch(loop) }
        }.futureResult.whenFailure { [self] _ in
            // The loop has ended.
            isWatched.store(false, ordering: .relaxed)
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
