import Glibc
import Keyfob
import KeyfobNIOSSL
import KeyfobPrimitives
import NIOCore
import NIOPosix
import NIOSSL

/// A server with two event loops that answers what it is told.
final class Server: Sendable {
    let port: Int

    init(_ configuration: TLSConfiguration) async throws {
        let context = try NIOSSLContext(configuration: configuration)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup(numberOfThreads: 2))
            .serverChannelOption(.backlog, value: 1024)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers(NIOSSLServerHandler(context: context), Echo())
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        port = channel.localAddress?.port ?? 0
    }

    private final class Echo: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        func channelRead(context: ChannelHandlerContext, data: NIOAny) { context.writeAndFlush(data, promise: nil) }
        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}

/// For how long our code has held an event loop.
struct Blocks {
    var calls = 0
    var longestWall = 0.0
    var longestCPU = 0.0
    var totalCPU = 0.0
}

/// The token's key, with a clock around what swift-nio-ssl calls on the event loop.
struct MeasuredKey: NIOSSLCustomPrivateKey, Hashable {
    let key: TokenTLSKey
    let blocks: Lock<Blocks>
    var signatureAlgorithms: [SignatureAlgorithm] { key.signatureAlgorithms }

    init(_ key: TokenTLSKey, _ blocks: Lock<Blocks>) {
        self.key = key
        self.blocks = blocks
    }

    static func == (left: Self, right: Self) -> Bool { left.key == right.key }
    func hash(into hasher: inout Hasher) { hasher.combine(key) }

    func sign(channel: any Channel, algorithm: SignatureAlgorithm, data: ByteBuffer) -> EventLoopFuture<ByteBuffer> {
        let (wall, cpu) = (Self.now(CLOCK_MONOTONIC), Self.now(CLOCK_THREAD_CPUTIME_ID))
        let future = key.sign(channel: channel, algorithm: algorithm, data: data)
        let (wallEnd, cpuEnd) = (Self.now(CLOCK_MONOTONIC), Self.now(CLOCK_THREAD_CPUTIME_ID))
        blocks.withLock { blocks in
            blocks.calls += 1
            blocks.longestWall = max(blocks.longestWall, wallEnd - wall)
            blocks.longestCPU = max(blocks.longestCPU, cpuEnd - cpu)
            blocks.totalCPU += cpuEnd - cpu
        }
        return future
    }

    func decrypt(channel: any Channel, data: ByteBuffer) -> EventLoopFuture<ByteBuffer> {
        key.decrypt(channel: channel, data: data)
    }

    private static func now(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
