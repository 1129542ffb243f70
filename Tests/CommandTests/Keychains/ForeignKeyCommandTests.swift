import Foundation
import TestSupport
import Testing

/// Keys and certificates made by other tools, with the names and identifiers that those tools choose.
@Suite struct ForeignKeyCommandTests {
    private static let module = "/usr/lib/softhsm/libsofthsm2.so"

    /// A home whose keychain `card` is on a token that Keyfob did not make.
    private func household() throws -> (TestHome, [String: String]) {
        let household = try TestHome()
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

    @Test func `simultaneous commands all reach a token in another SoftHSM directory`() async throws {
        let (household, environment) = try household()
        let stored = try household.keyfob(["set", "a", "--stdin"], input: Data("v".utf8), environment: environment)
        try #require(stored.status == 0, "\(stored.error)")
        for _ in 0..<5 {
            let results: [Tool.Result] = try await withThrowingTaskGroup(of: Tool.Result.self) { group in
                for _ in 0..<8 {
                    group.addTask { try await onThread { try household.keyfob(["get", "a"], environment: environment) } }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for result in results { #expect(result.output == "v\n", "\(result.error)") }
        }
    }

    @Test func `a certificate without an identifier does not belong to a key, and selects none for removal`() throws {
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

    @Test func `two halves of a key with one name and no identifier have different URIs`() throws {
        let (household, environment) = try household()
        try tool(["--keypairgen", "--key-type", "EC:prime256v1", "--label", "e1"], environment)
        let refused = try household.keyfob(["key", "show", "e1"], environment: environment)
        #expect(refused.status != 0 && !refused.error.contains("sha1:"), "\(refused.error)")
        let uri = try #require(
            refused.error.firstMatch(of: /pkcs11:[A-Za-z0-9%;=._~-]*type=private/)?.0, "\(refused.error)")
        let shown = try household.keyfob(["key", "show", String(uri)], environment: environment)
        #expect(shown.status == 0 && shown.output.contains("private"), "\(shown.error)")
    }

    /// Makes a certificate for seven days in `NAME.der`.
    private func makeCertificate(_ name: String, in household: TestHome) throws -> Data {
        let file = household.directory.file(name + ".der")
        let made = try Tool(
            "/bin/sh",
            [
                "-euc",
                "openssl req -x509 -nodes -subj \"/CN=$1\" -days 7 -newkey ec -pkeyopt ec_paramgen_curve:P-256 "
                    + "-keyout \"$2.key\" -outform DER -out \"$2\" 2>/dev/null", "sh", name, file,
            ]
        ).run()
        try #require(made.status == 0, "\(made.error)")
        return try Data(contentsOf: URL(fileURLWithPath: file))
    }

    /// Returns the certificate with times that violate RFC 5280, but that other tools accept.
    private func withForeignTimes(_ certificate: Data) -> Data {
        var changed = certificate
        for end in certificate.indices.dropFirst(12)
        where certificate[end] == 0x5A && certificate[end - 12..<end].allSatisfy({ (0x30...0x39).contains($0) }) {
            changed[end] = 0x2B
        }
        return changed
    }

    /// Overwrites a certificate in SoftHSM's files, because tools refuse to write an invalid one.
    private func overwrite(_ certificate: Data, in household: TestHome) throws {
        let tokens = household.directory.file("card-tokens")
        let names = try FileManager.default.subpathsOfDirectory(atPath: tokens).filter { $0.hasSuffix(".object") }
        var count = 0
        for name in names {
            let file = URL(fileURLWithPath: tokens + "/" + name)
            var object = try Data(contentsOf: file)
            guard let place = object.firstRange(of: certificate) else { continue }
            object.replaceSubrange(place, with: Data(repeating: 0x2A, count: certificate.count))
            try object.write(to: file)
            count += 1
        }
        try #require(count == 1)
    }

    @Test(arguments: ["time", "bytes"])
    func `an invalid certificate object hides no expiring certificate`(fault: String) throws {
        let (household, environment) = try household()
        let broken = try makeCertificate("broken", in: household)
        let file = household.directory.file("written.der")
        let written = fault == "time" ? withForeignTimes(broken) : broken
        try written.write(to: URL(fileURLWithPath: file))
        try tool(["--write-object", file, "--type", "cert", "--label", "broken"], environment)
        if fault == "bytes" { try overwrite(broken, in: household) } else { try #require(written != broken) }
        _ = try makeCertificate("soon", in: household)
        try tool(
            ["--write-object", household.directory.file("soon.der"), "--type", "cert", "--label", "soon"], environment)

        for command in [["cert", "ls"], ["cert", "ls", "--all"], ["cert", "expiring"]] {
            let result = try household.keyfob(command + ["--json"], environment: environment)
            let listed = try #require(try IdentityHome.json(result)["certificates"] as? [[String: Any]])
            #expect(listed.map { $0["name"] as? String } == ["soon"], "\(command) \(result.output)")
        }
        let list = try household.keyfob(["cert", "ls"], environment: environment)
        #expect(list.status == 0 && list.output.contains("\nsoon "), "\(list)")
        let due = try household.keyfob(["cert", "expiring", "--exit-code"], environment: environment)
        #expect(due.status == 10 && due.output.hasPrefix("soon "), "\(due)")
        // A list of all objects shows it, whatever its content.
        let objects = try household.keyfob(["token", "show", "--objects"], environment: environment)
        #expect(objects.status == 0 && objects.output.contains("broken"), "\(objects)")
    }
}
