import Foundation
import TestSupport
import Testing

@testable import KeyfobCLI

/// The content of the directory of `--write` for a server that starts at any time.
@Suite(.enabled(if: OpenSSLEngine.path != nil, "OpenSSL's pkcs11 engine is not installed"))
struct WrittenFileTests {
    /// The serial number of the certificate that a server's configuration names.
    private func serial(_ home: ServingHome, _ file: String, _ directive: String) throws -> String {
        try home.shell(
            "openssl x509 -noout -serial -in \"$(sed -n 's/^\(directive) *\"\\(.*\\)\";*$/\\1/p' \(file))\"")
    }

    @Test(arguments: [("nginx", "ssl_certificate"), ("httpd", "SSLCertificateFile")])
    func `a configuration that a renewal did not update names the certificate of its key`(
        program: String, directive: String
    ) throws {
        let home = try ServingHome(keyType: "ec")
        let (write, file) = ("./keyfob uri web --for \(program) --write site --json", "site/web.\(program).conf")
        func current() throws -> String { try home.shell("./keyfob cert export web | openssl x509 -noout -serial") }
        try home.shell("./keyfob identity create web --dns localhost --self-signed")
        #expect(try home.shell(write).contains("\"changed\":true"))
        let old = try serial(home, file, directive)
        #expect(try old == current())

        try home.shell("./keyfob identity renew web --force --new-key; mv \(file) before; mkdir \(file)")
        let failed = try home.run(write)
        #expect(failed.status != 0 && failed.error.contains("web.\(program).conf"), "\(failed)")
        #expect(try serial(home, "before", directive) == old)

        try home.shell("rmdir \(file); mv before \(file)")
        #expect(try home.shell(write).contains("\"changed\":true"))
        let new = try serial(home, file, directive)
        #expect(try new == current() && new != old)
        // For users who name it in their own configuration.
        #expect(try home.shell("openssl x509 -noout -serial -in site/web.fullchain.pem") == new)
        #expect(try home.shell(write).contains("\"changed\":false"))
    }

    @Test func `the previous chain stays, and files that only look like a chain are not changed`() throws {
        let home = try ServingHome(keyType: "ec")
        let write = "./keyfob uri imported --for nginx --write site"
        func names() throws -> Set<String> { Set(try home.shell("ls site").split(separator: "\n").map(String.init)) }
        try home.shell(write)
        let made = try names()
        let others = [
            "imported.httpd-0000000000000009.pem", "other.nginx-0000000000000009.pem", "imported.nginx-mine.pem",
            "imported.nginx-000000000000000.pem", "imported.nginx-00000000000000009.pem",
            "imported.nginx-000000000000000A.pem", "imported.nginx-0000000000000009.pem.old",
        ]
        try home.shell(
            """
            cd site
            for days in 3 1 2; do touch -d "$days days ago" imported.nginx-000000000000000$days.pem; done
            touch -d '9 days ago' \(others.joined(separator: " "))
            cd ..
            \(write)
            """)
        #expect(try names() == made.union(others).union(["imported.nginx-0000000000000001.pem"]))
    }

    @Test func `a directory that can be written but not read takes files`() throws {
        let home = try ServingHome(keyType: "ec")
        let written = try home.run(
            """
            mkdir -m 300 dark
            ./keyfob uri imported --for nginx --write dark
            ./keyfob cert export imported -o dark/imported.pem
            """)
        #expect(written.status == 0, "\(written.error)")
        #expect(try home.shell("chmod 700 dark; ls dark | wc -l") == "6\n")
    }
}
