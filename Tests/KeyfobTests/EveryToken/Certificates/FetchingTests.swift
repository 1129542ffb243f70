import Foundation
import KeyfobPrimitives
import KeyfobOpenSSL
import TestSupport
import Testing

@testable import Keyfob

extension EveryToken {
    /// Issuer certificates that are fetched from the addresses in certificates.
    @Suite struct FetchingTests {
        /// No server listens at this address.
        private static let nowhere = "https://127.0.0.1:1/r10"

        /// Issues a certificate that names the address of its issuer's certificate.
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

        @Test(.needs(.storesCertificates)) func `a fetched issuer is stored even if the certificate above it cannot be fetched`() throws {
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
            #expect(code { _ = try keychain.certificates.fetchIssuers(of: web, until: .after(.seconds(600))) } == .issuerFailed)
            #expect(try keychain.trust.storedItems(of: middle).count == 1)
            withExtendedLifetime(server) {}
        }

        @Test func `no further address is contacted after the deadline or a cancellation`() throws {
            let authority = try TestAuthority()
            let web = try issue("web", by: "r10", at: Self.nowhere, authority)
            let test = try TestKeychain()
            let keychain = test.keychain
            #expect(code { _ = try keychain.certificates.fetchIssuers(of: web, until: .after(.zero)) } == .timedOut)
            #expect(code { _ = try keychain.certificates.fetchIssuers(of: web, until: .after(.seconds(600))) } == .issuerFailed)
            #expect(
                code { _ = try keychain.certificates.fetchIssuers(of: web, until: .after(.seconds(600)), isStopped: { true }) }
                    == .cancelled)
            // No address is contacted if no certificate is missing or its address is unknown.
            let above = try [authority.certificate("r10"), authority.certificate("root")]
            #expect(try keychain.certificates.fetchIssuers(of: web, with: above, until: .after(.zero)).isEmpty)
            #expect(try keychain.certificates.fetchIssuers(of: above[0], until: .after(.zero)).isEmpty)
        }

        @Test func `a server that does not answer does not delay the fetch beyond its total timeout`() throws {
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
            // The limit of a single request would cause `issuerFailed`, a minute later.
            #expect(code { _ = try keychain.certificates.fetchIssuers(of: web, timeout: .seconds(1)) } == .timedOut)
            withExtendedLifetime(server) {}
        }
    }
}
