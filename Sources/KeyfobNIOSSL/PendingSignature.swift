#if NIOSSL
import NIOCore
import Synchronization

/// A signature that a handshake waits for: until it is there, or until its connection is closed.
///
/// A connection that is closed needs no signature. Its memory would otherwise be held for as long as the token takes, a
/// token that is slow would sign for thousands that have gone before it signs for one who waits, and a promise whose
/// event loop has been shut down meanwhile can be kept no more.
///
/// What is larger than a few words is allocated and freed by the event loop. Freed by a signing thread, it would go
/// back to the event loop's part of the heap behind a lock, and an event loop that allocates waits, for milliseconds,
/// until a signing thread that holds it has a core again.
final class PendingSignature: @unchecked Sendable {
    // Unchecked for the two buffers. They are the event loop's until the work is added, the signing thread's until it
    // settles, and the event loop's from then on.
    /// What is to be signed.
    private(set) var message: ByteBuffer
    /// Room for the signature.
    private var signature: ByteBuffer

    /// The signature, or why there is none.
    var future: EventLoopFuture<ByteBuffer> { promise.futureResult }

    private let promise: EventLoopPromise<ByteBuffer>
    private let isOver = Atomic(false)

    /// A signature for a handshake on a channel; called on its event loop.
    ///
    /// - Parameter size: How long the signature becomes, at most.
    init(of message: ByteBuffer, size: Int, for channel: any Channel) {
        self.message = message
        signature = channel.allocator.buffer(capacity: size)
        promise = channel.eventLoop.makePromise(of: ByteBuffer.self)
        // Weakly: a connection lives much longer than its handshake.
        channel.closeFuture.whenComplete { [weak self] _ in self?.abandon() }
    }

    deinit { abandon() }

    private func abandon() {
        guard !isOver.exchange(true, ordering: .relaxed) else { return }
        promise.fail(ChannelError.ioOnClosedChannel)
    }

    /// Whether nobody waits for it any more.
    var isAbandoned: Bool { isOver.load(ordering: .relaxed) }

    /// Gives the answer, unless the connection has been closed. From a signing thread.
    func settle(_ result: Result<[UInt8], any Error>) {
        guard !isOver.exchange(true, ordering: .relaxed) else { return }
        // The bytes, which this thread allocated, go no further.
        let outcome = result.map { bytes in _ = signature.writeBytes(bytes) }
        promise.futureResult.eventLoop.execute {
            let signature = self.signature
            (self.message, self.signature) = (ByteBuffer(), ByteBuffer())
            self.promise.completeWith(outcome.map { signature })
        }
    }
}
#endif
