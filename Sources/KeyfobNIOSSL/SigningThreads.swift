#if NIOSSL
import Foundation
import Keyfob
import KeyfobPrimitives

/// The threads that sign with the keys of one token.
///
/// They are started with the token's first key, so that handshakes need not start threads on their event loop. Each
/// token has its own threads, so a token that is slow, or hangs, delays no handshake with a key of another token. They
/// end with the token's last key.
final class SigningThreads: Sendable {
    private let queue: SigningQueue

    /// Starts the threads.
    ///
    /// - Parameter width: The maximum number of awake threads. It is more than most machines need, because a thread
    ///   that waits for a token leaves its core to another.
    /// - Throws: `KeychainError` with code `failed` if the system cannot start that many threads.
    init(width: Int = 4) throws(KeychainError) {
        let queue = SigningQueue(width: width)
        self.queue = queue
        // Do not capture `self`, which would then never be released.
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

    /// Runs `work` on one of the threads. Never waits, so event loops may call it.
    func start(_ work: @escaping @Sendable () -> Void) { queue.add(work) }

    // MARK: By token

    private struct Weak {
        weak var threads: SigningThreads?
    }

    private static let known = Lock<[String: Weak]>([:])

    /// Returns the threads of the token that a key is on, and starts them if necessary.
    ///
    /// - Throws: `KeychainError` with code `failed` if the system cannot start the threads.
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
