import Foundation
import TestSupport
import Testing

/// Changing the passphrase, the recovery code and the settings of a keychain.
@Suite struct PassphraseTests {
    private static let secrets = TestHome.secrets

    /// A locked keychain with the passphrase `OLD` and one password, `a`.
    private static func household() throws -> TestHome {
        let household = try TestHome.withPassphrase("open sesame")
        try household.unlock("OLD")
        try household.set("a", "value")
        try household.lock()
        return household
    }

    private static func recoveryCode(_ household: TestHome, _ number: String = "") -> String {
        "file:" + household.directory.file("home/keyfob-recovery-login\(number).txt")
    }

    @Test func `a changed passphrase opens the keychain, and the former one does not`() throws {
        let household = try Self.household()
        let change = ["keychain", "passphrase", "--pin-source", "env:OLD", "--new-pin-source", "env:NEW"]
        let dry = try household.keyfob(change + ["--dry-run"], environment: Self.secrets)
        #expect(dry.output == "Would change the passphrase of keychain \"login\".\n")
        #expect(try household.opens("OLD"))
        let changed = try household.keyfob(change, environment: Self.secrets)
        #expect(changed.status == 0, "\(changed.error)")
        #expect(try household.opens("NEW"))
        #expect(try household.failure(["get", "a", "--pin-source", "env:OLD"], environment: Self.secrets).status == 5)
        let again = try household.failure(change, environment: Self.secrets)
        #expect(again.code == "passphrase.incorrect")
        #expect(try household.opens("NEW"))
    }

    @Test func `the recovery code replaces a forgotten passphrase, and stays valid`() throws {
        let household = try Self.household()
        for name in ["NEW", "OLD"] {
            let changed = try household.keyfob(
                [
                    "keychain", "passphrase", "--recovery", "--pin-source", Self.recoveryCode(household),
                    "--new-pin-source", "env:" + name,
                ], environment: Self.secrets)
            #expect(changed.status == 0, "\(changed.error)")
            #expect(try household.opens(name))
        }
    }

    @Test func `a new recovery code replaces the former one`() throws {
        let household = try Self.household()
        let made = try household.keyfob(
            ["keychain", "recovery-code", "--pin-source", "env:OLD"], environment: Self.secrets)
        #expect(made.output.contains("~/keyfob-recovery-login-2.txt"), "\(made.error)")
        let unlock = ["unlock", "--recovery", "--pin-source"]
        let former = try household.failure(unlock + [Self.recoveryCode(household)])
        #expect(former.code == "passphrase.incorrect")
        #expect(try household.keyfob(unlock + [Self.recoveryCode(household, "-2")]).status == 0)
        // The code is saved before it takes effect, so without a place for it the former one stays.
        let refused = try household.failure(
            [
                "keychain", "recovery-code", "--recovery", "--pin-source", Self.recoveryCode(household, "-2"),
                "--recovery-file", household.directory.file("missing/code"),
            ])
        #expect(refused.code == "file.unavailable")
        #expect(try household.keyfob(unlock + [Self.recoveryCode(household, "-2")]).status == 0)
    }

    @Test func `a short passphrase is refused unless --allow-weak is given`() throws {
        let household = try Self.household()
        let change = ["keychain", "passphrase", "--pin-source", "env:OLD", "--new-pin-source", "env:SHORT"]
        let refused = try household.failure(change, environment: Self.secrets)
        #expect(refused.status == 12)
        #expect(refused.hint.contains("--allow-weak"))
        #expect(try household.opens("OLD"))
        let create = ["keychain", "create", "other", "--pin-source", "env:SHORT"]
        #expect(try household.failure(create, environment: Self.secrets).status == 12)
        #expect(try household.keychains() == ["login"])
        #expect(try household.keyfob(create + ["--allow-weak"], environment: Self.secrets).status == 0)
        #expect(try household.keyfob(change + ["--allow-weak"], environment: Self.secrets).status == 0)
        #expect(try household.opens("SHORT"))
    }

    @Test func `a person is asked for a longer passphrase, and for the right one, up to three times`() throws {
        let household = try Self.household()
        let changed = try household.keyfob(
            ["keychain", "passphrase"],
            typing: ["wrong", "open sesame", "barley", "open barley", "open wheat", "open barley", "open barley"])
        #expect(changed.result.status == 0, "\(changed.result.error)")
        #expect(changed.screen.contains("Wrong passphrase. Passphrase for keychain \"login\": "), "\(changed.screen)")
        #expect(changed.screen.contains("fewer than 8 characters"), "\(changed.screen)")
        #expect(changed.screen.contains("The two entries differ."))
        #expect(try household.opens("NEW"))
        let wrong = try household.keyfob(["unlock"], typing: ["a", "b", "c"])
        #expect(wrong.result.status == 5)
        #expect(wrong.result.error.contains("wrong passphrase for keychain \"login\""))
    }

