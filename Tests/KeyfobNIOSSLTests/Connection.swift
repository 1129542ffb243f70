#if NIOSSL
import NIOCore
import NIOPosix
import NIOSSL

/// A connection that stays open.
final class Connection: Sendable {
    private let channel: any Channel
    private let stream: AsyncStream<String>

    init(_ server: TLSServer, _ home: TLSHome) async throws {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .file(home.file("root.pem"))
        let context = try NIOSSLContext(configuration: configuration)
        let (stream, continuation) = AsyncStream.makeStream(of: String.self)
        self.stream = stream
        channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers(
                        NIOSSLClientHandler(context: context, serverHostname: "localhost"), Listener(continuation))
                }
            }
            .connect(host: "127.0.0.1", port: server.port).get()
    }

    func echo(_ text: String) async throws -> String? {
        try await channel.writeAndFlush(ByteBuffer(string: text))
        return await stream.first { _ in true }
    }

    func close() async throws { try await channel.close() }

    private final class Listener: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let continuation: AsyncStream<String>.Continuation
        init(_ continuation: AsyncStream<String>.Continuation) { self.continuation = continuation }
        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            continuation.yield(String(buffer: unwrapInboundIn(data)))
        }
        func channelInactive(context: ChannelHandlerContext) { continuation.finish() }
    }
}
#endif
