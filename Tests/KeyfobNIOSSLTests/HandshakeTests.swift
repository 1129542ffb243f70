#if NIOSSL
import Foundation
import Keyfob
import KeyfobNIOSSL
import KeyfobPrimitives
import NIOCore
import NIOPosix
import NIOSSL
import KeyfobOpenSSL
import TestSupport
import Testing

struct HandshakeTests {
    /// OpenSSL's name for the signature of the server's key, by protocol.
    static let signatures: [KeyKind: (tls12: String, tls13: String)] = [
        .rsa: ("RSA-PSS", "RSA-PSS"), .p256: ("ECDSA", "ECDSA"), .p384: ("ECDSA", "ECDSA"), .p521: ("ECDSA", "ECDSA"),
        .ed25519: ("ed25519", "ed25519"),
    ]

    @Test(arguments: KeyKind.allCases)
    func `a server with a key on the token completes handshakes over TLS 1.2 and 1.3`(kind: KeyKind) async throws {
        let home = try TLSHome()
        try home.add("web", kind)
        let server = try await TLSServer(.server(.identities.host("localhost"), in: home.keychain))
        for (option, name) in [("-tls1_2", Self.signatures[kind]?.tls12), ("-tls1_3", Self.signatures[kind]?.tls13)] {
            let result = try server.sClient(home, [option])
            #expect(result.status == 0, "\(option): \(result.stderr)")
            #expect(result.stdout.contains("Verification: OK"))
            #expect(result.stdout.contains("Peer signature type: \(name ?? "?")"), "\(option): \(result.stdout)")
            // The client has the root, and the server sends the intermediate.
            #expect(result.stdout.contains("1 s:CN = Test Intermediate"))
        }
        #expect(try server.curl(home).body == "ok")
    }

    @Test(arguments: [
        ("rsa_pkcs1_sha256", "-tls1_2"), ("rsa_pkcs1_sha512", "-tls1_2"), ("rsa_pss_rsae_sha384", "-tls1_3"),
        ("rsa_pss_rsae_sha512", "-tls1_3"),
    ])
    func `an RSA key signs with each algorithm in a request`(algorithm: String, version: String) async throws {
        let home = try TLSHome()
        try home.add("web", .rsa)
        let server = try await TLSServer(.server(.identity(label: "web"), in: home.keychain))
        let result = try server.sClient(home, [version, "-sigalgs", algorithm])
        #expect(result.status == 0, "\(result.stderr)")
        #expect(result.stdout.contains("Peer signature type: \(algorithm.contains("pss") ? "RSA-PSS" : "RSA\n")"))
    }

    @Test(arguments: [
        (KeyKind.p256, "ECDSA+SHA384", "-tls1_2", true), (.p256, "ECDSA+SHA512", "-tls1_2", true),
        (.p384, "ECDSA+SHA256", "-tls1_2", true), (.p521, "ECDSA+SHA256", "-tls1_2", true),
        (.p256, "ECDSA+SHA384", "-tls1_3", false), (.p256, "ECDSA+SHA1:RSA+SHA1", "-tls1_2", false),
        (.ed25519, "ed25519", "-tls1_2", true), (.ed25519, "ECDSA+SHA256", "-tls1_3", false),
    ])
    func `an EC key signs with requested algorithms, and an impossible request stops no other handshake`(
        kind: KeyKind, algorithms: String, version: String, isPossible: Bool
    ) async throws {
        let home = try TLSHome()
        try home.add("web", kind)
        let server = try await TLSServer(.server(.identity(label: "web"), in: home.keychain))
        let options = [version, "-sigalgs", algorithms, "-cipher", "DEFAULT:@SECLEVEL=0"]
        let result = try server.sClient(home, options)
        #expect((result.status == 0) == isPossible, "\(result.stderr)")
        #expect(try server.sClient(home, []).status == 0)
    }

    @Test func `RSA key transport and TLS 1_1 are not offered`() async throws {
        let home = try TLSHome()
        try home.add("web", .rsa)
        let server = try await TLSServer(.server(.identity(label: "web"), in: home.keychain))
        #expect(try server.sClient(home, ["-tls1_2", "-cipher", "kRSA"]).status != 0)
        #expect(try server.sClient(home, ["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"]).status != 0)
        #expect(try server.sClient(home, ["-tls1_2"]).status == 0)
    }

