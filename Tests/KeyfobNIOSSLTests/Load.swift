#if NIOSSL
import KeyfobPrimitives
import NIOCore
import NIOPosix
import NIOSSL

/// Handshakes one after the other on several connections at once, each verified up to the root.
struct Load: Sendable {
    let port: Int
    let root: String
    /// How many handshakes each connection has completed.
    private let ended = Lock<[Int: Int]>([:])

    init(port: Int, root: String) {
        self.port = port
        self.root = root
    }

    /// Waits until all handshakes that are in progress now have ended.
    func letThoseUnderWayEnd() async throws {
        let before = ended.withLock { $0 }
        while ended.withLock({ ended in before.contains { ended[$0.key, default: 0] <= $0.value } }) {
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    /// Runs until it is told to end.
    ///
    /// - Returns: The number of handshakes, and of failed ones.
    func run(connections: Int, until isOver: @escaping @Sendable () -> Bool) async throws -> (handshakes: Int, failures: Int) {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .file(root)
        let context = try NIOSSLContext(configuration: configuration)
        return await withTaskGroup(of: (Int, Int).self) { group in
            for connection in 0..<connections {
                ended.withLock { $0[connection] = 0 }
                group.addTask {
                    var (handshakes, failures) = (0, 0)
                    while !isOver() {
                        do { try await shakeHands(context) } catch { failures += 1 }
                        handshakes += 1
                        ended.withLock { $0[connection, default: 0] += 1 }
                    }
                    return (handshakes, failures)
                }
            }
            return await group.reduce(into: (0, 0)) { $0 = ($0.0 + $1.0, $0.1 + $1.1) }
        }
    }

    private func shakeHands(_ context: NIOSSLContext) async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let promise = loop.makePromise(of: Void.self)
        let channel: any Channel
        do {
            channel = try await ClientBootstrap(group: loop)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandlers(
                            NIOSSLClientHandler(context: context, serverHostname: "localhost"), Answer(promise))
                    }
                }
                .connect(host: "127.0.0.1", port: port).get()
        } catch {
            promise.fail(error)
            throw error
        }
        // With TLS 1.3 the client is done before the server has checked anything; the echo shows that the server is
        // done too.
        try await channel.writeAndFlush(ByteBuffer(string: "x"))
        try await promise.futureResult.get()
        // Messages at the end of a connection are not part of the handshake.
        channel.close(promise: nil)
    }

    private final class Answer: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let promise: EventLoopPromise<Void>
        init(_ promise: EventLoopPromise<Void>) { self.promise = promise }
        func channelRead(context: ChannelHandlerContext, data: NIOAny) { promise.succeed(()) }
        func channelInactive(context: ChannelHandlerContext) {
            promise.fail(ChannelError.eof)
            context.fireChannelInactive()
        }
        func errorCaught(context: ChannelHandlerContext, error: any Error) { promise.fail(error) }
    }
}
#endif
