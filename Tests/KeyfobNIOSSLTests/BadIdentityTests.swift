#if NIOSSL
import Foundation
import Keyfob
import KeyfobNIOSSL
import NIOSSL
import KeyfobOpenSSL
import TestSupport
import Testing

struct BadIdentityTests {
    /// Unusable identities and their errors.
    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        let code: KeychainError.Code
        var profile = "server"
        var chain = true
        var date: TimeInterval = 0
        var hosts: [String] = []
        var testDescription: String { name }
    }

    static let rows = [
        Row(name: "expired", code: .certificateExpired, date: 21 * 86400),
        Row(name: "not yet valid", code: .certificateNotYetValid, date: -86400),
        Row(name: "for another host", code: .certificateHostMismatch, profile: "other", hosts: ["localhost"]),
        Row(name: "for a client", code: .certificateUsageMismatch, profile: "client"),
        Row(name: "for e-mail", code: .certificateUsageMismatch, profile: "email"),
        Row(name: "for encryption alone", code: .certificateUsageMismatch, profile: "encipher"),
        Row(name: "without its intermediate", code: .chainIncomplete, chain: false),
    ]

    @Test(arguments: rows)
    func `an identity that cannot serve is refused`(row: Row) async throws {
        let home = try TLSHome()
        try home.add("web", .p256, row.profile, chain: row.chain)
        var requirements = TLSRequirements.server
        requirements.hostNames = row.hosts
        requirements.date = { Date().addingTimeInterval(row.date) }
        let found = await code {
            _ = try await TLSIdentity.load(.identity(label: "web"), in: home.keychain, requirements: requirements)
        }
        #expect(found == row.code)
    }

    @Test func `a refused identity serves if the caller allows its defect`() async throws {
        let home = try TLSHome()
        try home.add("web", chain: false)
        var requirements = TLSRequirements.server
        requirements.allowsUnknownIssuer = true
        requirements.allowsOutdated = true
        requirements.date = { Date().addingTimeInterval(40 * 86400) }
        let identity = try await TLSIdentity.load(
            .identity(label: "web"), in: home.keychain, requirements: requirements)
        #expect(identity.chain.count == 1)
        let server = try await TLSServer(identity.serverConfiguration())
        // The client has no intermediate, but the server responds.
        #expect(try server.curl(home).status == 60)
        #expect(try server.curl(home, ["--insecure"]).body == "ok")
    }

    @Test func `a trusted issuer is not missing`() async throws {
        let home = try TLSHome()
        try home.add("web", chain: false)
        _ = try await home.keychain.trust.add(home.certificate("inter"), for: [.server])
        let identity = try await TLSIdentity.load(.identity(label: "web"), in: home.keychain)
        #expect(identity.chain.map(\.subject.commonName) == ["localhost", "Test Intermediate"])
    }

    @Test func `a query without an identity and one with two identities are errors`() async throws {
        let home = try TLSHome()
        let query = Query<Identity>.identities.host("localhost")
        #expect(await code { _ = try await TLSIdentity.load(query, in: home.keychain) } == .itemNotFound)
        await #expect { try await TLSIdentity.load(.identity(label: "one"), in: home.keychain) } throws: {
            ($0 as? KeychainError)?.message == "no identity \"one\" in keychain \"\(home.keychain.name)\"."
        }
        try home.add("one")
        try home.issue("two", subject: "/CN=another/O=Example")
        try home.add("two")
        #expect(await code { _ = try await TLSIdentity.load(query, in: home.keychain) } == .ambiguous)
        let second = try await TLSIdentity.load(.identity(label: "two"), in: home.keychain)
        #expect(second.certificate.subject.commonName == "another")
        let reference = try #require(second.item.item.reference)
        let again = try await TLSIdentity.load(Query(Criteria(reference)), in: home.keychain)
        #expect(again.certificate == second.certificate)
    }

    @Test func `the newer one of two valid versions is used`() async throws {
        let home = try TLSHome()
        let old = try home.add("web")
        let new = try home.renew("web", file: "web2")
        #expect(try await home.keychain.find(.identity(label: "web")).count == 2)
        let identity = try await TLSIdentity.load(.identity(label: "web"), in: home.keychain)
        #expect(identity.certificate.der == new.der && identity.certificate.der != old.der)
        // At a time when only the old one was valid.
        var requirements = TLSRequirements.server
        let then = try old.certificate().notBefore
        requirements.date = { then }
        let before = try await TLSIdentity.load(
            .identity(label: "web"), in: home.keychain, requirements: requirements)
        #expect(before.certificate.der == old.der)
    }

    @Test func `the version that has the name is used, even if it is the older one`() async throws {
        let home = try TLSHome()
        let old = try home.add("web")
        try home.renew("web@2026-12-31", file: "web2")
        let identity = try await TLSIdentity.load(.identities.host("localhost"), in: home.keychain)
        #expect(identity.certificate.der == old.der)
    }

    @Test func `a name with an at sign is not a version of the name before the sign`() async throws {
        let home = try TLSHome()
        try home.add("web")
        try home.issue("other", subject: "/CN=localhost/O=Other")
        try home.add("web@backup", file: "other")
        let query = Query<Identity>.identities.host("localhost")
        #expect(await code { _ = try await TLSIdentity.load(query, in: home.keychain) } == .ambiguous)
    }

    @Test func `an identity below an expired issuer is refused, and the error names the issuer`() async throws {
        let home = try TLSHome()
        // The issuer expires before the leaf.
        try home.shell(
            """
            openssl req -new -key inter.key -subj "/CN=Test Intermediate" |
                openssl x509 -req -CA root.pem -CAkey root.key -set_serial 2 -days 10 -extfile ext -extensions ca -out inter.pem
            """)
        try home.add("web")
        _ = try await home.keychain.add(CertificateItem(home.certificate("root")))
        var requirements = TLSRequirements.server
        requirements.date = { Date().addingTimeInterval(15 * 86400) }
        await #expect {
            try await TLSIdentity.load(.identity(label: "web"), in: home.keychain, requirements: requirements)
        } throws: {
            ($0 as? KeychainError)?.code == .certificateExpired
                && ($0 as? KeychainError)?.details["certificate"] == "Test Intermediate"
        }
        requirements.allowsOutdated = true
        let identity = try await TLSIdentity.load(
            .identity(label: "web"), in: home.keychain, requirements: requirements)
        #expect(identity.chain.count == 2)
    }

    @Test func `an expired cross-signed certificate is not sent, and does not prevent serving`() async throws {
        let home = try TLSHome()
        // An authority that began below an older one: another authority has now signed root.pem, for a short time.
        try home.shell(
            """
            openssl ecparam -name prime256v1 -genkey -noout -out older.key
            openssl req -x509 -new -key older.key -subj "/CN=Older Root" -days 10 -out older.pem
            openssl req -new -key root.key -subj "/CN=Test Root" |
                openssl x509 -req -CA older.pem -CAkey older.key -set_serial 3 -days 10 -extfile ext -extensions ca -out cross.pem
            """)
        try home.add("web")
        _ = try await home.keychain.add(CertificateItem(home.certificate("cross")))
        let now = try await TLSIdentity.load(.identity(label: "web"), in: home.keychain)
        #expect(now.chain.map(\.subject.commonName) == ["localhost", "Test Intermediate", "Test Root"])
        var requirements = TLSRequirements.server
        requirements.date = { Date().addingTimeInterval(15 * 86400) }
        let later = try await TLSIdentity.load(
            .identity(label: "web"), in: home.keychain, requirements: requirements)
        #expect(later.chain.map(\.subject.commonName) == ["localhost", "Test Intermediate"])
    }

    @Test(arguments: [(KeyKind.p256, KeyKind.p256), (.rsa, .p256), (.p384, .p256)])
    func `a certificate beside another key, of any kind, is a mismatch`(
        certificate: KeyKind, key: KeyKind
    ) async throws {
        let home = try TLSHome()
        try home.issue("web", certificate)
        try home.issue("stranger", key)
        // Related by the id alone, as a tool leaves it that writes a private key without its public half.
        let id = try home.id(of: "web")
        try home.shell("openssl x509 -in web.pem -outform DER -out web.der; openssl pkey -in stranger.key -outform DER -out s.der")
        try home.tool(["--write-object", home.file("web.der"), "--type", "cert", "--label", "web", "--id", id])
        try home.tool(["--write-object", home.file("s.der"), "--type", "privkey", "--label", "web", "--id", id])
        var requirements = TLSRequirements.server
        requirements.allowsUnknownIssuer = true
        let found = await code {
            _ = try await TLSIdentity.load(.identity(label: "web"), in: home.keychain, requirements: requirements)
        }
        #expect(found == .identityMismatch)
    }
}
#endif
