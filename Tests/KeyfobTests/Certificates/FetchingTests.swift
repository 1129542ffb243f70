import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
import TestSupport
import Testing

@testable import Keyfob

/// Issuers that are fetched from where certificates say.
@Suite struct FetchingTests {
    /// Nobody answers there.
    private static let nowhere = "https://127.0.0.1:1/r10"

    /// A certificate that says where that of its issuer is.
    private func issue(
        _ name: String, by issuer: String, at place: String, _ authority: TestAuthority
    ) throws -> Certificate {
        let (file, ca) = (authority.file(name), authority.file(issuer))
        let extensions = "basicConstraints=critical,CA:TRUE\nauthorityInfoAccess=caIssuers;URI:\(place)\n"
        try authority.directory.write(extensions.utf8, to: "more")
        try openssl([
            "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=\(name)",
            "-keyout", file + ".key", "-out", file + ".csr",
        ])
        try openssl([
            "x509", "-req", "-in", file + ".csr", "-CA", ca + ".pem", "-CAkey", ca + ".key", "-CAcreateserial",
            "-days", "5", "-extfile", authority.file("more"), "-out", file + ".pem",
        ])
        return try authority.certificate(name)
    }

    @Test func `what was fetched is stored although what is missing above it cannot be`() throws {
        let authority = try TestAuthority()
        let server = try TestServer(
            """
            import functools, http.server, sys
            http.server.SimpleHTTPRequestHandler.log_message = lambda *words: None
            files = functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1])
            server = http.server.HTTPServer(("127.0.0.1", 0), files)
            print(server.server_address[1], flush=True)
            server.serve_forever()
            """, authority.directory.path)
        let middle = try issue("middle", by: "r10", at: Self.nowhere, authority)
        let web = try issue("web", by: "middle", at: "http://127.0.0.1:\(server.port)/middle.pem", authority)
        let test = try TestKeychain()
        let keychain = test.keychain
        #expect(code { _ = try keychain.fetchIssuers(of: web, until: .after(.seconds(600))) } == .issuerFailed)
        #expect(try keychain.storedItems(of: middle).count == 1)
        withExtendedLifetime(server) {}
    }

    @Test func `no place is asked any more when the time for all of them is over, or nobody waits`() throws {
        let authority = try TestAuthority()
        let web = try issue("web", by: "r10", at: Self.nowhere, authority)
        let test = try TestKeychain()
        let keychain = test.keychain
        #expect(code { _ = try keychain.fetchIssuers(of: web, until: .after(.zero)) } == .timedOut)
        #expect(code { _ = try keychain.fetchIssuers(of: web, until: .after(.seconds(600))) } == .issuerFailed)
        #expect(
            code { _ = try keychain.fetchIssuers(of: web, until: .after(.seconds(600)), isStopped: { true }) }
                == .cancelled)
        // Where nothing is missing, or nobody says where it is, nobody is asked.
        let above = try [authority.certificate("r10"), authority.certificate("root")]
        #expect(try keychain.fetchIssuers(of: web, with: above, until: .after(.zero)).isEmpty)
        #expect(try keychain.fetchIssuers(of: above[0], until: .after(.zero)).isEmpty)
    }

    @Test func `a place that says nothing is waited for no longer than all of them may take`() throws {
        let authority = try TestAuthority()
        let server = try TestServer(
            """
            import signal, socket
            server = socket.create_server(("127.0.0.1", 0))
            print(server.getsockname()[1], flush=True)
            signal.pause()
            """, "")
        let web = try issue("web", by: "r10", at: "http://127.0.0.1:\(server.port)/r10.pem", authority)
        let test = try TestKeychain()
        let keychain = test.keychain
        // By what ends a single request it would be `issuerFailed`, a minute later.
        #expect(code { _ = try keychain.fetchIssuers(of: web, timeout: .seconds(1)) } == .timedOut)
        withExtendedLifetime(server) {}
    }
}
