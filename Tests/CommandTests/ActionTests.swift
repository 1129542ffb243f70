import ArgumentParser
import Foundation
import TestSupport
import Testing

@testable import KeyfobCLI

/// The member `action` of every command that changes something.
@Suite struct ActionTests {
    /// A command that changes something, and the same once more.
    struct Step: CustomTestStringConvertible {
        /// The words after `keyfob`, separated by spaces.
        let words: String
        /// The action of the first run, and of a dry run before it.
        let first: String
        /// The words of the second run, if they differ.
        var again: String?
        /// The action of the second run.
        let second: String
        /// The action of a dry run in place of the second run, if it cannot know the result.
        var planned: String?
        var input = ""

        var testDescription: String { words }
    }

    /// The commands in an order in which all succeed, in one home. `DIR` is the directory of the test.
    private static let steps: [Step] = [
        Step(words: "init --unattended", first: "create", second: "none"),
        Step(
            words: "keychain create site --unattended", first: "create",
            again: "keychain create site --unattended --if-missing", second: "none"),
        Step(words: "keychain default site", first: "update", second: "none"),
        Step(words: "keychain default login", first: "update", second: "none"),
        Step(words: "keychain settings site --unlock-timeout 1h", first: "update", second: "none"),
        Step(words: "keychain rename site main", first: "update", again: "keychain rename main main", second: "none"),
        Step(words: "keychain check login", first: "none", second: "none"),
        Step(words: "unlock login", first: "update", second: "update"),
        Step(words: "lock login", first: "update", second: "none"),
        Step(
            words: "keychain passphrase main --new-pin-source env:PASS --recovery-file DIR/code", first: "update",
            again: "keychain passphrase main --pin-source env:PASS --new-pin-source env:PASS2", second: "update"),
        Step(
            words: "keychain recovery-code main --pin-source env:PASS2 --recovery-file DIR/code2", first: "update",
            again: "keychain recovery-code main --pin-source env:PASS2 --recovery-file DIR/code3", second: "update"),
        Step(
            words: "keychain passphrase main --unattended --pin-source env:PASS2", first: "update",
            again: "keychain passphrase main --unattended", second: "none"),
        Step(words: "set a --stdin", first: "create", again: "set a --stdin --if-missing", second: "none", input: "x"),
        Step(words: "set a --stdin --replace", first: "update", second: "none", input: "y"),
        Step(
            words: "set --from-json -", first: "create", again: "set --from-json - --replace", second: "none",
            input: #"{"name":"row","value":"x"}"#),
        Step(
            words: "secret generate b", first: "create", again: "secret generate b --if-missing", second: "none"),
        Step(words: "secret copy a c", first: "create", again: "secret copy a c --if-missing", second: "none"),
        Step(words: "secret edit a", first: "update", second: "none", planned: "update"),
        Step(words: "mv b d", first: "update", again: "mv d d", second: "none"),
        Step(
            words: "otp set code --stdin", first: "create", again: "otp set code --stdin --if-missing", second: "none",
            input: "JBSWY3DPEHPK3PXP"),
        Step(words: "otp rm code -y", first: "delete", again: "otp rm code -y --if-exists", second: "none"),
        Step(words: "systemd unit --serve nginx.service/password=a -o DIR", first: "create", second: "none"),
        Step(words: "systemd timer -o DIR", first: "create", second: "none"),
        Step(words: "get a -o DIR/a.txt", first: "create", second: "none"),
        Step(words: "inject -i DIR/template -o DIR/filled", first: "create", second: "none"),
        Step(words: "rm c -y", first: "delete", again: "rm c -y --if-exists", second: "none"),
        Step(words: "key generate k", first: "create", again: "key generate k --if-missing", second: "none"),
        Step(words: "key csr k --cn k -o DIR/k.csr", first: "create", second: "update"),
        Step(words: "key pub k -o DIR/k.pub", first: "create", second: "none"),
        Step(
            words: "identity create root --cn Root --authority --self-signed", first: "create",
            again: "identity create root --cn Root --authority --self-signed --if-missing", second: "none"),
        Step(words: "cert sign DIR/k.csr --issuer root -o DIR/k.pem", first: "create", second: "update"),
        Step(words: "identity install k --cert DIR/k.pem", first: "create", second: "none"),
        Step(
            words: "identity create web --dns web.example --issuer root", first: "create",
            again: "identity create web --dns web.example --issuer root --if-missing", second: "none"),
        Step(words: "identity renew web --force", first: "update", again: "identity renew web", second: "none"),
        Step(words: "identity use web --service https://web.example", first: "update", second: "none"),
        Step(words: "identity retire web -y", first: "delete", second: "none"),
        Step(
            words: "identity import DIR/web.p12 --name taken --extractable --pass-source file:DIR/pass",
            first: "create", second: "none"),
        Step(
            words: "identity export taken -o DIR/out.p12 --pass-source file:DIR/pass", first: "create",
            second: "update"),
        Step(
            words: "identity rm taken -y", first: "delete", again: "identity rm taken -y --if-exists", second: "none"),
        Step(words: "cert import DIR/root.pem --name other", first: "create", second: "none"),
        Step(words: "cert export web --chain -o DIR/chain.pem", first: "create", second: "none"),
        Step(words: "cert chain web --fetch", first: "none", second: "none"),
        Step(words: "trust add other -y", first: "create", second: "none"),
        Step(words: "trust export -o DIR/trust.pem", first: "create", second: "none"),
        Step(words: "trust rm other", first: "delete", again: "trust rm other --if-exists", second: "none"),
        Step(words: "cert rm other -y", first: "delete", again: "cert rm other -y --if-exists", second: "none"),
        Step(words: "uri web --for nginx --write DIR/nginx", first: "create", second: "none"),
        Step(words: "helper install cargo", first: "create", second: "none"),
        Step(words: "helper rm cargo", first: "delete", second: "none"),
        Step(
            words: "manifest init -o DIR/new.yaml", first: "create", again: "manifest init -o DIR/new.yaml --force",
            second: "none"),
        Step(words: "manifest export -k main -o DIR/main.yaml", first: "create", second: "none"),
        Step(words: "apply DIR/site.yaml -y", first: "create", second: "none"),
        Step(
            words: "keychain backup DIR/backup", first: "create", again: "keychain backup DIR/backup --force",
            second: "update"),
        Step(
            words: "keychain rm main -y", first: "delete", again: "keychain rm main -y --if-exists", second: "none"),
        Step(words: "token rename login other", first: "update", again: "token rename other other", second: "none"),
        Step(words: "token rm gone --if-exists", first: "none", second: "none"),
        Step(words: "key generate last", first: "create", again: "key generate last --if-missing", second: "none"),
        Step(words: "key rm last -y", first: "delete", again: "key rm last -y --if-exists", second: "none"),
    ]

    /// Commands whose document says in other suites what they did, because they need another machine state:
    /// `TokenAdministrationTests`, `RelabelledTokenTests`, `KeychainBackupTests`, `AgentTests` and
    /// `SystemdCredentialTests`.
    private static let elsewhere = [
        "token init", "token pin change", "token pin set", "token pin unblock", "keychain repoint", "keychain restore",
        "agent", "systemd credential",
    ]

    /// Commands that change nothing, and helpers and programs whose output is not a document.
    private static let others = [
        "status", "ls", "secret show", "identity ls", "identity show", "identity check", "cert ls", "cert show",
        "cert verify", "cert expiring", "key ls", "key show", "trust ls", "token ls", "token show",
        "token mechanisms", "doctor", "keychain ls", "keychain show", "plan", "manifest validate", "error",
        "completion", "manifest schema", "helper ls", "helper git", "helper docker", "helper cargo", "helper keyring", "helper kubectl",
        "helper aws", "run", "find", "otp get", "otp ls", "otp show",
    ]

    /// The command that some words name.
    private static func command(_ words: String) throws -> ObjectIdentifier {
        var command: any ParsableCommand.Type = KeyfobCommand.self
        for word in words.split(separator: " ") {
            let below = command.configuration.subcommands.first {
                let names = [$0.configuration.commandName].compactMap { $0 } + $0.configuration.aliases
                return names.contains(String(word))
            }
            guard let below else { break }
            command = below
        }
        try #require(command.configuration.subcommands.isEmpty, "\(words)")
        return ObjectIdentifier(command)
    }

    @Test func `every command that changes something is known here`() throws {
        let known = Set(try (Self.steps.map(\.words) + Self.elsewhere + Self.others).map(Self.command))
        var commands: [any ParsableCommand.Type] = [KeyfobCommand.self]
        while let command = commands.popLast() {
            let below = command.configuration.subcommands
            commands += below
            // A new command belongs to one of the lists above.
            #expect(!below.isEmpty || known.contains(ObjectIdentifier(command)), "\(command)")
        }
    }

    @Test func `a change, its repetition and their dry runs report the action, with the same members`() throws {
        let home = try TestHome()
        let openssl = try IdentityHome()
        try openssl.makeWeb()
        for name in ["web.p12", "root.pem", "pass"] {
            try FileManager.default.copyItem(atPath: openssl.file(name), toPath: home.directory.file(name))
        }
        try home.directory.write(Array("{{ keyfob://a }}\n".utf8), to: "template")
        try home.directory.write(Array("printf new > \"$1\"\n".utf8), to: "editor")
        try home.directory.write(
            Array(
                """
                apiVersion: keyfob/v1
                keychain: made
                unattended: true
                secrets:
                - {name: s, generate: {}}

                """.utf8), to: "site.yaml")
        let variables = [
            "PASS": "a first passphrase", "PASS2": "another passphrase",
            "EDITOR": "sh " + home.directory.file("editor"),
        ]
        func document(_ words: String, _ step: Step) throws -> [String: Any] {
            let words = words.replacing("DIR", with: home.directory.path).split(separator: " ").map(String.init)
            let result = try home.keyfob(
                words + ["--json"], input: Data(step.input.utf8), environment: variables)
            try #require(result.status == 0, "\(words): \(result.error)")
            // Without a document, the text says why.
            let value = try? JSONSerialization.jsonObject(with: Data(result.output.utf8))
            return try #require(value as? [String: Any], "\(words): \(result.output)")
        }
        func check(_ words: String, _ step: Step, _ action: String, isDryRun: Bool) throws -> Set<String> {
            let document = try document(words + (isDryRun ? " --dry-run" : ""), step)
            #expect(document["action"] as? String == action, "\(words) \(isDryRun): \(document)")
            #expect(document["changed"] as? Bool == (action != "none" && !isDryRun), "\(words) \(isDryRun)")
            #expect(document["dry_run"] as? Bool == isDryRun, "\(words)")
            return Set(document.keys)
        }
        for step in Self.steps {
            let again = step.again ?? step.words
            let planned = try check(step.words, step, step.first, isDryRun: true)
            let made = try check(step.words, step, step.first, isDryRun: false)
            let unplanned = try check(again, step, step.planned ?? step.second, isDryRun: true)
            let repeated = try check(again, step, step.second, isDryRun: false)
            for names in [planned, unplanned, repeated] {
                #expect(names == made, "\(step.words): \(names.symmetricDifference(made))")
            }
        }
    }
}
