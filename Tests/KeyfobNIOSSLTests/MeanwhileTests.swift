#if NIOSSL
import Foundation
import Keyfob
import KeyfobNIOSSL
import NIOSSL
import KeyfobOpenSSL
import TestSupport
import Testing

/// A server whose keychain is changed by other programs.
@Suite(.timeLimit(.minutes(30)))
struct MeanwhileTests {
    @Test func `a second identity that matches the query is refused, and the one in use stays`() async throws {
        let home = try TLSHome()
        let first = try home.add("web")
        let identity = try await RotatingTLSIdentity(
            .identities.host("localhost"), in: home.keychain, interval: .milliseconds(50))
        let events = identity.events()
        let server = try await TLSServer(identity.serverConfiguration())
        try home.issue("api", .rsa, subject: "/CN=api")
        let other = try home.add("api", .rsa)
        let event = try #require(await next(.refused, in: events))
        #expect(event.error?.code == .ambiguous && event.identity.certificate.der == first.der)
        #expect(event.error?.message.hasPrefix("the query matches 2 identities: ") == true)
        #expect(try server.curl(home).body == "ok")
        #expect(try server.sClient(home).stdout.contains("subject=CN = localhost"))
        // The query matches the other one, whichever is removed.
        try await home.keychain.delete(first)
        let renewed = try #require(await next(.renewed, in: events))
        #expect(renewed.identity.certificate.der == other.der)
        #expect(try server.sClient(home).stdout.contains("subject=CN = api"))
    }

    @Test func `an identity that is removed is reported, and one that takes its place is served`() async throws {
        let home = try TLSHome()
        let first = try home.add("web")
        let identity = try await RotatingTLSIdentity(
            .identity(label: "web"), in: home.keychain, interval: .milliseconds(50))
        let events = identity.events()
        let server = try await TLSServer(identity.serverConfiguration())
        let running = try await Connection(server, home)
        #expect(try await running.echo("before") == "before")
        try await home.keychain.delete(first)
        let refused = try #require(await next(.refused, in: events))
        #expect(refused.error?.code == .itemNotFound && refused.identity.certificate.der == first.der)
        #expect(try server.curl(home).status != 0)
        let failed = try #require(await next(.signingFailed, in: events))
        #expect(failed.error?.code == .itemNotFound)
        #expect(try await running.echo("after") == "after")
        try await running.close()
        try home.add("web", .rsa, file: "again")
        #expect(await next(.renewed, in: events) != nil)
        #expect(try server.curl(home).body == "ok")
    }

    @Test func `a server whose keychain is locked goes on or reports why not, and serves again later`() async throws {
        let home = try TLSHome()
        try home.add("web")
        let identity = try await RotatingTLSIdentity(
            .identity(label: "web"), in: home.keychain, interval: .milliseconds(50))
        let server = try await TLSServer(identity.serverConfiguration())
        #expect(try server.curl(home).body == "ok")
        for _ in 0..<3 {
            try await home.keychain.lock()
            // The PIN is in a file, so the keychain unlocks itself without a prompt.
            #expect(try server.curl(home).body == "ok")
            await identity.refresh()
            #expect(try server.curl(home).body == "ok")
        }
        try await home.keychain.unlock()
        #expect(try server.curl(home).body == "ok")
    }
}
#endif
