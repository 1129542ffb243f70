import Foundation
import KeyfobOpenSSL
import TestSupport
import Testing

@testable import Keyfob

extension EveryToken {
    /// Algorithms, key sizes and names that are no longer accepted.
    @Suite struct WeaknessTests {
        struct Row: CustomTestStringConvertible, Sendable {
            let testDescription: String
            var digest = "-sha256"
            var key = "rsa:2048"
            var authorityKey = "rsa:2048"
            var names = "subjectAltName=DNS:web.example"
            var code: KeychainError.Code?
        }

        static let rows = [
            Row(testDescription: "nothing weak"),
            Row(testDescription: "MD5", digest: "-md5", code: .certificateInvalid),
            Row(testDescription: "SHA-1", digest: "-sha1", code: .certificateInvalid),
            Row(testDescription: "a leaf of 1024 bits", key: "rsa:1024", code: .certificateInvalid),
            Row(testDescription: "an authority of 1024 bits", authorityKey: "rsa:1024", code: .certificateInvalid),
            Row(testDescription: "a host in the common name alone", names: "subjectAltName=email:a@b.example", code: .certificateHostMismatch),
            Row(testDescription: "no alternative name", names: "basicConstraints=CA:FALSE", code: .certificateHostMismatch),
        ]

        @Test(arguments: rows) func `a weak certificate is refused with its reason`(_ row: Row) throws {
            let test = try TestKeychain()
            let directory = try TemporaryDirectory()
            func file(_ name: String) -> String { directory.file(name) }
            try openssl([
                "req", "-x509", "-subj", "/CN=Root", "-newkey", row.authorityKey, "-nodes", "-keyout", file("root.key"),
                "-out",
                file("root.pem"),
            ])
            try openssl([
                "req", "-new", "-subj", "/CN=web.example", "-newkey", row.key, "-nodes", "-keyout", file("web.key"), "-out",
                file("web.csr"),
            ])
            try directory.write((row.names + "\n").utf8, to: "extensions")
            try openssl([
                "x509", "-req", row.digest, "-in", file("web.csr"), "-CA", file("root.pem"), "-CAkey", file("root.key"),
                "-CAcreateserial", "-extfile", file("extensions"), "-out", file("web.pem"),
            ])
            let leaf = try Certificate(pem: Data(contentsOf: directory.url("web.pem")))
            let root = try Certificate(pem: Data(contentsOf: directory.url("root.pem")))
            let result = try test.keychain.certificates.verify(leaf, host: "web.example", usage: .server, trusting: .only([root]))
            let error = result.error(name: "web")
            #expect(error?.code == row.code, "\(error as Any)")
            if row.code != nil { #expect(error?.hint != nil) }
            #expect(leaf.matches(host: "web.example") == (row.code != .certificateHostMismatch))
        }
    }
}
