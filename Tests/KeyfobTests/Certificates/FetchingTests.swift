import Foundation
import KeyfobPrimitives
import OpenSSL
import TestSupport
import Testing

@testable import Keyfob

/// Issuers that are fetched from where certificates say.
@Suite struct FetchingTests {
    @Test func `no place is asked any more when the time for all of them is over`() throws {
        let authority = try TestAuthority()
        let file = authority.file("web")
        // Nobody answers there.
        try authority.directory.write("authorityInfoAccess=caIssuers;URI:https://127.0.0.1:1/r10\n".utf8, to: "more")
        try openssl([
            "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=web",
            "-keyout", file + ".key", "-out", file + ".csr",
        ])
        try openssl([
            "x509", "-req", "-in", file + ".csr", "-CA", authority.file("r10.pem"), "-CAkey", authority.file("r10.key"),
            "-CAcreateserial", "-days", "5", "-extfile", authority.file("more"), "-out", file + ".pem",
        ])
        let web = try authority.certificate("web")
        let test = try TestKeychain()
        let keychain = test.keychain
        #expect(code { _ = try keychain.fetchIssuers(of: web, until: .after(.zero)) } == .timedOut)
        #expect(code { _ = try keychain.fetchIssuers(of: web, until: .after(.seconds(600))) } == .issuerFailed)
        // Where nothing is missing, or nobody says where it is, nobody is asked.
        let above = try [authority.certificate("r10"), authority.certificate("root")]
        #expect(try keychain.fetchIssuers(of: web, with: above, until: .after(.zero)).isEmpty)
        #expect(try keychain.fetchIssuers(of: above[0], until: .after(.zero)).isEmpty)
    }
}
