import Foundation
import TestSupport
import Testing

/// Keychains on a token that Keyfob did not make.
@Suite struct ExistingTokenTests {
    private static let module = "/usr/lib/softhsm/libsofthsm2.so"

    /// Makes a token called `card`, and returns the environment for commands that use it.
    private func token(in household: TestHome) throws -> [String: String] {
        try household.makeCard().merging(["WRONG_PIN": "9999"]) { $1 }
    }

    @Test func `another token is used with its own SoftHSM configuration, beside tokens of Keyfob`() throws {
        // A command that reads a secret starts to open Keyfob's tokens before it knows which keychain is selected.
        let household = try TestHome.unattended()
        let environment = try token(in: household)
        let made = try household.keyfob(
            [
                "init", "--keychain", "card", "--token", "card", "--module", Self.module, "--pin-source",
                "env:CARD_PIN",
            ], environment: environment)
        try #require(made.status == 0, "\(made.error)")
        for (keychain, value) in [("card", "theirs"), ("login", "ours")] {
            let set = try household.keyfob(
                ["set", "a", "-k", keychain], input: Data(value.utf8), environment: environment)
            try #require(set.status == 0, "\(set.error)")
        }
        // Unlocked, and then locked.
        for options in [[], ["--pin-source", "env:CARD_PIN"]] {
            let theirs = try household.keyfob(["get", "a", "-k", "card"] + options, environment: environment)
            #expect(theirs.output == "theirs\n", "\(options): \(theirs.error)")
            let ours = try household.keyfob(["get", "a", "-k", "login"], environment: environment)
            #expect(ours.output == "ours\n", "\(options): \(ours.error)")
            _ = try household.keyfob(["lock", "--all"], environment: environment)
        }
        #expect(try household.failure(["get", "a", "-k", "none"], environment: environment).code == "keychain.not_found")
    }

    @Test(arguments: ["card", "pkcs11:token=card"])
    func `a keychain can be made on an existing token, which keeps its PIN`(name: String) throws {
        let household = try TestHome()
        let environment = try token(in: household)
        let arguments = ["init", "--keychain", "card", "--token", name, "--module", Self.module]
        let wrong = try household.failure(arguments + ["--pin-source", "env:WRONG_PIN"], environment: environment)
        #expect(wrong.code == "pin.incorrect")
        #expect(wrong.status == 5)
        let made = try household.keyfob(arguments + ["--pin-source", "env:CARD_PIN"], environment: environment)
        #expect(made.status == 0, "\(made.error)")
        #expect(!made.output.contains("Recovery code"))

        let set = try household.keyfob(["set", "a"], input: Data("value".utf8), environment: environment)
        #expect(set.status == 0, "\(set.error)")
        #expect(try household.keyfob(["get", "a", "--token", "card"], environment: environment).output == "value\n")
        #expect(
            try household.failure(["get", "a", "--token", "other"], environment: environment).code
                == "keychain.not_found")

