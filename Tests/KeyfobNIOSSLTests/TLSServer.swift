#if NIOSSL
import Foundation
import KeyfobPrimitives
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS
import TestSupport

/// A server on a port of its own. It answers every line of HTTP with `ok`, and counts.
final class TLSServer: Sendable {
    let port: Int
    /// One event loop, which servers may share.
    let group: MultiThreadedEventLoopGroup
    private let ownsGroup: Bool
    private let channel: any Channel
    let counters = Lock(Counters())

    struct Counters {
        /// The number of connections, and of those that have not ended.
        var accepted = 0
        var open = 0
        var handshakes = 0
        var failures = 0
    }

    init(_ configuration: TLSConfiguration, on shared: MultiThreadedEventLoopGroup? = nil) async throws {
        group = shared ?? MultiThreadedEventLoopGroup(numberOfThreads: 1)
        ownsGroup = shared == nil
        let context = try NIOSSLContext(configuration: configuration)
        channel = try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 256)
            .childChannelInitializer { [counters] channel in
                counters.withLock { ($0.accepted, $0.open) = ($0.accepted + 1, $0.open + 1) }
                channel.closeFuture.whenComplete { _ in counters.withLock { $0.open -= 1 } }
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers(
                        NIOSSLServerHandler(context: context), Answer(counters: counters))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        port = channel.localAddress?.port ?? 0
    }

    /// Ends the server with its event loop, in any state.
    func shutDown() async throws { try await group.shutdownGracefully() }

    deinit {
        guard ownsGroup else { return channel.close(promise: nil) }
        group.shutdownGracefully { _ in }
    }

    /// The exit status of `curl`, and the body.
    func curl(_ home: TLSHome, _ arguments: [String] = []) throws -> (status: Int32, body: String) {
        let result = try run(
            "curl",
            [
                "--silent", "--show-error", "--max-time", "120", "--noproxy", "*", "--cacert", home.file("root.pem"),
                "--resolve", "localhost:\(port):127.0.0.1",
            ] + arguments + ["https://localhost:\(port)/"])
        return (result.status, result.stdout)
    }

    /// The output of `openssl s_client` about a handshake that it verified up to the root.
    func sClient(_ home: TLSHome, _ arguments: [String] = []) throws -> RunResult {
        try run(
            "openssl",
            [
                "s_client", "-connect", "127.0.0.1:\(port)", "-servername", "localhost", "-verify_hostname", "localhost",
                "-verify_return_error", "-CAfile", home.file("root.pem"),
            ] + arguments, stdin: [UInt8]("Q\n".utf8))
    }
}

private final class Answer: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let counters: Lock<TLSServer.Counters>
    private var hasShakenHands = false

    init(counters: Lock<TLSServer.Counters>) { self.counters = counters }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case TLSUserEvent.handshakeCompleted? = event as? TLSUserEvent {
            hasShakenHands = true
            counters.withLock { $0.handshakes += 1 }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let text = String(buffer: unwrapInboundIn(data))
        let isHTTP = text.hasPrefix("GET ")
        let answer = isHTTP ? "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok" : text
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
        if isHTTP { context.close(mode: .output, promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if !hasShakenHands { counters.withLock { $0.failures += 1 } }
        context.close(promise: nil)
    }
}
#endif
