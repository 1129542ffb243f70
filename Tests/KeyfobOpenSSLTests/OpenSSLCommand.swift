import Foundation
import KeyfobOpenSSL
import TestSupport
import Testing

/// A directory in which the `openssl` command makes files.
final class OpenSSLCommand: Sendable {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// Runs `openssl` with space-separated arguments and requires success.
    @discardableResult
    func callAsFunction(_ arguments: String, and further: [String] = [], stdin: [UInt8] = []) throws -> RunResult {
        let words = arguments.split(separator: " ").map(String.init) + further
        let result = try run("openssl", words, stdin: stdin, directory: directory.path)
        try #require(result.status == 0, "openssl \(words): \(result.stderr)")
        return result
    }

    func data(_ name: String) throws -> Data { Data(try directory.read(name)) }

    func certificate(_ name: String) throws -> Certificate {
        try #require(try Certificate.load(data(name)).first)
    }

    /// A root, an intermediate, and a server certificate for web.example, *.wild.example and 127.0.0.1.
    static func withAuthority() throws -> OpenSSLCommand {
        let openssl = try OpenSSLCommand()
        try openssl(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout root.key -out root.pem -days 30",
            and: ["-subj", "/C=DE/O=Example/CN=Root"])
        try openssl.issue("intermediate", by: "root", subject: "/C=DE/O=Example/CN=Intermediate", extensions: """
            basicConstraints=critical,CA:TRUE,pathlen:0
            keyUsage=critical,keyCertSign,cRLSign
            subjectKeyIdentifier=hash
            authorityKeyIdentifier=keyid
            """)
        try openssl.issue("leaf", by: "intermediate", subject: "/C=DE/O=Exämple, Inc/CN=web.example", extensions: """
            basicConstraints=critical,CA:FALSE
            keyUsage=critical,digitalSignature
            extendedKeyUsage=serverAuth
            subjectKeyIdentifier=hash
            authorityKeyIdentifier=keyid
            subjectAltName=DNS:web.example,DNS:*.wild.example,IP:127.0.0.1,email:ops@web.example,URI:https://web.example/
            """)
        return openssl
    }

    func issue(_ name: String, by issuer: String, subject: String, extensions: String, days: Int = 30) throws {
        try directory.write(extensions.utf8, to: "\(name).ext")
        try self(
            "req -utf8 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout \(name).key -out \(name).csr",
            and: ["-subj", subject])
        try self(
            "x509 -req -in \(name).csr -CA \(issuer).pem -CAkey \(issuer).key -CAcreateserial -out \(name).pem "
                + "-days \(days) -extfile \(name).ext")
    }
}
