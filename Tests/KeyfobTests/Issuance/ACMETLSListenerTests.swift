import Foundation
import Keyfob
import TestSupport
import Testing

@testable import KeyfobACME

/// The server that answers a TLS-ALPN-01 challenge (RFC 8737).
@Suite struct ACMETLSListenerTests {
    private let directory: TemporaryDirectory
    private let listener: ACMEListener
    private let port: String

    init() throws {
        directory = try TemporaryDirectory()
        (listener, port) = try Self.listener()
    }

    private static func listener() throws -> (ACMEListener, String) {
        let challenge = try ACMEChallenge(
            name: "web.example", token: "token-of-a-challenge_1", keyAuthorization: "the.answer")
        for _ in 0..<20 {
            // Below the ports that the kernel assigns, so that no other program takes it.
            let port = String(Int.random(in: 10_000...32_000))
            do { return (try ACMEListener(tls: challenge, at: "127.0.0.1:" + port), port) } catch let error as KeychainError
                where error.code == .issuerFailed {}
        }
        throw KeychainError(.failed, "no port is free.")
    }

    private func shell(_ script: String) throws -> (status: Int32, stdout: String) {
        let result = try run("/bin/sh", ["-c", "cd '\(directory.path)'; " + script])
        return (result.status, result.stdout)
    }

    private func connect(_ options: String) -> String {
        "timeout 60 openssl s_client -connect 127.0.0.1:\(port) -servername web.example \(options) < /dev/null 2>&1"
    }

    @Test(arguments: ["-tls1_2", "-tls1_3"])
    func `the certificate shows the hash of the key authorization in a critical extension`(version: String) throws {
        defer { listener.withdraw() }
        let text = try shell(
            connect("-alpn acme-tls/1 \(version)") + " | tee out | openssl x509 -noout -text; cat out").stdout
        #expect(text.contains("ALPN protocol: acme-tls/1"), "\(text)")
        #expect(text.contains("1.3.6.1.5.5.7.1.31: critical"), "\(text)")
        #expect(text.contains("DNS:web.example"), "\(text)")
        let hash = try shell("printf the.answer | sha256sum | cut -c 1-64").stdout.prefix(64)
        let found = try shell(
            "openssl x509 -in out -outform DER | openssl asn1parse -inform DER | grep -i '0420\(hash)'").status
        #expect(found == 0)
    }

    @Test(arguments: ["", "-alpn h2", "-alpn acme-tls/1 -tls1_1 -cipher ALL:@SECLEVEL=0"])
    func `other protocols are refused`(options: String) throws {
        defer { listener.withdraw() }
        let text = try shell(connect(options)).stdout
        #expect(!text.contains("BEGIN CERTIFICATE"), "\(text)")
        // The next client is served.
        #expect(try shell(connect("-alpn acme-tls/1")).stdout.contains("BEGIN CERTIFICATE"))
    }

    @Test func `bytes that are not TLS end the connection, and a silent client delays no other`() throws {
        defer { listener.withdraw() }
        let silent = try Idler(port)
        defer { silent.leave() }
        let answer = try shell("printf 'GET / HTTP/1.1\\r\\n\\r\\n' | timeout 60 curl -s -m 50 telnet://127.0.0.1:\(port)")
        #expect(!answer.stdout.contains("HTTP/1"))
        #expect(try shell(connect("-alpn acme-tls/1")).stdout.contains("BEGIN CERTIFICATE"))
    }
}
