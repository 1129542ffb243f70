#if NIOSSL
import Foundation
import Keyfob
@testable import KeyfobNIOSSL
import KeyfobPrimitives
import NIOCore
import NIOPosix
import NIOSSL
import KeyfobOpenSSL
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(30)))
struct RotationTests {
    /// The serial number of the certificate that a server presents.
    private func served(_ server: TLSServer, _ home: TLSHome, _ options: [String] = []) throws -> Data {
        let result = try server.sClient(home, options)
        try #require(result.status == 0, "\(result.stderr)")
        return try KeyfobOpenSSL.Certificate(pem: result.stdout).der
    }

    @Test(arguments: [KeyKind.p256, .rsa, .ed25519])
    func `a renewal with any kind of key is served without a restart`(kind: KeyKind) async throws {
        let home = try TLSHome()
        let old = try home.add("web")
        let identity = try await RotatingTLSIdentity(
            .identity(label: "web"), in: home.keychain, interval: .milliseconds(100))
        let events = identity.events()
        let server = try await TLSServer(identity.serverConfiguration())
        #expect(try served(server, home) == old.der)
        let running = try await Connection(server, home)
        #expect(try await running.echo("before") == "before")

        let new = try home.renew("web", kind, file: "web2")
        let event = try #require(await next(.renewed, in: events))
        #expect(event.identity.certificate.der == new.der)
        #expect(try served(server, home, ["-tls1_3"]) == new.der)
        #expect(try served(server, home, ["-tls1_2"]) == new.der)
        // An existing connection stays open.
        #expect(try await running.echo("after") == "after")
        try await running.close()

        // The old version is retired; no handshake needs it any longer.
        try await home.keychain.delete(old)
        await identity.refresh()
        #expect(try served(server, home) == new.der)
        #expect(identity.current.certificate.der == new.der)
    }

    @Test func `the number of promised signatures does not grow with the configurations`() async throws {
        let home = try TLSHome()
        try home.add("web")
        let identity = try await RotatingTLSIdentity(.identity(label: "web"), in: home.keychain)
        #expect(identity.promised.isEmpty)
        _ = identity.serverConfiguration()
        let count = identity.promised.count
        for _ in 0..<20 { _ = (identity.serverConfiguration(), identity.clientConfiguration()) }
        #expect(count > 0 && identity.promised.count == count)
    }

    @Test func `a change that another process makes on the token is detected`() async throws {
        let home = try TLSHome()
        try home.add("web")
        let identity = try await RotatingTLSIdentity(
            .identities.host("localhost"), in: home.keychain, interval: .milliseconds(100))
        let events = identity.events()
        try await Task.sleep(for: .milliseconds(1100))
        try home.issue("web2")
        let id = try home.id(of: "web2")
        try home.shell(
            """
            openssl x509 -in web2.pem -outform DER -out web2.der
            openssl pkey -in web2.key -outform DER -out key.der; openssl pkey -in web2.key -pubout -outform DER -out pub.der
            """)
        for (file, type) in [("key.der", "privkey"), ("pub.der", "pubkey"), ("web2.der", "cert")] {
            try home.tool(["--write-object", home.file(file), "--type", type, "--label", "web", "--id", id])
        }
        let event = try #require(await next(.renewed, in: events))
        #expect(try event.identity.certificate == home.certificate("web2"))
    }

    @Test func `an unusable renewal is refused, once, and the old version stays`() async throws {
        let home = try TLSHome()
        let old = try home.add("web")
        let identity = try await RotatingTLSIdentity(
            .identity(label: "web"), in: home.keychain, interval: .milliseconds(50))
        let events = identity.events()
        let server = try await TLSServer(identity.serverConfiguration())
        let wrong = try home.renew("web", .p256, "client", file: "wrong")
        let event = try #require(await next(.refused, in: events))
        #expect(event.error?.code == .certificateUsageMismatch)
        #expect(event.identity.certificate.der == old.der)
        #expect(try served(server, home) == old.der)
        // It is checked again but not reported again: the next event is the renewal that repairs it.
        await identity.refresh()
        await identity.refresh()
        try await home.keychain.delete(wrong)
        let new = try home.renew("web", file: "web2")
        let mended = await events.first { _ in true }
        #expect(mended?.kind == .renewed)
        #expect(try served(server, home) == new.der)
    }