        #expect(try household.keyfob(["lock"], environment: environment).status == 0)
        #expect(try household.failure(["get", "a"], environment: environment).code == "pin.required")
        let refused = try household.failure(["get", "a", "--pin-source", "env:WRONG_PIN"], environment: environment)
        #expect(refused.code == "pin.incorrect")
        // The same wrong PIN from a stored source is not sent to the token a second time.
        let again = try household.failure(["get", "a", "--pin-source", "env:WRONG_PIN"], environment: environment)
        #expect(again.code == "pin.known_wrong")
        #expect(again.status == 5)
        #expect(
            try household.keyfob(["get", "a", "--pin-source", "env:CARD_PIN"], environment: environment).output
                == "value\n")

        let removed = try household.keyfob(["keychain", "rm", "card", "--yes"], environment: environment)
        #expect(removed.status == 0)
        #expect(removed.output.contains("\"keyfob-wrap-1-card\""), "\(removed.output)")
        let key = try Tool(
            "/usr/bin/env",
            [
                "pkcs11-tool", "--module", Self.module, "--login", "--pin", "env:CARD_PIN", "--list-objects", "--label",
                "keyfob-wrap-1-card",
            ], environment: environment
        ).run()
        #expect(key.output.contains("Secret Key"), "\(key.error)")
        let still = try Tool(
            "/usr/bin/env", ["softhsm2-util", "--module", Self.module, "--show-slots"], environment: environment
        ).run()
        #expect(still.output.contains("card"))
    }

    @Test func `the wrapping key of another keychain on the token is neither listed nor removed`() throws {
        let household = try TestHome()
        let environment = try token(in: household)
        for name in ["one", "two"] {
            let made = try household.keyfob(
                ["keychain", "create", name, "--token", "card", "--module", Self.module, "--pin-source", "env:CARD_PIN"],
                environment: environment)
            try #require(made.status == 0, "\(made.error)")
        }
        let options = ["-k", "two", "--pin-source", "env:CARD_PIN"]
        let listed = try household.keyfob(["key", "ls", "--json"] + options, environment: environment)
        #expect(listed.status == 0 && listed.output.contains("\"keys\":[]"), "\(listed.output) \(listed.error)")
        let failure = try household.failure(
            ["key", "rm", "keyfob-wrap-1-one", "--yes"] + options, environment: environment)
        #expect(failure.code == "item.not_found")
        // The key is no longer needed once its keychain is removed.
        let removed = try household.keyfob(["keychain", "rm", "one", "--yes"], environment: environment)
        try #require(removed.status == 0, "\(removed.error)")
        let rest = try household.keyfob(["key", "rm", "keyfob-wrap-1-one", "--yes"] + options, environment: environment)
        #expect(rest.status == 0, "\(rest.error)")
    }

    @Test func `a wrapping key is shown with its keychain, for any keychain on the token`() throws {
        let household = try TestHome()
        let environment = try token(in: household).merging(["KEYFOB_MODULE": Self.module]) { $1 }
        func document(_ words: [String]) throws -> [String: Any] {
            let result = try household.keyfob(words + ["--json"], environment: environment)
            try #require(result.status == 0, "\(words): \(result.error)")
            return try #require(try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
        }
        let source = ["--pin-source", "env:CARD_PIN"]
        let names = ["one", "two"]
        for name in names {
            _ = try document(["keychain", "create", name, "--token", "card", "--module", Self.module] + source)
        }
        _ = try document(["key", "generate", "k", "--type", "aes", "-k", "one"] + source)
        func expectMarks(_ choice: [String]) throws {
            let show = ["token", "show", "--objects"] + choice + source
            let shown = try document(show)
            #expect(shown["keychain_names"] as? [String] == names, "\(shown)")
            let objects = try #require(shown["objects"] as? [[String: Any]])
            let marks = objects.map { object in
                let keychain = object["keychain"] as? String ?? "-"
                return "\(object["label"] ?? "") \(object["is_wrapping_key"] as? Bool ?? false) \(keychain)"
            }
            #expect(
                marks == ["k false -", "keyfob-wrap-1-one true one", "keyfob-wrap-1-two true two"], "\(choice) \(marks)")
            let text = try household.keyfob(show, environment: environment).output
            #expect(text.contains("\nkeychains  one, two\n"), "\(text)")
            for name in names { #expect(text.contains("seals keychain \(name), not extractable"), "\(text)") }
            let rows = try household.keyfob(show + ["--format", "tsv"], environment: environment).output
            #expect(rows.hasPrefix("class\tlabel\t") && rows.split(separator: "\n").count == 4, "\(rows)")
        }
        for choice in [["card"], ["-k", "one"], ["-k", "two"]] { try expectMarks(choice) }
        // The passwords may be restored from a backup, which needs the key.
        let vault = try #require(try document(["keychain", "show", "two"])["vault"] as? String)
        try FileManager.default.removeItem(atPath: vault)
        try expectMarks(["-k", "one"])
        // The key is not in a list of keys either, so `key rm` does not find it by its name.
        let keys = try #require(try document(["key", "ls", "-k", "one"] + source)["keys"] as? [[String: Any]])
        #expect(keys.count == 1 && keys.first?["name"] as? String == "k", "\(keys)")
    }

    @Test(.enabled(if: Machine.canTrace))
    func `a list of keys opens the vault of each other keychain on the token once`() throws {
        let household = try TestHome()
        let environment = try token(in: household)
        let source = ["--pin-source", "env:CARD_PIN"]
        for name in ["one", "two", "three", "four"] {
            let made = try household.keyfob(
                ["keychain", "create", name, "--token", "card", "--module", Self.module] + source,
                environment: environment)
            try #require(made.status == 0, "\(made.error)")
        }
        let log = household.directory.file("opened")
        let trace = ["strace", "-f", "-qq", "-e", "trace=open,openat", "-o", log]
        let listed = try Tool(
            "/usr/bin/env", trace + [Tool.keyfob([]).path, "key", "ls", "-k", "one"] + source,
            environment: household.environment.merging(environment) { $1 }
        ).run()
        try #require(listed.status == 0, "\(listed.error)")
        let opened = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").compactMap { line in
            line.contains(".sqlite\", O_RDWR") ? line.split(separator: "\"").dropFirst().first.map(String.init) : nil
        }
        let counts = Dictionary(opened.map { ($0, 1) }, uniquingKeysWith: +)
        #expect(counts.count == 4 && counts.values.allSatisfy { $0 == 1 }, "\(counts)")
    }

    @Test func `init refuses a name whose keychain is on another token than the named one`() throws {
        let household = try TestHome.unattended()
        let failure = try household.failure(["init", "--token", "card"])
        #expect(failure.code == "keychain.exists")
        #expect(failure.hint.contains("--keychain"))
    }

    @Test func `a token that requires no login gets no PIN, and is never reported as locked`() throws {
        let household = try TestHome()
        let module = household.directory.file("faulty.so")
        try FaultyModule.build(module)
        let environment = try household.makeCard().merging(
            ["FAULTY_TARGET": TestToken.modulePath, "FAULTY_REFUSE": "no-login"]) { $1 }
        let create = ["init", "--keychain", "card", "--token", "card", "--module", module]
        let refused = try household.failure(create + ["--pin-source", "env:WRONG_PIN"], environment: environment)
        #expect(refused.code == "usage" && refused.hint.contains("leave out --pin-source"))
        let made = try household.keyfob(create, environment: environment)
        try #require(made.status == 0, "\(made.error)")
        let truth = "Token \"card\" requires no login: any program that can use it can open keychain \"card\"."
        #expect(made.output.contains(truth), "\(made.output)")
        let set = try household.keyfob(["set", "a", "--stdin"], input: Data("value".utf8), environment: environment)
        try #require(set.status == 0, "\(set.error)")

        let status = try household.keyfob(["status"], environment: environment)
        #expect(status.output.contains("opens without asking"), "\(status.output)\(status.error)")
        #expect(status.output.contains("any program that can use it can open the keychain"), "\(status.output)")
        for command in ["lock", "unlock"] {
            let told = try household.keyfob([command], environment: environment)
            #expect(told.status == 0 && told.output.contains("Nothing"), "\(command): \(told.output)\(told.error)")
            #expect(told.output.contains(truth), "\(command): \(told.output)")
            let read = try household.keyfob(["get", "a"], environment: environment)
            #expect(read.output == "value\n", "\(command): \(read.error)")
        }
    }

    @Test func `the last PIN try is used for a new keychain only with --allow-final-try`() throws {
        let (household, environment) = try TestHome.withCard()
        let final = environment.merging(["FAULTY_REFUSE": "pin-final"]) { $1 }
        let made = try household.keyfob(
            [
                "keychain", "create", "b", "--token", "card", "--module", household.directory.file("faulty.so"),
                "--pin-source", "env:CARD_PIN", "--allow-final-try",
            ], environment: final)
        #expect(made.status == 0, "\(made.error)")
    }
}
