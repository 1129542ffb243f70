#if NIOSSL
import Foundation
import Keyfob
import KeyfobNIOSSL
import KeyfobPrimitives
import NIOCore
import NIOEmbedded
import NIOPosix
import NIOSSL
import TestSupport
import Testing

/// Connections and servers that end while the token signs for them.
///
/// A promise that is never fulfilled ends the process in these tests, because swift-nio checks for it in debug builds.
@Suite(.timeLimit(.minutes(30)))
struct AbortedHandshakeTests {
    /// Waits until this number of signatures is held in the token.
    private func waitForSignatures(_ count: Int, _ module: FaultyModule) async throws {
        for _ in 0..<24000 where try module.heldSignatures < count { try await Task.sleep(for: .milliseconds(10)) }
        #expect(try module.heldSignatures >= count)
    }

    /// The first message of a client.
    private func clientHello(_ home: TLSHome) throws -> ByteBuffer {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .file(home.file("root.pem"))
        let handler = try NIOSSLClientHandler(
            context: NIOSSLContext(configuration: configuration), serverHostname: "localhost")
        let channel = EmbeddedChannel(handler: handler)
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 443), promise: nil)
        var hello = ByteBuffer()
        while var part = try channel.readOutbound(as: ByteBuffer.self) { hello.writeBuffer(&part) }
        _ = try? channel.finish(acceptAlreadyClosed: true)  // The handshake was never answered.
        try #require(hello.readableBytes > 100)
        return hello
    }

    @Test func `a server is shut down while the token signs, and another one serves with the same key`() async throws {
        let (home, module) = try TLSHome.faulty()
        try home.add("web")
        let identity = try await RotatingTLSIdentity(.identity(label: "web"), in: home.keychain)
        let server = try await TLSServer(identity.serverConfiguration())
        try module.say("hold=C_Sign")
        async let handshake = BlockingExecutor(width: 1).run { try server.curl(home).status }
        try await waitForSignatures(1, module)
        let channel = try await ClientBootstrap(group: server.group).connect(host: "127.0.0.1", port: server.port).get()
        let key = identity.current.key
        let algorithm = try #require(key.signatureAlgorithms.first)
        let isAnswered = Lock(false)
        channel.eventLoop.execute {
            key.sign(channel: channel, algorithm: algorithm, data: ByteBuffer(string: "data"))
                .whenFailure { _ in isAnswered.withLock { $0 = true } }
        }
        try await waitForSignatures(2, module)
        try await server.shutDown()
        // After shutdown no promise can be fulfilled: one that is left on an event loop that has ended is a leak.
        #expect(isAnswered.withLock { $0 })
        #expect(try await handshake != 0)
        try module.say("")
        let other = try await TLSServer(identity.serverConfiguration())
        #expect(try other.curl(home).body == "ok")
        #expect(try other.curl(home).body == "ok")
    }

    @Test func `a handshake whose connection is closed stops waiting for the token`() async throws {
        let (home, module) = try TLSHome.faulty()
        try home.add("web")
        let key = try await TLSIdentity.load(.identity(label: "web"), in: home.keychain).key
        let algorithm = try #require(key.signatureAlgorithms.first)
        try module.say("hold=C_Sign")
        let group = MultiThreadedEventLoopGroup.singleton
        let server = try await ServerBootstrap(group: group).bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(server.localAddress?.port)
        var signatures: [EventLoopFuture<ByteBuffer>] = []
        var channels: [any Channel] = []
        // More than there are threads, so some signatures have not started.
        for _ in 0..<12 {
            let channel = try await ClientBootstrap(group: group).connect(host: "127.0.0.1", port: port).get()
            channels.append(channel)
            signatures.append(
                channel.eventLoop.flatSubmit {
                    key.sign(channel: channel, algorithm: algorithm, data: ByteBuffer(string: "data"))
                })
        }
        try await waitForSignatures(1, module)
        for channel in channels { try await channel.close() }
        for signature in signatures { await #expect(throws: ChannelError.self) { try await signature.get() } }
        #expect(try module.heldSignatures <= 4)
        try module.say("")
        try await server.close()
    }

    @Test func `a thousand connections that end during the handshake leave nothing behind`() async throws {
        // A signature that is held for longer than this counts as a failure.
        let (home, module) = try TLSHome.faulty(timeout: .seconds(240))
        try home.add("web")
        let identity = try await RotatingTLSIdentity(.identity(label: "web"), in: home.keychain)
        let events = identity.events()
        let server = try await TLSServer(identity.serverConfiguration())
        let running = try await Connection(server, home)
        // The client is connected, but the handshake is not complete.
        #expect(try await running.echo("before") == "before")
        let hello = try clientHello(home)
        for round in 0..<20 {
            let isHeld = round % 2 == 0
            let before = server.counters.withLock { $0.accepted }
            if isHeld { try module.say("hold=C_Sign") }
            var channels: [any Channel] = []
            for _ in 0..<50 {
                let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                    .connect(host: "127.0.0.1", port: server.port).get()
                try await channel.writeAndFlush(hello)
                channels.append(channel)
            }
            if isHeld { try await waitForSignatures(1, module) }
            for (index, channel) in channels.enumerated() {
                // Half of them end with a reset.
                if index % 2 == 0, let channel = channel as? any SocketOptionProvider {
                    try await channel.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
                }
                try await channel.close()
            }
            if isHeld { try module.say("") }
            // The server has seen all connections and their end.
            for _ in 0..<12000 where server.counters.withLock({ $0.accepted - before < 50 || $0.open > 1 }) {
                try await Task.sleep(for: .milliseconds(10))
            }
            #expect(server.counters.withLock { $0.accepted - before == 50 && $0.open == 1 })
        }
        #expect(try await running.echo("still here") == "still here")
        #expect(try server.curl(home).body == "ok")
        try await running.close()
        // No event was reported, because the token had no failure.
        try home.renew("web", file: "web2")
        await identity.refresh()
        // A check during the renewal may refuse an incomplete version.
        let event = await events.first { $0.kind != .refused }
        #expect(event?.kind == .renewed, "\(event as Any)")
    }
}
#endif
