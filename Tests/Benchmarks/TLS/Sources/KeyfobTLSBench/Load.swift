import Glibc
import KeyfobPrimitives
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS

/// Handshakes one after the other on several connections at once.
///
/// All on event loops, without a task in the way: the client shares the machine with what it measures.
struct Load: Sendable {
    let port: Int
    let context: NIOSSLContext
    private static let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)

    init(port: Int) throws {
        self.port = port
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv13
        // Who believes the certificate is the affair of the tests; here it would only cost time.
        configuration.certificateVerification = .none
        context = try NIOSSLContext(configuration: configuration)
    }

    struct Result: Sendable {
        var handshakes = 0
        var failures = 0
        var seconds = 0.0
    }

    /// Runs until a number of handshakes or a time is reached.
    func run(connections: Int, limit: Int, seconds: Double) async -> Result {
        let state = Lock(Result())
        let start = ContinuousClock.now
        let end = start + .seconds(seconds)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<connections {
                let loop = Self.group.next()
                let done = loop.makePromise(of: Void.self)
                loop.execute { self.next(on: loop, state, limit, end, done) }
                group.addTask { try? await done.futureResult.get() }
            }
        }
        var result = state.withLock { $0 }
        result.seconds = (ContinuousClock.now - start) / .seconds(1)
        return result
    }

    private func next(
        on loop: any EventLoop, _ state: Lock<Result>, _ limit: Int, _ end: ContinuousClock.Instant,
        _ done: EventLoopPromise<Void>
    ) {
        guard ContinuousClock.now < end, state.withLock({ $0.handshakes + $0.failures }) < limit else {
            return done.succeed(())
        }
        let answer = loop.makePromise(of: Void.self)
        ClientBootstrap(group: loop)
            .channelInitializer { [context] channel in
                channel.eventLoop.makeCompletedFuture {
                    // Nothing is left of a connection that is reset, so that ports do not run out.
                    if let options = channel as? any SocketOptionProvider {
                        _ = options.setSoLinger(linger(l_onoff: 1, l_linger: 0))
                    }
                    try channel.pipeline.syncOperations.addHandlers(
                        NIOSSLClientHandler(context: context, serverHostname: "localhost"), Answer(answer))
                }
            }
            .connect(host: "127.0.0.1", port: port)
            .whenFailure { answer.fail($0) }
        answer.futureResult.whenComplete { outcome in
            state.withLock { state in
                if case .success = outcome { state.handshakes += 1 } else { state.failures += 1 }
            }
            next(on: loop, state, limit, end, done)
        }
    }

    private final class Answer: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let promise: EventLoopPromise<Void>
        init(_ promise: EventLoopPromise<Void>) { self.promise = promise }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            guard case .handshakeCompleted? = event as? TLSUserEvent else { return }
            // In TLS 1.3 the client is done before the server has looked at its last message; an echo tells.
            context.writeAndFlush(NIOAny(ByteBuffer(string: "x")), promise: nil)
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            promise.succeed(())
            // Past the farewell of TLS: the handshake is what is measured.
            context.channel.close(mode: .all, promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) { promise.fail(ChannelError.eof) }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            promise.fail(error)
            context.close(promise: nil)
        }
    }
}