    @Test func `a malformed recovery code is asked for again`() throws {
        let household = try Self.household()
        let file = household.directory.file("home/keyfob-recovery-login.txt")
        let code = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").first.map(String.init) ?? ""
        let unlock = try household.keyfob(["unlock", "--recovery"], typing: ["ABC", code.lowercased()])
        #expect(unlock.result.status == 0, "\(unlock.result.error)")
        #expect(unlock.screen.contains("Wrong recovery code."), "\(unlock.screen)")
    }

    @Test func `a setting stays when a passphrase comes that has another default`() throws {
        let home = try TestHome.unattended()
        let set = try home.document(["keychain", "settings", "--unlock-on-use", "no"])
        #expect(set["action"] as? String == "update")
        #expect(set["unlock_on_use"] as? Bool == false)
        let change = ["keychain", "passphrase", "--new-pin-source", "env:NEW"]
        #expect(try home.keyfob(change, environment: ["NEW": "open sesame"]).status == 0)
        #expect(try home.document(["keychain", "config"])["unlock_on_use"] as? Bool == false)
    }

    @Test func `a typed passphrase unlocks the keychain, unless the settings say otherwise`() throws {
        let household = try Self.household()
        #expect(try household.keyfob(["get", "a"], typing: ["open sesame"]).result.output == "value\n")
        #expect(try household.keyfob(["get", "a"]).output == "value\n")
        try household.lock()
        // A passphrase from another source is for one command.
        #expect(try household.opens("OLD"))
        #expect(try household.failure(["get", "a"]).code == "pin.required")
        let set = try household.document(["keychain", "settings", "--unlock-on-use", "no", "--unlock-timeout", "1h"])
        #expect(set["action"] as? String == "update")
        #expect(set["unlock_timeout"] as? Int == 3600)
        #expect(try household.keyfob(["get", "a"], typing: ["open sesame"]).result.output == "value\n")
        #expect(try household.failure(["get", "a"]).code == "pin.required")
        let shown = try household.document(["keychain", "config"])
        #expect(shown["unlock_on_use"] as? Bool == false)
        #expect(shown["action"] as? String == "none")
        try household.unlock("OLD")
        let until = try #require(household.document(["status"])["until"] as? String)
        let date = try #require(ISO8601DateFormatter().date(from: until))
        #expect((3000...3700).contains(date.timeIntervalSinceNow))
    }

    @Test(arguments: [
        ["--unlock-timeout", "60"], ["--unlock-timeout", "100ms"], ["--unlock-timeout", "11y"],
        ["--default-pin-source", "env:P"], ["--default-pin-source", "hunter2"], ["--unlock-on-use", "perhaps"],
    ])
    func `invalid settings are refused and change nothing`(words: [String]) throws {
        let household = try TestHome.unattended()
        let before = try household.document(["keychain", "settings"]) as NSDictionary
        #expect(try household.keyfob(["keychain", "settings"] + words).status == 2)
        #expect(try household.document(["keychain", "settings"]) as NSDictionary == before)
    }

