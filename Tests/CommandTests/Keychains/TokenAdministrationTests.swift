import Foundation
import TestSupport
import Testing

/// `keyfob token init`, `pin`, `rename` and `rm`.
@Suite struct TokenAdministrationTests {
    /// A home with a SoftHSM token `card` of another program, and files with PINs.
    private struct Card {
        let home: TestHome
        let environment: [String: String]

        init(withKeychain: Bool = false) throws {
            home = try TestHome()
            environment = try home.makeCard().merging(["KEYFOB_MODULE": TestToken.modulePath]) { $1 }
            for (name, pin) in ["pin": "1234", "so": "12345678", "new": "4321", "wrong": "9999", "short": "12"] {
                try home.directory.write(Array(pin.utf8), to: name)
            }
            guard withKeychain else { return }
            let made = try keyfob(
                "init", "-k", "site", "--token", "card", "--module", TestToken.modulePath, "--pin-source",
                "env:CARD_PIN")
            try #require(made.status == 0, "\(made.error)")
        }

        func file(_ name: String) -> String { "file:" + home.directory.file(name) }

        func keyfob(_ arguments: String..., input: String = "") throws -> Tool.Result {
            try home.keyfob(arguments, input: Data(input.utf8), environment: environment)
        }

        /// Whether the token accepts a PIN.
        func accepts(_ name: String) throws -> Bool {
            try keyfob("token", "show", "card", "--objects", "--pin-source", file(name)).status == 0
        }
    }

    @Test func `a token with objects is initialised only with --force, and after a question`() throws {
        let card = try Card()
        let made = try card.keyfob("key", "generate", "k", "--token", "card", "--pin-source", "env:CARD_PIN")
        try #require(made.status == 0, "\(made.error)")
        let unforced = try card.keyfob("token", "init", "card", "--so-pin-source", card.file("so"))
        #expect(unforced.status == 12 && unforced.error.contains("initialised already"), "\(unforced.error)")
        let unasked = try card.keyfob("token", "init", "card", "--force", "--so-pin-source", card.file("so"))
        #expect(unasked.status == 12 && unasked.error.contains("add --yes"), "\(unasked.error)")
        let trial = try card.keyfob("token", "init", "card", "--force", "--dry-run", "--pin-source", "env:CARD_PIN")
        #expect(trial.output.contains("2 objects on it will be destroyed"), "\(trial.output)\(trial.error)")
        #expect(try card.accepts("pin"))
        let initialised = try card.keyfob(
            "token", "init", "card", "--force", "--yes", "--label", "neu", "--so-pin-source", card.file("so"),
            "--new-pin-source", card.file("new"), "--json")
        #expect(initialised.output.contains("\"action\":\"update\""), "\(initialised.error)")
        let keys = try card.keyfob("key", "ls", "--token", "neu", "--pin-source", card.file("new"))
        #expect(keys.status == 0 && !keys.output.contains("k "), "\(keys.output)\(keys.error)")
    }

    @Test func `at a terminal, the name of the token confirms that it is initialised`() throws {
        let card = try Card()
        func initialise(typing name: String) throws -> (result: Tool.Result, screen: String) {
            try card.home.keyfob(
                [
                    "token", "init", "card", "--force", "--so-pin-source", card.file("so"), "--new-pin-source",
                    card.file("new"),
                ], typing: [name], environment: card.environment)
        }
        let refused = try initialise(typing: "kard")
        #expect(refused.result.status == 130, "\(refused.result.error)")
        #expect(refused.screen.contains("Type the token's name"), "\(refused.screen)")
        #expect(try card.accepts("pin"))
        let done = try initialise(typing: "card")
        #expect(done.result.status == 0, "\(done.result.error)")
        #expect(try card.accepts("new"))
    }

    @Test func `a token that was never initialised needs no --force`() throws {
        let card = try Card()
        let slots = try card.keyfob("token", "ls", "--all", "--json")
        #expect(slots.output.contains("not initialised"), "\(slots.output)")
        let nameless = try card.keyfob("token", "init", "pkcs11:slot-id=1", "--so-pin-source", card.file("so"))
        #expect(nameless.status == 2 && nameless.error.contains("--label NAME"), "\(nameless.error)")
        let made = try card.keyfob(
            "token", "init", "pkcs11:slot-id=1", "--label", "second", "--so-pin-source", card.file("so"),
            "--new-pin-source", card.file("new"))
        #expect(made.status == 0, "\(made.error)")
        #expect(try card.keyfob("token", "ls").output.contains("second"))
    }

    @Test func `a token with a keychain is initialised only if --keychain names it`() throws {
        let card = try Card(withKeychain: true)
        let words = ["token", "init", "card", "--force", "--yes", "--so-pin-source", card.file("so")]
        let refused = try card.home.keyfob(words, environment: card.environment)
        #expect(refused.status == 12 && refused.error.contains("holds keychain \"site\""), "\(refused.error)")
        #expect(try card.accepts("pin"))
        let done = try card.home.keyfob(words + ["-k", "site"], environment: card.environment)
        #expect(done.status == 0, "\(done.error)")
        #expect(done.output.contains("keyfob token pin set card"), "\(done.output)")
    }

