import Foundation
import TestSupport
import Testing

/// Keys that other tools have made, under the names and identifiers that those give.
@Suite struct ForeignKeyCommandTests {
    private static let module = "/usr/lib/softhsm/libsofthsm2.so"

    /// A household whose keychain `card` is on a token of somebody else's.
    private func household() throws -> (Household, [String: String]) {
        let household = try Household()
        let environment = try household.makeCard()
        let made = try household.keyfob(
            ["init", "--keychain", "card", "--token", "card", "--module", Self.module, "--pin-source", "env:CARD_PIN"],
            environment: environment)
        try #require(made.status == 0, "\(made.error)")
        return (household, environment)
    }

    /// Runs pkcs11-tool on the token.
    @discardableResult
    private func tool(_ arguments: [String], _ environment: [String: String]) throws -> String {
        let result = try Tool(
            "/usr/bin/env",
            ["pkcs11-tool", "--module", Self.module, "--token-label", "card", "--login", "--pin", "env:CARD_PIN"]
                + arguments, environment: environment
        ).run()
        try #require(result.status == 0, "\(result.error)")
        return result.output
    }

    @Test func `no certificate without an identifier is taken for a key's, and by it no key is destroyed`() throws {
        let (household, environment) = try household()
        try tool(["--keypairgen", "--key-type", "EC:prime256v1", "--label", "deploy"], environment)
        try tool(["--delete-object", "--type", "pubkey", "--label", "deploy"], environment)
        let (certificate, key) = (household.directory.file("other.der"), household.directory.file("other.pem"))
        let made = try Tool(
            "/bin/sh",
            [
                "-euc",
                "openssl req -x509 -nodes -subj /CN=other -days 9 -newkey ec -pkeyopt ec_paramgen_curve:P-256 "
                    + "-keyout \"$1\" -outform DER -out \"$2\" 2>/dev/null; "
                    + "openssl pkey -in \"$1\" -pubout -outform DER | sha256sum | cut -c1-64", "sh", key, certificate,
            ]
        ).run()
        try #require(made.status == 0, "\(made.error)")
        let fingerprint = "sha256:" + made.output.trimmingCharacters(in: .whitespacesAndNewlines)
        try tool(["--write-object", certificate, "--type", "cert", "--label", "other"], environment)

        let shown = try household.keyfob(["key", "pub", "deploy"], environment: environment)
        #expect(shown.status != 0 && shown.output.isEmpty, "\(shown.output)")
        #expect(shown.error.contains("\"deploy\"") && shown.error.contains("\"card\""), "\(shown.error)")
        let failure = try household.failure(["key", "rm", fingerprint, "--yes"], environment: environment)
        #expect(failure.code == "item.not_found")
        for command in [["key", "csr", "deploy"], ["identity", "create", "deploy", "--self-signed"]] {
            let refused = try household.keyfob(command + ["--cn", "d"], environment: environment)
            #expect(refused.status != 0 && refused.error.contains("public key of key \"deploy\""), "\(refused.error)")
        }
        #expect(try tool(["--list-objects", "--type", "privkey"], environment).contains("deploy"))
    }

    @Test func `halves of one name and no identifier are told apart by their URIs, which mean one each`() throws {
        let (household, environment) = try household()
        try tool(["--keypairgen", "--key-type", "EC:prime256v1", "--label", "e1"], environment)
        let refused = try household.keyfob(["key", "show", "e1"], environment: environment)
        #expect(refused.status != 0 && !refused.error.contains("sha1:"), "\(refused.error)")
        let uri = try #require(
            refused.error.firstMatch(of: /pkcs11:[A-Za-z0-9%;=._~-]*type=private/)?.0, "\(refused.error)")
        let shown = try household.keyfob(["key", "show", String(uri)], environment: environment)
        #expect(shown.status == 0 && shown.output.contains("private"), "\(shown.error)")
    }
}
