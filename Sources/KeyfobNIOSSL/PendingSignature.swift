#if NIOSSL
import NIOCore
import Synchronization

/// A signature that a handshake waits for, until it is made or the connection is closed.
///
/// A closed connection needs no signature. If it stayed in the queue, its memory would be held for as long as the token
/// takes. A slow token would sign for thousands of closed connections before it signs for an open one. A promise can
/// also not be fulfilled once its event loop has been shut down.
///
/// Everything larger than a few words is allocated and freed by the event loop. Memory freed by a signing thread
/// returns to the event loop's heap arena under a lock. An event loop that allocates would then wait for milliseconds,
/// until a signing thread that holds the lock is scheduled again.
final class PendingSignature: @unchecked Sendable {
    // Unchecked because of the two buffers. They belong to the event loop until the work is queued, to the signing
    // thread until it settles, and to the event loop again from then on.
    /// The bytes to be signed.
    private(set) var message: ByteBuffer
    /// Space for the signature.
    private var signature: ByteBuffer

    /// The signature, or the error.
    var future: EventLoopFuture<ByteBuffer> { promise.futureResult }

    private let promise: EventLoopPromise<ByteBuffer>
    private let isOver = Atomic(false)

    /// Creates a pending signature for a handshake on a channel. Call it on the channel's event loop.
    ///
    /// - Parameter size: The maximum length of the signature.
    init(of message: ByteBuffer, size: Int, for channel: any Channel) {
        self.message = message
        signature = channel.allocator.buffer(capacity: size)
        promise = channel.eventLoop.makePromise(of: ByteBuffer.self)
        // Weak, because a connection lives much longer than its handshake.
        channel.closeFuture.whenComplete { [weak self] _ in self?.abandon() }
    }

    deinit { abandon() }

    private func abandon() {
        guard !isOver.exchange(true, ordering: .relaxed) else { return }
        promise.fail(ChannelError.ioOnClosedChannel)
    }

    /// Whether the signature is no longer needed.
    var isAbandoned: Bool { isOver.load(ordering: .relaxed) }

    /// Fulfils the promise, unless the connection has been closed. Called on a signing thread.
    func settle(_ result: Result<[UInt8], any Error>) {
        guard !isOver.exchange(true, ordering: .relaxed) else { return }
        // Copy the bytes, so that memory allocated by this thread is also freed by it.
        let outcome = result.map { bytes in _ = signature.writeBytes(bytes) }
        promise.futureResult.eventLoop.execute {
            let signature = self.signature
            (self.message, self.signature) = (ByteBuffer(), ByteBuffer())
            self.promise.completeWith(outcome.map { signature })
        }
    }
}
#endif