    @Test func `a new PIN that does not fit destroys nothing`() throws {
        let card = try Card()
        let failed = try card.keyfob(
            "token", "init", "card", "--force", "--yes", "--so-pin-source", card.file("so"), "--new-pin-source",
            card.file("short"))
        #expect(failed.status == 2 && failed.error.contains("does not accept the new PIN"), "\(failed.error)")
        #expect(try card.accepts("pin"))
    }

    @Test func `a wrong SO PIN is reported as that`() throws {
        let card = try Card()
        let failed = try card.keyfob(
            "token", "pin", "unblock", "card", "--so-pin-source", card.file("wrong"), "--new-pin-source",
            card.file("new"))
        #expect(failed.status == 5 && failed.error.contains("wrong SO PIN for token \"card\""), "\(failed.error)")
        #expect(try card.accepts("pin"))
    }

    @Test func `a token gets its first PIN once, and a forgotten one is replaced`() throws {
        let card = try Card()
        let pins = ["--so-pin-source", card.file("so"), "--new-pin-source", card.file("new")]
        let second = try card.home.keyfob(["token", "pin", "set", "card"] + pins, environment: card.environment)
        #expect(second.status == 12, "\(second.error)")
        #expect(second.error.contains("keyfob token pin unblock card"), "\(second.error)")
        let replaced = try card.home.keyfob(["token", "pin", "unblock", "card"] + pins, environment: card.environment)
        #expect(replaced.status == 0, "\(replaced.error)")
        #expect(try card.accepts("new") && !card.accepts("pin"))
        let emptied = try card.keyfob("token", "init", "card", "--force", "--yes", "--so-pin-source", card.file("so"))
        try #require(emptied.status == 0, "\(emptied.error)")
        let first = try card.home.keyfob(["token", "pin", "set", "card"] + pins, environment: card.environment)
        #expect(first.status == 0, "\(first.error)")
        #expect(try card.accepts("new"))
    }

    @Test func `a new PIN is an update, also in the document of a dry run`() throws {
        let card = try Card()
        let new = ["--new-pin-source", card.file("new"), "--json"]
        let change = ["change", "card", "--pin-source", card.file("pin")]
        let unblock = ["unblock", "card", "--so-pin-source", card.file("so")]
        for (words, isDryRun) in [(change + ["--dry-run"], true), (change, false), (unblock, false)] {
            let result = try card.home.keyfob(["token", "pin"] + words + new, environment: card.environment)
            #expect(result.status == 0, "\(result.error)")
            let effect = "\"action\":\"update\",\"changed\":\(!isDryRun),\"dry_run\":\(isDryRun)"
            #expect(result.output.contains(effect), "\(words)")
        }
    }

    @Test func `an unlocked keychain stays open with a new PIN`() throws {
        let card = try Card(withKeychain: true)
        let stored = try card.keyfob("set", "a", "--stdin", "--pin-source", "env:CARD_PIN", input: "value")
        try #require(stored.status == 0, "\(stored.error)")
        try #require(card.keyfob("unlock", "--pin-source", "env:CARD_PIN").status == 0)
        let changed = try card.keyfob(
            "token", "pin", "change", "card", "--pin-source", "env:CARD_PIN", "--new-pin-source", card.file("new"))
        #expect(changed.status == 0, "\(changed.error)")
        #expect(try card.keyfob("get", "a").output == "value\n")
        try #require(card.keyfob("lock").status == 0)
        #expect(try card.keyfob("get", "a", "--pin-source", card.file("new")).output == "value\n")
    }

    @Test func `the source that has the former PIN is named`() throws {
        let card = try Card()
        let made = try card.keyfob(
            "init", "-k", "site", "--token", "card", "--module", TestToken.modulePath, "--pin-source", card.file("pin"))
        try #require(made.status == 0, "\(made.error)")
        let changed = try card.keyfob("token", "pin", "change", "-k", "site", "--new-pin-source", card.file("new"))
        #expect(changed.status == 0, "\(changed.error)")
        #expect(changed.error.contains("takes its PIN from \(card.file("pin"))"), "\(changed.error)")
    }

    @Test func `a wrong present PIN changes nothing`() throws {
        let card = try Card()
        let failed = try card.keyfob(
            "token", "pin", "change", "card", "--pin-source", card.file("wrong"), "--new-pin-source", card.file("new"))
        #expect(failed.status == 5 && failed.error.contains("wrong PIN"), "\(failed.error)")
        #expect(try card.accepts("pin"))
    }

