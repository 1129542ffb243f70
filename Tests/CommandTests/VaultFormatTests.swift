import Foundation
import TestSupport
import Testing

/// A program that was written from the article `VaultFormat` reads the command's vaults.
@Suite struct VaultFormatTests {
    /// The data that such a program needs in addition to the vault.
    private struct Token {
        let label: String
        let configuration: String
        let pin: String
    }

    /// Runs `Tests/VaultReader/read-vault`.
    private func read(_ household: TestHome, _ token: Token, _ selection: [String] = []) throws -> Tool.Result {
        let program = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../VaultReader/read-vault").standardized.path
        let arguments = [try household.vault(), TestToken.modulePath, token.label, token.pin] + selection
        return try Tool(program, arguments, environment: ["SOFTHSM2_CONF": token.configuration]).run()
    }

    private func document(
        _ household: TestHome, _ token: Token, _ selection: [String] = []
    ) throws -> (items: [[String: Any]], findings: [String]) {
        let result = try read(household, token, selection)
        try #require(!result.output.isEmpty, "\(result.error)")
        let object = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
        return (
            try #require(object?["items"] as? [[String: Any]]), try #require(object?["findings"] as? [String])
        )
    }

    private func attribute(_ item: [String: Any], _ name: String) -> Any? {
        ((item["attributes"] as? [String: Any])?[name] as? [String: Any])?["value"]
    }

    /// The wrapping suites, with the mechanisms that a token must lack to get them: CKM_AES_GCM, CKM_AES_KEY_WRAP,
    /// CKM_ECDH1_DERIVE.
    private static let suites = [
        "A256GCMKW": "", "A256KW": "4231", "ECDH-ES+A256KW": "4231,8457", "RSA-OAEP-256": "4231,8457,4176",
    ]

