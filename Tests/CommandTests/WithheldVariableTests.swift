import Foundation
import TestSupport
import Testing

/// A variable that a PIN source names is never passed to a child, read or not.
@Suite struct WithheldVariableTests {
    struct Row: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// `FILE` stands for the file that the child writes its environment to.
        let arguments: [String]
        var environment: [String: String] = [:]
        var pinSource: String?
        var isLocked = false
    }

    private static let hook = ["identity", "renew", "web", "--force", "--exec", "env > FILE"]
    private static let command = ["--pin-source", "cmd:env > FILE; echo opensesame"]

    static let rows = [
        Row(testDescription: "the option, a hook", arguments: hook + ["--pin-source", "env:OURS"]),
        Row(testDescription: "KEYFOB_PIN_SOURCE, a hook", arguments: hook, environment: ["KEYFOB_PIN_SOURCE": "env:OURS"]),
        Row(testDescription: "the configuration, a hook", arguments: hook, pinSource: "env:OURS"),
        Row(
            testDescription: "the option, an editor", arguments: ["secret", "edit", "note", "--pin-source", "env:OURS"],
            environment: ["EDITOR": "env > FILE; :"]),
        Row(
            testDescription: "the configuration, an issuer",
            arguments: [
                "identity", "create", "api", "--cn", "api", "--issuer", "exec:/bin/sh -c 'env > FILE; exit 1'",
            ], pinSource: "env:OURS"),
        // The identity is looked up, and the PIN asked for, before the account's key is.
        Row(
            testDescription: "an external account's key, the PIN's command",
            arguments: [
                "identity", "renew", "web", "--force", "--issuer", "acme:https://127.0.0.1:1/", "--listen",
                "127.0.0.1:1",
                "--agree-tos", "--eab-kid", "kid", "--eab-key-source", "env:OURS",
            ] + command, isLocked: true),
        Row(
            testDescription: "a file's passphrase, the PIN's command",
            arguments: ["identity", "export", "web", "-o", "web.p12", "--pass-source", "env:OURS"] + command,
            isLocked: true),
        Row(
            testDescription: "a secret's value, the PIN's command",
            arguments: ["secret", "set", "other", "--from-env", "OURS"] + command, isLocked: true),
        Row(
            testDescription: "another keychain's PIN, the PIN's command",
            arguments: ["secret", "copy", "note", "--to", "site", "--to-pin-source", "env:OURS"] + command,
            isLocked: true),
    ]

    @Test(arguments: rows) func `no child process gets the variable`(_ row: Row) throws {
        let household = try TestHome()
        try #require(
            household.keyfob(["init", "--pin-source", "env:FIRST"], environment: ["FIRST": "opensesame"]).status == 0)
        try #require(
            household.keyfob(["identity", "create", "web", "--cn", "web.example", "--self-signed"]).status == 0)
        try household.set("note", "a note")
        if let source = row.pinSource {
            let file = household.directory.file("home/.local/share/keyfob/keychains/login/keychain.json")
            let data = try Data(contentsOf: URL(fileURLWithPath: file))
            var object = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
            object["pinSource"] = source
            try JSONSerialization.data(withJSONObject: object).write(to: URL(fileURLWithPath: file))
        }
        if row.arguments.contains("site") {
            try #require(household.keyfob(["keychain", "create", "site", "--unattended"]).status == 0)
        }
        if row.isLocked { try #require(household.keyfob(["lock"]).status == 0) }
        let seen = household.directory.file("environment")
        func put(_ text: String) -> String { text.replacing("FILE", with: seen) }
        let environment = row.environment.mapValues(put).merging(["OURS": "opensesame", "THEIRS": "open"]) { $1 }
        let result = try household.keyfob(row.arguments.map(put), environment: environment)
        let lines = try String(contentsOfFile: seen, encoding: .utf8).split(separator: "\n")
        #expect(lines.contains("THEIRS=open"), "\(result.error)")
        #expect(!lines.contains { $0.hasPrefix("OURS=") || $0.hasPrefix("KEYFOB_") || $0.contains("opensesame") })
    }
}