    @Test func `a renewal that cannot be read at once is in use at the next interval`() async throws {
        let home = try TLSHome()
        let old = try home.add("web")
        // No interval ends during the test: it checks as at the end of one.
        let identity = try await RotatingTLSIdentity(
            .identity(label: "web"), in: home.keychain, interval: .seconds(3600))
        let events = identity.events()
        let new = try home.renew("web", file: "web2")
        // Locked, and for a moment it cannot be opened.
        let source = try #require(home.keychain.configuration.pinSource)
        let file = String(source.dropFirst(5))
        try await home.keychain.lock()
        try FileManager.default.moveItem(atPath: file, toPath: file + ".away")
        #expect(await !identity.look(resolvingAnyway: false))
        let event = await events.first { _ in true }
        #expect(event?.kind == .refused && event?.error?.code == .fileUnavailable)
        #expect(identity.current.certificate.der == old.der)
        try FileManager.default.moveItem(atPath: file + ".away", toPath: file)
        #expect(await identity.look(resolvingAnyway: false))
        #expect(identity.current.certificate.der == new.der)
    }

    @Test func `a refused renewal is not checked again before something changes`() async throws {
        let home = try TLSHome()
        try home.add("web")
        var requirements = TLSRequirements.server
        let looks = Lock(0)
        requirements.date = {
            looks.withLock { $0 += 1 }
            return Date()
        }
        let identity = try await RotatingTLSIdentity(
            .identity(label: "web"), in: home.keychain, requirements: requirements, interval: .seconds(3600))
        try home.renew("web", .p256, "client", file: "wrong")
        let before = looks.withLock { $0 }
        #expect(await !identity.look(resolvingAnyway: false))
        let after = looks.withLock { $0 }
        #expect(after > before)
        #expect(await !identity.look(resolvingAnyway: false))
        #expect(looks.withLock { $0 } == after)
    }

    @Test func `that a certificate is not valid yet is reported once, at any time`() async throws {
        let home = try TLSHome()
        try home.add("web")
        var requirements = TLSRequirements.server
        let clock = Lock(Date())
        requirements.date = { clock.withLock { $0 } }
        let identity = try await RotatingTLSIdentity(
            .identity(label: "web"), in: home.keychain, requirements: requirements, interval: .seconds(3600))
        let events = identity.events()
        // A different certificate each time, so the text of the error differs.
        for step in 1...3 {
            clock.withLock { $0 = Date().addingTimeInterval(TimeInterval(-86400 * 30 - step * 5)) }
            #expect(await !identity.refresh())
        }
        // Late enough for a certificate that becomes valid in a moment.
        clock.withLock { $0 = Date().addingTimeInterval(3600) }
        #expect(await !identity.refresh())
        let new = try home.renew("web", file: "web2")
        try #require(await identity.refresh())
        var kinds: [TLSIdentityEvent.Kind] = []
        for await event in events {
            kinds.append(event.kind)
            if event.kind == .renewed { break }
        }
        #expect(kinds == [.refused, .renewed])
        #expect(identity.current.certificate.der == new.der)
    }

    @Test func `signing fails while the key is missing, and the server stays up`() async throws {
        let home = try TLSHome()
        let first = try home.add("web")
        let identity = try await RotatingTLSIdentity(
            .identity(label: "web"), in: home.keychain, interval: .milliseconds(100))
        let events = identity.events()
        let server = try await TLSServer(identity.serverConfiguration())
        #expect(try server.curl(home).body == "ok")
        // Another program removes the key.
        try home.tool(["--delete-object", "--type", "privkey", "--label", "web"])
        #expect(try server.curl(home).status != 0)
        let event = try #require(await next(.signingFailed, in: events))
        #expect(event.error?.code == .itemNotFound)
        #expect(event.identity.certificate.der == first.der)
        #expect(try server.curl(home).status != 0)
        // A new identity has the name, and the same server serves again.
        try await home.keychain.delete(.certificate(label: "web"))
        try home.add("web", file: "again")
        #expect(await next(.renewed, in: events) != nil)
        #expect(try server.curl(home).body == "ok")
    }

