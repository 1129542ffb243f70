import Foundation
import KeyfobOpenSSL
import TestSupport
import Testing

@testable import Keyfob

extension IdentitySpecification {
    /// A TLS server with one host name.
    static func server(_ host: String, key: KeySpecification = .p256, lifetime: TimeInterval? = nil) throws -> Self {
        IdentitySpecification(
            subject: try DistinguishedName(commonName: host),
            extensions: .endEntity([.dns(host)], [.serverAuth], key: .ec(.p256)), key: key, lifetime: lifetime)
    }

    /// An authority.
    static func authority(_ name: String, lifetime: TimeInterval = 3650 * 86_400) throws -> Self {
        IdentitySpecification(
            subject: try DistinguishedName(commonName: name), extensions: .authority(), lifetime: lifetime)
    }
}

/// A root and an intermediate made by the openssl command, and the certificates that they issue.
struct TestAuthority {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
        let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        try openssl(
            ["req", "-x509", "-subj", "/CN=Root", "-days", "30", "-keyout", file("root.key"), "-out", file("root.pem")]
                + key)
        try openssl(
            ["req", "-new", "-subj", "/CN=R10", "-keyout", file("r10.key"), "-out", file("r10.csr")] + key)
        try directory.write("basicConstraints=critical,CA:TRUE\nsubjectKeyIdentifier=hash\n".utf8, to: "authority")
        try openssl([
            "x509", "-req", "-in", file("r10.csr"), "-CA", file("root.pem"), "-CAkey", file("root.key"),
            "-CAcreateserial", "-days", "20", "-extfile", file("authority"), "-out", file("r10.pem"),
        ])
    }

    func file(_ name: String) -> String { directory.file(name) }

    func certificate(_ name: String) throws -> Certificate {
        try Certificate(pem: Data(contentsOf: directory.url(name + ".pem")))
    }

    /// The intermediate's certificate for a request.
    func issue(_ request: CertificationRequest, days: Int = 10) throws -> Certificate {
        let name = UUID().uuidString
        try directory.write(request.pem.utf8, to: name)
        try openssl([
            "x509", "-req", "-in", file(name), "-CA", file("r10.pem"), "-CAkey", file("r10.key"), "-CAcreateserial",
            "-days", "\(days)", "-copy_extensions", "copy", "-out", file(name + ".pem"),
        ])
        return try certificate(name)
    }

    /// A program that issues as `CommandIssuer` requires.
    func command() throws -> [String] {
        try directory.write(
            """
            cat > \(file("in.csr"))
            openssl x509 -req -in \(file("in.csr")) -CA \(file("r10.pem")) -CAkey \(file("r10.key")) -CAcreateserial \
                -days 9 -copy_extensions copy 2>/dev/null
            cat \(file("r10.pem"))
            """.utf8, to: "issue.sh")
        return ["/bin/sh", "-e", file("issue.sh")]
    }
}
