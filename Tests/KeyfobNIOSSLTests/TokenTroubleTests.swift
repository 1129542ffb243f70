#if NIOSSL
import Foundation
import Keyfob
import KeyfobNIOSSL
import KeyfobPrimitives
import NIOSSL
import KeyfobOpenSSL
import TestSupport
import Testing

/// Tokens that are removed, are slow, or support few algorithms.
@Suite(.timeLimit(.minutes(30)))
struct TokenTroubleTests {
    /// Waits until this number of signatures is held in the token.
    private func waitForSignatures(_ count: Int, _ module: FaultyModule) async throws {
        for _ in 0..<24000 where try module.heldSignatures < count { try await Task.sleep(for: .milliseconds(10)) }
        #expect(try module.heldSignatures >= count)
    }

    @Test func `a token that is removed fails handshakes with its reason, and serves again when it is back`()
        async throws
    {
        let (home, module) = try TLSHome.faulty()
        let der = try home.add("web").der
        let identity = try await RotatingTLSIdentity(
            .identity(label: "web"), in: home.keychain, interval: .milliseconds(200))
        let events = identity.events()
        let server = try await TLSServer(identity.serverConfiguration())
        let running = try await Connection(server, home)
        #expect(try server.curl(home).body == "ok")

        try module.say("absent")
        #expect(try server.curl(home).status != 0)
        let failed = try #require(await next(.signingFailed, in: events))
        #expect(failed.error?.code == .tokenAbsent)
        // Keyfob looks for the name, and keeps an identity that it cannot find now.
        let refused = try #require(await next(.refused, in: events))
        #expect(refused.error?.code == .tokenAbsent && refused.identity.certificate.der == der)
        #expect(try server.curl(home).status != 0)
        // A completed handshake needs no key.
        #expect(try await running.echo("still here") == "still here")

        try module.say("")
        #expect(try server.curl(home).body == "ok")
        #expect(try await running.echo("and now") == "and now")
        try await running.close()
    }

    @Test func `a token that is removed while it signs fails that handshake alone`() async throws {
        let (home, module) = try TLSHome.faulty()
        try home.add("web")
        let identity = try await RotatingTLSIdentity(.identity(label: "web"), in: home.keychain, interval: .seconds(60))
        let events = identity.events()
        let server = try await TLSServer(identity.serverConfiguration())
        let running = try await Connection(server, home)
        // The client is connected, but the handshake is not complete.
        #expect(try await running.echo("before") == "before")

        try module.say("hold=C_Sign")
        async let handshake = BlockingExecutor(width: 1).run { try server.curl(home).status }
        try await waitForSignatures(1, module)
        try module.say("absent")
        #expect(try await handshake != 0)
        #expect(await next(.signingFailed, in: events)?.error?.code == .tokenAbsent)
        #expect(try await running.echo("still here") == "still here")
        try module.say("")
        #expect(try server.curl(home).body == "ok")
        try await running.close()
    }

    @Test func `a slow token delays neither other connections of its loop nor handshakes with other tokens`()
        async throws
    {
        let (slow, module) = try TLSHome.faulty()
        try slow.add("web")
        let quick = try TLSHome()
        try quick.add("web")
        let slowIdentity = try await TLSIdentity.load(.identity(label: "web"), in: slow.keychain)
        let quickIdentity = try await TLSIdentity.load(.identity(label: "web"), in: quick.keychain)
        let slowServer = try await TLSServer(slowIdentity.serverConfiguration())
        let quickServer = try await TLSServer(quickIdentity.serverConfiguration(), on: slowServer.group)
        let running = try await Connection(slowServer, slow)
        #expect(try await running.echo("before") == "before")

        try module.say("hold=C_Sign")
        var handshakes: [Task<String?, any Error>] = []
        // All threads of the token, and more connections than it has threads.
        for count in [1, 2, 3, 4, 4, 4] {
            handshakes.append(Task { try await Connection(slowServer, slow).echo("late") })
            try await waitForSignatures(count, module)
        }
        #expect(try await running.echo("meanwhile") == "meanwhile")
        let connection = try await Connection(quickServer, quick)
        #expect(try await connection.echo("quick") == "quick")
        try await connection.close()
        // All four still wait: a thread whose signature had been released would have begun to wait with the next.
        #expect(try module.heldSignatures == 4)
        #expect(slowServer.counters.withLock { $0.handshakes } == 1)
        try module.say("")
        for handshake in handshakes { #expect(try await handshake.value == "late") }
        try await running.close()
    }

    @Test(arguments: [("1", false), ("3", true), ("1,3", true)])
    func `a token that has RSA PKCS#1 only serves TLS 1_2, and one with raw RSA also 1_3`(
        mechanisms: String, servesTLS13: Bool
    ) async throws {
        let (home, module) = try TLSHome.faulty()
        try home.add("web", .rsa)
        try module.say("sign-only=\(mechanisms)")
        let identity = try await TLSIdentity.load(.identity(label: "web"), in: home.keychain)
        #expect(identity.key.supportsTLS13 == servesTLS13)
        #expect(identity.key.signatureAlgorithms.count == (servesTLS13 ? 6 : 3))
        let server = try await TLSServer(identity.serverConfiguration())
        #expect(try server.sClient(home, ["-tls1_2"]).status == 0)
        let result = try server.sClient(home, ["-tls1_3"])
        #expect((result.status == 0) == servesTLS13, "\(result.stderr)")
        #expect(!servesTLS13 || result.stdout.contains("Peer signature type: RSA-PSS"))
        #expect(try server.curl(home).body == "ok")
        var requirements = TLSRequirements.server
        requirements.requiresTLS13 = true
        let found = await code {
            _ = try await TLSIdentity.load(.identity(label: "web"), in: home.keychain, requirements: requirements)
        }
        #expect(found == (servesTLS13 ? nil : .mechanismUnsupported))
    }
}
#endif