    @Test func `a keychain changes between a passphrase and unattended use`() throws {
        let household = try TestHome.unattended()
        try household.set("a", "value")
        let pin = household.keychain() + "/pin"
        // The random PIN is only in its file, so no other source replaces it.
        let refused = try household.failure(["keychain", "settings", "--default-pin-source", "prompt"])
        #expect(refused.hint.contains("keyfob keychain passphrase login"))
        let protected = try household.keyfob(
            ["keychain", "passphrase", "--new-pin-source", "env:NEW"], environment: Self.secrets)
        #expect(protected.output.contains("Recovery code saved to ~/keyfob-recovery-login.txt"), "\(protected.error)")
        #expect(!FileManager.default.fileExists(atPath: pin))
        #expect(try household.failure(["get", "a"]).code == "pin.required")
        #expect(try household.opens("NEW"))
        let unattended = ["keychain", "passphrase", "--unattended"]
        #expect(
            try household.keyfob(unattended + ["--pin-source", "env:NEW"], environment: Self.secrets).status == 0)
        #expect(FileManager.default.fileExists(atPath: pin))
        try household.lock()
        #expect(try household.keyfob(["get", "a"]).output == "value\n")
        #expect(try household.document(unattended)["action"] as? String == "none")
        // The code is still the keychain's.
        let unlock = ["unlock", "--recovery", "--pin-source", Self.recoveryCode(household)]
        #expect(try household.keyfob(unlock).status == 0)
    }

    @Test func `a renamed keychain keeps its items, and stays the default one`() throws {
        let household = try TestHome.unattended()
        try household.set("a", "value")
        try #require(household.keyfob(["keychain", "create", "site", "--unattended"]).status == 0)
        #expect(try household.failure(["keychain", "rename", "login", "site"]).code == "keychain.exists")
        #expect(try household.failure(["keychain", "rename", "login", "../x"]).status == 2)
        #expect(try household.failure(["keychain", "rename", "missing", "x"]).status == 3)
        let renamed = try household.document(["keychain", "rename", "login", "home"])
        #expect(renamed["former_name"] as? String == "login")
        #expect(try household.keychains() == ["home", "site"])
        #expect(try household.keyfob(["get", "a"]).output == "value\n")
        #expect(try household.keyfob(["keychain", "check", "home", "--secrets"]).status == 0)
        // A copy under the former name has the same identity, so it is not a keychain.
        try FileManager.default.copyItem(atPath: household.keychain("home"), toPath: household.keychain("login"))
        #expect(try household.failure(["get", "a", "-k", "login"]).code == "configuration.invalid")
    }

    @Test(.enabled(if: Machine.canTrace), arguments: ["rename", "fsync", "unlink", "openat"])
    func `a change that is killed at any moment leaves the former secret or the new one valid`(call: String) throws {
        let household = try Self.household()
        var present = "OLD"
        for when in (call == "openat" ? Array(stride(from: 20, through: 140, by: 12)) : Array(1...6)) {
            let next = present == "OLD" ? "NEW" : "OLD"
            let kill = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=\(call):signal=SIGKILL:when=\(when)"]
            let change = ["keychain", "passphrase", "--pin-source", "env:" + present, "--new-pin-source", "env:" + next]
            _ = try Tool(
                "/usr/bin/env", kill + [Tool.keyfob([]).path] + change,
                environment: household.environment.merging(Self.secrets) { $1 }
            ).run()
            let isNew = try household.opens(next)
            #expect(try household.opens(present) != isNew, "\(call) \(when)")
            if isNew { present = next }
        }
    }

    @Test(.enabled(if: Machine.canTrace), arguments: ["rename", "fsync", "unlink"])
    func `a killed change to or from unattended use leaves one of the two, and no PIN beside a passphrase`(
        call: String
    ) throws {
        let household = try Self.household()
        let pin = household.keychain() + "/pin"
        for when in 1...6 {
            let isUnattended = try household.keyfob(["get", "a"]).status == 0
            let change = isUnattended ? ["--new-pin-source", "env:OLD"] : ["--pin-source", "env:OLD", "--unattended"]
            let kill = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=\(call):signal=SIGKILL:when=\(when)"]
            _ = try Tool(
                "/usr/bin/env", kill + [Tool.keyfob([]).path, "keychain", "passphrase"] + change,
                environment: household.environment.merging(Self.secrets) { $1 }
            ).run()
            try household.lock()
            let opensItself = try household.keyfob(["get", "a"]).output == "value\n"
            guard !opensItself else { continue }
            #expect(try household.opens("OLD"), "\(call) \(when)")
            #expect(!FileManager.default.fileExists(atPath: pin), "\(call) \(when)")
        }
    }

    @Test(.enabled(if: Machine.canTrace), arguments: ["rename", "fsync"])
    func `a killed renaming leaves the keychain complete under one of the two names`(call: String) throws {
        let household = try TestHome.unattended()
        try household.set("a", "value")
        for when in 1...8 {
            let name = try #require(household.keychains().first)
            let next = "k\(when)"
            let kill = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=\(call):signal=SIGKILL:when=\(when)"]
            _ = try Tool(
                "/usr/bin/env", kill + [Tool.keyfob([]).path, "keychain", "rename", name, next],
                environment: household.environment
            ).run()
            let names = try household.keychains()
            #expect(names == [name] || names == [next], "\(call) \(when): \(names)")
            #expect(try household.keyfob(["get", "a", "-k", names.first ?? ""]).output == "value\n", "\(call) \(when)")
            // The default keychain stays the default one.
            #expect(try household.keyfob(["get", "a"]).output == "value\n", "\(call) \(when)")
        }
    }

    @Test func `a keychain on a token with a PIN of its own has no passphrase to change`() throws {
        let card = try CardKeychain()
        for verb in [["passphrase"], ["passphrase", "--unattended"], ["recovery-code"]] {
            let refused = try card.household.failure(["keychain"] + verb, environment: card.environment)
            #expect(refused.code == "refused")
            #expect(refused.hint.contains("keyfob token pin change"))
        }
    }
}

extension TestHome {
    fileprivate static let secrets = ["OLD": "open sesame", "NEW": "open barley", "SHORT": "barley"]

    /// Whether the passphrase of a variable reads the password `a`.
    fileprivate func opens(_ name: String) throws -> Bool {
        try keyfob(["get", "a", "--pin-source", "env:" + name], environment: Self.secrets).output == "value\n"
    }

    fileprivate func unlock(_ name: String) throws {
        let result = try keyfob(["unlock", "--pin-source", "env:" + name], environment: Self.secrets)
        try #require(result.status == 0, "\(result.error)")
    }

    fileprivate func lock() throws {
        let result = try keyfob(["lock"])
        try #require(result.status == 0, "\(result.error)")
    }
}
