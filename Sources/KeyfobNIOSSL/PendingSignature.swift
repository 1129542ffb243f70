#if NIOSSL
import NIOCore
import Synchronization

/// A signature that a handshake waits for: until it is there, or until its connection is closed.
///
/// A connection that is closed needs no signature. Its memory would otherwise be held for as long as the token takes, a
/// token that is slow would sign for thousands that have gone before it signs for one who waits, and a promise whose
/// event loop has been shut down meanwhile can be kept no more.
final class PendingSignature: Sendable {
    /// The signature, or why there is none.
    var future: EventLoopFuture<ByteBuffer> { promise.futureResult }

    private let promise: EventLoopPromise<ByteBuffer>
    private let isOver = Atomic(false)

    /// A signature for a handshake on a channel; called on its event loop.
    init(for channel: any Channel) {
        promise = channel.eventLoop.makePromise(of: ByteBuffer.self)
        // Weakly: a connection lives much longer than its handshake.
        channel.closeFuture.whenComplete { [weak self] _ in self?.abandon() }
    }

    deinit { abandon() }

    private func abandon() { settle(.failure(ChannelError.ioOnClosedChannel)) }

    /// Whether nobody waits for it any more.
    var isAbandoned: Bool { isOver.load(ordering: .relaxed) }

    /// Gives the answer, unless the connection has been closed. From any thread.
    func settle(_ result: Result<ByteBuffer, any Error>) {
        guard !isOver.exchange(true, ordering: .relaxed) else { return }
        promise.completeWith(result)
    }
}
#endif