    /// Makes a keychain that uses a wrapping suite.
    private func keychain(_ suite: String) throws -> (TestHome, Token, [String: String]) {
        if suite == "A256GCMKW" {
            let household = try TestHome.unattended()
            let pin = household.keychain() + "/pin"
            return (household, Token(label: "login", configuration: household.data + "/softhsm2.conf", pin: pin), [:])
        }
        let (household, environment) = try TestHome.withCard(refusing: "without=" + Self.suites[suite, default: ""])
        let pin = try household.directory.write(Array("1234\n".utf8), to: "card.pin")
        let token = Token(label: "card", configuration: try #require(environment["SOFTHSM2_CONF"]), pin: pin)
        return (household, token, environment)
    }

    @Test(arguments: suites.keys.sorted())
    func `a program written from the article lists all items and opens a password`(suite: String) throws {
        let (household, token, environment) = try keychain(suite)
        func keyfob(_ arguments: [String], input: Data = Data()) throws -> String {
            let result = try household.keyfob(arguments, input: input, environment: environment)
            try #require(result.status == 0, "\(arguments): \(result.error)")
            return result.output
        }
        // Above 1 KiB, the steps of the padding are larger.
        let long = Data((0..<2_100).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        for name in ["db/prod", "ümlaut", "db/spare"] {
            _ = try keyfob(["set", name, "--user", "app", "--comment", "of \(name)"], input: Data("of \(name)".utf8))
        }
        _ = try keyfob(["set", "long"], input: long)
        _ = try keyfob(["set", "empty", "--allow-empty"])
        _ = try keyfob(["set", "db/prod", "--user", "app", "--replace"], input: Data("a newer one".utf8))
        _ = try keyfob(
            ["set", "registry", "--kind", "internet", "--protocol", "https", "--port", "8443", "--user", "ci"],
            input: Data("of the registry".utf8))
        _ = try keyfob(["set", "bare", "--kind", "internet"], input: Data("of nobody".utf8))
        _ = try keyfob(["rm", "-y", "db/spare"])
        // A Name with a PrintableString in small letters and blanks: the primary key contains its normalised form.
        let files = household.directory
        let made = try Tool(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-utf8", "-subj",
                "/C=de/serialNumber= a  b /CN=web.example", "-keyout", files.file("key.pem"), "-out",
                files.file("cert.pem"),
            ]
        ).run()
        try #require(made.status == 0, "\(made.error)")
        _ = try keyfob(["identity", "import", files.file("cert.pem"), "--key", files.file("key.pem"), "--name", "web"])
        _ = try keyfob(["key", "generate", "signer"])

        let (items, findings) = try document(household, token, ["svce=db/prod"])
        #expect(findings.isEmpty)
        func names(_ itemClass: String, _ attribute: String) -> Set<String> {
            Set(items.filter { $0["class"] as? String == itemClass }.compactMap { self.attribute($0, attribute) as? String })
        }
        #expect(names("genp", "svce") == ["db/prod", "ümlaut", "long", "empty"])
        #expect(names("inet", "srvr") == ["registry", "bare"])
        #expect(items.filter { $0["class"] as? String == "cert" }.count == 1)
        #expect(items.filter { $0["class"] as? String == "keys" }.count == 2)
        let kinds = items.flatMap { item in
            ((item["attributes"] as? [String: [String: Any]]) ?? [:]).values.compactMap { $0["kind"] as? String }
        }
        #expect(Set(kinds) == ["text", "bytes", "number", "date"])
        #expect(items.compactMap { attribute($0, "port") as? Int } == [8443])

        // The requested item, with everything that the command prints about it.
        let opened = items.filter { $0["secret"] != nil }
        let item = try #require(opened.first)
        #expect(opened.count == 1 && item["version"] as? Int == 2)
        #expect(item["secret"] as? String == Data("a newer one".utf8).map { String(format: "%02x", $0) }.joined())
        let shown = try #require(
            try JSONSerialization.jsonObject(with: Data(keyfob(["secret", "show", "db/prod", "--json"]).utf8))
                as? [String: Any])
        for (name, key) in [("svce", "name"), ("acct", "user"), ("icmt", "comment"), ("labl", "label")] {
            #expect(attribute(item, name) as? String == shown[key] as? String, "\(name)")
        }
        for (name, key) in [("cdat", "created"), ("mdat", "modified")] {
            let seconds = try #require(attribute(item, name) as? Double)
            let text = ISO8601DateFormatter().string(from: Date(timeIntervalSinceReferenceDate: seconds.rounded(.down)))
            #expect(text == shown[key] as? String, "\(name)")
        }
        for (name, secret) in [("long", long), ("empty", Data())] {
            let (items, findings) = try document(household, token, ["svce=\(name)"])
            #expect(findings.isEmpty)
            let opened = items.compactMap { $0["secret"] as? String }
            #expect(opened == [secret.map { String(format: "%02x", $0) }.joined()], "\(name)")
        }
    }

    @Test func `such a program detects changes by other programs`() throws {
        let (household, token, _) = try keychain("A256GCMKW")
        try household.set("one", "first")
        try household.set("two", "second")
        for statement in [
            "UPDATE item SET primary_key = zeroblob(32) WHERE id = 1", "DELETE FROM term WHERE item = 2",
            "UPDATE row_tree SET node = zeroblob(1024) WHERE number = 0",
        ] {
            let before = try document(household, token).findings.count
            try change(household, statement)
            #expect(try document(household, token).findings.count > before, "\(statement)")
        }
        try change(household, "UPDATE recipient SET code = zeroblob(32) WHERE item = 2")
        let refused = try read(household, token, ["svce=two"])
        #expect(refused.status == 1 && refused.error.contains("row 2 has a wrapped key with a wrong code"))
        try change(
            household, "UPDATE item SET attributes_ciphertext = zeroblob(length(attributes_ciphertext)) WHERE id = 1")
        #expect(try read(household, token).status == 1)
    }

    private func change(_ household: TestHome, _ statement: String) throws {
        let program = "import sqlite3, sys; sqlite3.connect(sys.argv[1], isolation_level=None).execute(sys.argv[2])"
        let result = try Tool("/usr/bin/python3", ["-c", program, try household.vault(), statement]).run()
        try #require(result.status == 0, "\(result.error)")
    }
}