    @Test(arguments: KeyKind.allCases)
    func `a server requests client certificates, and accepts all its own kinds of keys`(kind: KeyKind) async throws {
        let home = try TLSHome()
        try home.add("web", kind)
        try home.issue("alice", kind, "client", subject: "/CN=alice")
        _ = try await home.keychain.trust.add(home.certificate("root"), for: [.client])
        let trust = try await NIOSSLTrustRoots.trusted(by: home.keychain, for: .client)
        let server = try await TLSServer(
            .server(.identity(label: "web"), in: home.keychain, clientTrust: trust))
        try home.shell("cat alice.pem inter.pem > alice.chain.pem")
        let own = ["--cert", home.file("alice.chain.pem"), "--key", home.file("alice.key")]
        for version in ["1.2", "1.3"] {
            let limit = ["--tlsv\(version)", "--tls-max", version]
            #expect(try server.curl(home, own + limit).body == "ok", "TLS \(version)")
            #expect(try server.curl(home, limit).status != 0, "TLS \(version) without a certificate")
        }
        // Also a client with a key on the token, whose own list of accepted algorithms is checked too.
        try home.add("alice", kind, "client")
        for version in [TLSVersion.tlsv12, .tlsv13] {
            var configuration = try await TLSConfiguration.client(
                .identity(label: "alice"), in: home.keychain, trustRoots: .file(home.file("root.pem")))
            (configuration.minimumTLSVersion, configuration.maximumTLSVersion) = (version, version)
            #expect(try await fetch(port: server.port, configuration).hasSuffix("ok"), "\(version)")
        }
        // A certificate trusted for clients is not trusted for servers.
        let none = try await NIOSSLTrustRoots.trusted(by: home.keychain, for: .server)
        #expect(none == .certificates([]))
    }

    @Test(arguments: KeyKind.allCases, ["-tls1_2", "-tls1_3"])
    func `openssl accepts a client with a key on the token`(kind: KeyKind, version: String) async throws {
        let home = try TLSHome()
        try home.issue("server")
        try home.add("me", kind, "client")
        let server = try OpenSSLServer(home, [version])
        defer { server.stop() }
        var configuration = try await TLSConfiguration.client(
            .identity(label: "me"), in: home.keychain, trustRoots: .file(home.file("root.pem")))
        configuration.shutdownTimeout = .seconds(1)
        let answer = try await fetch(port: server.port, configuration)
        #expect(answer.contains("200"), "\(answer)")
        #expect(answer.contains("Verify return code: 0 (ok)") || answer.contains("Client certificate"), "\(answer)")
    }
}

/// `openssl s_server` that requires a certificate of the client.
final class OpenSSLServer {
    private let process = Process()
    let port: Int

    init(_ home: TLSHome, _ arguments: [String]) throws {
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments =
            [
                "s_server", "-accept", "127.0.0.1:0", "-cert", home.file("server.pem"), "-key", home.file("server.key"),
                "-cert_chain", home.file("inter.pem"), "-CAfile", home.file("root.pem"), "-Verify", "3",
                "-verify_return_error", "-www",
            ] + arguments
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        process.standardInput = Pipe()
        try process.run()
        var text = ""
        var found: Int?
        while found == nil {
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { break }
            text += String(decoding: data, as: UTF8.self)
            found = text.split(separator: "\n").first { $0.hasPrefix("ACCEPT ") }
                .flatMap { $0.split(separator: ":").last }.flatMap { Int($0) }
        }
        port = try #require(found, "openssl s_server: \(text)")
    }

    /// Ends it at once. Foundation reaps it; waiting for that here would block a thread of the cooperative pool.
    func stop() { kill(process.processIdentifier, SIGKILL) }
}

/// Requests a page with swift-nio-ssl's client.
func fetch(port: Int, _ configuration: TLSConfiguration) async throws -> String {
    let context = try NIOSSLContext(configuration: configuration)
    return try await fetch(port: port, with: context)
}

/// Requests a page with a context. A client has one context for all its connections.
func fetch(port: Int, with context: NIOSSLContext) async throws -> String {
    let promise = MultiThreadedEventLoopGroup.singleton.next().makePromise(of: String.self)
    // Only a guard against hanging: a server that is silent for this long stays silent.
    let limit = promise.futureResult.eventLoop.scheduleTask(in: .minutes(4)) {
        promise.fail(ChannelError.connectTimeout(.minutes(4)))
    }
    defer { limit.cancel() }
    let channel = try await ClientBootstrap(group: promise.futureResult.eventLoop)
        .channelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandlers(
                    NIOSSLClientHandler(context: context, serverHostname: "localhost"), Collector(promise))
            }
        }
        .connect(host: "127.0.0.1", port: port).get()
    let request = ByteBuffer(string: "GET / HTTP/1.0\r\n\r\n")
    try await channel.writeAndFlush(request)
    return try await promise.futureResult.get()
}

private final class Collector: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let promise: EventLoopPromise<String>
    private var text = ""

    init(_ promise: EventLoopPromise<String>) { self.promise = promise }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { text += String(buffer: unwrapInboundIn(data)) }

    func channelInactive(context: ChannelHandlerContext) { promise.succeed(text) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // OpenSSL's `-www` ends without a close_notify alert; the handshake succeeded all the same.
        if text.isEmpty { promise.fail(error) } else { promise.succeed(text) }
        context.close(promise: nil)
    }
}
#endif