    @Test func `a PIN is changed at a terminal, which shows its state first`() throws {
        let card = try Card()
        let changed = try card.home.keyfob(
            ["token", "pin", "change", "card"], typing: ["1234", "4321", "4321"], environment: card.environment)
        #expect(changed.result.status == 0, "\(changed.result.error)")
        #expect(changed.result.error.contains("PIN of token \"card\": set, tries ok"), "\(changed.result.error)")
        #expect(try card.accepts("new"))
    }

    @Test func `the PIN file of a keychain gets the new PIN`() throws {
        let household = try TestHome.unattended()
        try household.set("a", "value")
        let new = try household.directory.write(Array("new-pin".utf8), to: "new")
        let changed = try household.keyfob(["token", "pin", "change", "--new-pin-source", "file:" + new])
        #expect(changed.status == 0, "\(changed.error)")
        _ = try household.keyfob(["lock"])
        #expect(try household.keyfob(["get", "a"]).output == "value\n")
        let folder = household.data + "/keychains/login"
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder + "/pin")) == Data("new-pin".utf8))
        // The copy for a change that is interrupted.
        #expect(!FileManager.default.fileExists(atPath: folder + "/pin.new"))
    }

    @Test func `a PIN that a passphrase seals is not changed`() throws {
        let household = try TestHome.withPassphrase("opensesame")
        let new = try household.directory.write(Array("new-pin".utf8), to: "new")
        let refused = try household.keyfob(["token", "pin", "change", "--new-pin-source", "file:" + new])
        #expect(refused.status == 12 && refused.error.contains("seals it"), "\(refused.error)")
    }

    @Test func `a renamed token keeps its keychain and its saved copy`() throws {
        let household = try TestHome.unattended()
        try household.set("a", "value")
        let trial = try household.keyfob(["token", "rename", "login", "home", "--dry-run"])
        #expect(trial.output.contains("Would rename"), "\(trial.error)")
        let renamed = try household.document(["token", "rename", "login", "home"])
        #expect(renamed["action"] as? String == "update" && renamed["keychain_names"] as? [String] == ["login"])
        #expect(try household.keyfob(["get", "a"]).output == "value\n")
        let made = try household.keyfob(["key", "generate", "k"])
        #expect(made.output.contains("on \"home\""), "\(made.output)\(made.error)")
        let show = try household.keyfob(["token", "show"])
        #expect(show.output.contains("token     home"), "\(show.output)\(show.error)")
        // An emptied file is restored from the copy.
        let tokens = household.data + "/tokens"
        let directories = try FileManager.default.contentsOfDirectory(atPath: tokens).filter { !$0.hasPrefix(".") }
        try Data().write(to: URL(fileURLWithPath: tokens + "/\(try #require(directories.first))/token.object"))
        _ = try household.keyfob(["lock"])
        let healed = try household.keyfob(["get", "a"])
        #expect(healed.output == "value\n", "\(healed.error)")
    }

    @Test func `only tokens that Keyfob made are renamed and removed`() throws {
        let card = try Card()
        let renamed = try card.keyfob("token", "rename", "card", "other")
        #expect(renamed.status == 8 && renamed.error.contains("PKCS#11 has no call for it"), "\(renamed.error)")
        let removed = try card.keyfob("token", "rm", "card", "--yes")
        #expect(removed.status == 12 && removed.error.contains("keyfob token init card --force"), "\(removed.error)")
        #expect(try card.accepts("pin"))
    }

    @Test func `a token of a keychain is removed only if --keychain names it`() throws {
        let household = try TestHome.unattended()
        let refused = try household.keyfob(["token", "rm", "login", "--yes"])
        #expect(refused.status == 12 && refused.error.contains("keyfob keychain rm login"), "\(refused.error)")
        let trial = try household.keyfob(["token", "rm", "login", "-k", "login", "--dry-run"])
        #expect(trial.output.contains("Would remove token \"login\" with 1 object"), "\(trial.output)")
        let removed = try household.document(["token", "rm", "login", "-k", "login", "--yes"])
        #expect(removed["action"] as? String == "delete" && removed["changed"] as? Bool == true)
        #expect(try !household.keyfob(["token", "ls"]).output.contains("login "))
    }

    /// A renaming that was killed leaves another label there, and damage can hide the keychain.
    @Test(arguments: [("token=login", "token=former", "keyfob keychain rm login"), ("{", "", "cannot be read")])
    func `a token is not removed if a configuration may be that of its keychain`(
        old: String, new: String, reason: String
    ) throws {
        let household = try TestHome.unattended()
        let file = URL(fileURLWithPath: household.data + "/keychains/login/keychain.json")
        let text = try String(contentsOf: file, encoding: .utf8)
        try #require(text.contains(old))
        try Data(text.replacingOccurrences(of: old, with: new).utf8).write(to: file)
        let refused = try household.keyfob(["token", "rm", "login", "--yes"])
        #expect(refused.status == 12 && refused.error.contains(reason), "\(refused.error)")
        let tokens = try FileManager.default.contentsOfDirectory(atPath: household.data + "/tokens")
        #expect(tokens.contains { !$0.hasPrefix(".") })
    }
}
