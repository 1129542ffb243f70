import Foundation
import KeyfobACME
import KeyfobPrimitives
import KeyfobOpenSSL
import TestSupport
import Testing

@testable import Keyfob

extension EveryToken {
    /// Asynchronous issuance by slow issuers.
    @Suite struct PatientIssuanceTests {
        /// An issuer that counts its requests and waits until it may answer.
        private struct Slow: CertificateIssuer {
            let asked = Lock(0)
            let mayAnswer = Lock(false)
            var issuerDescription: IssuerDescription { .itself }

            func issue(_ order: CertificateOrder) throws -> IssuedCertificate {
                asked.withLock { $0 += 1 }
                // The wait also ends if the test fails before it releases the issuer.
                _ = mayAnswer.wait(until: .after(.seconds(600))) { $0 ? true : nil }
                return try SelfIssuer().issue(order)
            }
        }

        @Test(.needs(.makesECKeys)) func `other calls do not wait for issuers`() async throws {
            let test = try TestKeychain(.patient)
            let keychain = test.keychain
            let issuer = Slow()
            // More orders than the threads for all other calls.
            let orders = ["a", "b", "c", "d", "e"].map { name in
                Task { try await keychain.identities.create(name, .server(name), issuer: issuer) }
            }
            let areWaiting = try await isSoon { issuer.asked.withLock { $0 } >= 4 }
            let isAnswered = Lock(false)
            let looking = Task {
                let found = try await keychain.find(.identities)
                isAnswered.withLock { $0 = true }
                return found.count
            }
            let isInTime = try await isSoon { isAnswered.withLock { $0 } }
            issuer.mayAnswer.withLock { $0 = true }
            issuer.mayAnswer.broadcast()
            #expect(areWaiting && isInTime)
            #expect(try await looking.value == 0)
            for order in orders { _ = try await order.value }
            #expect(try await keychain.find(.identities).count == 5)
        }

        @Test(.needs(.makesECKeys)) func `cancelling a renewal stops the issuer's program and changes nothing`() async throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let identity = try await keychain.identities.create("web", .server("web"), issuer: SelfIssuer()).identity
            let directory = try TemporaryDirectory()
            let issuer = try CommandIssuer(["/bin/sh", "-c", "echo $$ > \(directory.file("pid")); exec sleep 300"])
            let renewal = Task { try await keychain.identities.renew(identity, issuer: issuer) }
            var process: pid_t?
            let hasBegun = try await isSoon {
                // The file does not exist before the program has started.
                let text = (try? directory.read("pid")).map { String(decoding: $0, as: UTF8.self) }
                process = text.flatMap { pid_t($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
                return process != nil
            }
            renewal.cancel()
            await #expect { try await renewal.value } throws: { ($0 as? KeychainError)?.code == .cancelled }
            #expect(hasBegun)
            if let process { #expect(kill(process, 0) != 0) }
            #expect(try await keychain.identities.versions(of: "web").map(\.der) == [identity.der])
            // The next renewal does not wait.
            #expect(try await keychain.identities.renew(identity, issuer: SelfIssuer()).kept.count == 1)
        }

        /// An ACME server that accepts every order and never completes it.
        ///
        /// It creates the file `asked` when it receives an order.
        private static let server = """
            import http.server, json, ssl, sys
            class Handler(http.server.BaseHTTPRequestHandler):
                def log_message(self, *words): pass
                def reply(self):
                    base = "https://127.0.0.1:%d/" % self.server.server_address[1]
                    self.rfile.read(int(self.headers.get("Content-Length", 0)))
                    answer = {name: base + name for name in ("newNonce", "newAccount", "newOrder", "finalize")}
                    body = json.dumps(answer | {"status": "pending", "authorizations": []}).encode()
                    self.send_response(200)
                    self.send_header("Replay-Nonce", "n")
                    self.send_header("Location", base + "order")
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    if self.command != "HEAD": self.wfile.write(body)
                    if self.path == "/order": open(sys.argv[1] + "/asked", "w").close()
                do_GET = do_HEAD = do_POST = reply
            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(sys.argv[1] + "/acme.pem", sys.argv[1] + "/acme.key")
            server.socket = context.wrap_socket(server.socket, server_side=True)
            print(server.server_address[1], flush=True)
            server.serve_forever()
            """

        @Test(.needs(.makesECKeys)) func `cancelling a renewal ends the wait for an ACME server`() async throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let identity = try await keychain.identities.create(
                "web", .server("web.example"), issuer: SelfIssuer()).identity
            let directory = try TemporaryDirectory()
            try openssl([
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=ACME",
                "-addext", "subjectAltName=IP:127.0.0.1", "-days", "5", "-keyout", directory.file("acme.key"), "-out",
                directory.file("acme.pem"),
            ])
            let server = try TestServer(Self.server, directory.path)
            let issuer = try ACMEIssuer(
                ACMEIssuer.Settings(
                    directory: "https://127.0.0.1:\(server.port)/dir", webRoot: directory.path,
                    authorityFile: directory.file("acme.pem")),
                keychain: keychain)
            let renewal = Task { try await keychain.identities.renew(identity, issuer: issuer) }
            let isAsked = try await isSoon { FileManager.default.fileExists(atPath: directory.file("asked")) }
            renewal.cancel()
            // Without the cancellation, the wait would end with another error after two minutes.
            await #expect { try await renewal.value } throws: { ($0 as? KeychainError)?.code == .cancelled }
            #expect(isAsked)
            #expect(try await keychain.identities.versions(of: "web").map(\.der) == [identity.der])
            withExtendedLifetime(server) {}
        }

        @Test(.needs(.makesECKeys)) func `a creation that starts after its task was cancelled makes nothing`() async throws {
            let test = try TestKeychain()
            let keychain = test.keychain
            let order = Task {
                while !Task.isCancelled { await Task.yield() }
                return try await keychain.identities.create("web", .server("web"), issuer: SelfIssuer())
            }
            order.cancel()
            await #expect { try await order.value } throws: { ($0 as? KeychainError)?.code == .cancelled }
            #expect(try await keychain.find(.keys).isEmpty)
        }
    }
}
