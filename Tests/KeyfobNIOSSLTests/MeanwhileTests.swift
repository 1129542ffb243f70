#if NIOSSL
import Foundation
import Keyfob
import KeyfobNIOSSL
import NIOSSL
import OpenSSL
import TestSupport
import Testing

/// What becomes of a server while somebody does something else with its keychain.
@Suite(.timeLimit(.minutes(30)))
struct MeanwhileTests {
    @Test func `a second identity that the query means too is refused, and the one in use stays`() async throws {
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
        // Whichever of the two goes, the other one is meant.
        try await home.keychain.delete(first)
        let renewed = try #require(await next(.renewed, in: events))
        #expect(renewed.identity.certificate.der == other.der)
        #expect(try server.sClient(home).stdout.contains("subject=CN = api"))
    }

    @Test func `an identity that is removed is told, and one that takes its place is served`() async throws {
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

    @Test func `a keychain that is locked by its owner serves on, or says why not, and serves again`() async throws {
        let home = try TLSHome()
        try home.add("web")
        let identity = try await RotatingTLSIdentity(
            .identity(label: "web"), in: home.keychain, interval: .milliseconds(50))
        let server = try await TLSServer(identity.serverConfiguration())
        #expect(try server.curl(home).body == "ok")
        for _ in 0..<3 {
            try await home.keychain.lock()
            // The PIN lies in a file: whoever may read it need not be asked.
            #expect(try server.curl(home).body == "ok")
            await identity.refresh()
            #expect(try server.curl(home).body == "ok")
        }
        try await home.keychain.unlock()
        #expect(try server.curl(home).body == "ok")
    }
}
#endif