    @Test func `no handshake fails while identities are added and removed`() async throws {
        let home = try TLSHome()
        var old = try home.add("web")
        let identity = try await RotatingTLSIdentity(
            .identity(label: "web"), in: home.keychain, interval: .milliseconds(50))
        let server = try await TLSServer(identity.serverConfiguration())
        let load = Load(port: server.port, root: home.file("root.pem"))
        // As many as fit into the time of three renewals, or as the environment asks for.
        let minimum = Int(ProcessInfo.processInfo.environment["KEYFOB_TEST_HANDSHAKES"] ?? "1") ?? 1
        let isOver = Lock(false)
        let running = Task { try await load.run(connections: 8, until: { isOver.withLock { $0 } }) }
        var index = 0
        while index < 3 || server.counters.withLock({ $0.handshakes }) < minimum {
            let events = identity.events()
            let new = try home.renew("web", index % 2 == 1 ? .rsa : .p256, file: "web\(index + 2)")
            _ = await next(.renewed, in: events)
            // Handshakes that began with the old key need it to the end.
            try await load.letThoseUnderWayEnd()
            try await home.keychain.delete(old)
            old = new
            index += 1
        }
        isOver.withLock { $0 = true }
        let (handshakes, failures) = try await running.value
        #expect(failures == 0 && handshakes >= minimum)
        #expect(server.counters.withLock { $0.failures } == 0)
    }

    @Test func `no handshake fails while other identities are imported under the name`() async throws {
        let home = try TLSHome()
        try home.add("web")
        // So rarely that most handshakes after an import still begin with the previous key.
        let identity = try await RotatingTLSIdentity(
            .identity(label: "web"), in: home.keychain, interval: .milliseconds(700))
        let server = try await TLSServer(identity.serverConfiguration())
        let load = Load(port: server.port, root: home.file("root.pem"))
        let isOver = Lock(false)
        let running = Task { try await load.run(connections: 4, until: { isOver.withLock { $0 } }) }
        for index in 2...4 {
            let events = identity.events()
            let new = try home.add("web", index % 2 == 0 ? .rsa : .p256, file: "web\(index)", isReplacing: true)
            #expect(await next(.renewed, in: events)?.identity.certificate.der == new.der)
        }
        isOver.withLock { $0 = true }
        let (handshakes, failures) = try await running.value
        #expect(failures == 0 && handshakes > 0)
        #expect(server.counters.withLock { $0.failures } == 0)
        // One has the name; the others remain until they are retired.
        #expect(try await home.keychain.find(.identity(label: "web")).count == 1)
        let versions = try await home.keychain.identities.versions(of: "web")
        #expect(versions.count == 4 && versions.first?.der == identity.current.certificate.der)
        for version in versions.dropFirst() { try await home.keychain.identities.retire(version) }
        #expect(try server.curl(home).body == "ok")
    }

    /// The certificate of the client that a server's page shows.
    private func shown(on port: Int, to context: NIOSSLContext) async throws -> Data {
        let page = try await fetch(port: port, with: context)
        try #require(page.contains("Client certificate"), "\(page)")
        return try KeyfobOpenSSL.Certificate(pem: page).der
    }

    @Test(arguments: [KeyKind.p256, .rsa, .ed25519])
    func `a client's certificate is renewed too, with any kind of key`(kind: KeyKind) async throws {
        let home = try TLSHome()
        try home.issue("server")
        let old = try home.add("me", .p256, "client")
        let identity = try await RotatingTLSIdentity(
            .identity(label: "me"), in: home.keychain, requirements: .client, interval: .milliseconds(100))
        let events = identity.events()
        var servers: [OpenSSLServer] = []
        defer { for server in servers { server.stop() } }
        for version in ["-tls1_2", "-tls1_3"] { servers.append(try OpenSSLServer(home, [version])) }
        let ports = servers.map(\.port)
        // Created once, before the renewal, as in a running client.
        let context = try NIOSSLContext(
            configuration: identity.clientConfiguration(trustRoots: .file(home.file("root.pem"))))
        for port in ports { #expect(try await shown(on: port, to: context) == old.der) }

        let new = try home.renew("me", kind, "client", file: "me2")
        let event = try #require(await next(.renewed, in: events))
        #expect(event.identity.certificate.der == new.der && new.der != old.der)
        for port in ports { #expect(try await shown(on: port, to: context) == new.der) }

        // The old version is removed, and nothing needs it any longer.
        try await home.keychain.delete(old)
        await identity.refresh()
        for port in ports { #expect(try await shown(on: port, to: context) == new.der) }
        #expect(identity.current.certificate.der == new.der)
    }
}
#endif
