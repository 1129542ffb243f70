import Foundation
import TestSupport
import Testing

/// The transcripts in the documentation.
@Suite struct TranscriptTests {
    @Test func `the first run asks twice for a passphrase, saves a recovery code and leaves the keychain open`() throws
    {
        let household = try TestHome()
        let first = try household.keyfob(["init"], typing: ["open sesame", "open sesame"])
        #expect(first.result.status == 0, "\(first.result.error)")
        #expect(first.screen.contains("Passphrase for keychain \"login\": "))
        #expect(first.screen.contains("Again: "))
        #expect(!first.screen.contains("sesame"))
        let lines = first.result.output.split(separator: "\n").map(String.init)
        #expect(
            lines.first == "No token configured; using SoftHSM, a software token. Keys stay in files only you can read."
        )
        #expect(
            lines.contains(
                "Created token \"login\", wrapping key \"keyfob-wrap-1\" (AES-256, not extractable), keychain \"login\"."
            ))
        #expect(lines.last == "Next: keyfob set github.com/alice")
        let recovery = household.directory.file("home/keyfob-recovery-login.txt")
        let mode = try FileManager.default.attributesOfItem(atPath: recovery)[.posixPermissions] as? Int
        #expect(mode == 0o600)

        let again = try household.keyfob(["init"])
        #expect(again.output == "Nothing to do: keychain \"login\" exists and works.\n")

        let set = try household.keyfob(["set", "db/prod", "--user", "app"], typing: ["correct horse"])
        #expect(set.screen.contains("Value for db/prod (hidden): "))
        #expect(!set.screen.contains("horse"))
        #expect(set.result.output == "Stored db/prod in \"login\".\n")
        #expect(try household.keyfob(["get", "db/prod"]).output == "correct horse\n")
    }

    @Test func `if the two entries differ three times, nothing is created`() throws {
        let household = try TestHome()
        let entries = ["open sesame", "open barley"]
        let run = try household.keyfob(["init"], typing: entries + entries + entries)
        #expect(run.result.status == 130)
        #expect(!FileManager.default.fileExists(atPath: household.data + "/keychains"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: household.directory.file("home")).isEmpty)
    }

    @Test func `a wrong passphrase is reported, and the recovery code opens the keychain`() throws {
        let household = try TestHome()
        let pass = try household.directory.write(Array("open sesame\n".utf8), to: "pass")
        let source = ["PASS": "open sesame", "WRONG": "open barley"]
        #expect(try household.keyfob(["init", "--pin-source", "env:PASS"], environment: source).status == 0)
        try household.set("a", "value")
        #expect(try household.keyfob(["lock"]).output == "Locked \"login\".\n")
        #expect(try household.keyfob(["lock"]).output == "\"login\" is already locked.\n")

        let locked = try household.failure(["get", "a"])
        #expect(locked.code == "pin.required")
        #expect(locked.status == 6)
        let wrong = try household.failure(["get", "a", "--pin-source", "env:WRONG"], environment: source)
        #expect(wrong.code == "passphrase.incorrect")
        #expect(wrong.status == 5)
        #expect(try household.keyfob(["get", "a", "--pin-source", "file:" + pass]).output == "value\n")

        let recovery = "file:" + household.directory.file("home/keyfob-recovery-login.txt")
        let unlock = try household.keyfob(["unlock", "--recovery", "--pin-source", recovery, "--for", "1h"])
        #expect(unlock.status == 0, "\(unlock.error)")
        #expect(try household.keyfob(["get", "a"]).output == "value\n")
        let status = try household.document(["status"])
        #expect(status["state"] as? String == "unlocked")
        #expect(status["password_count"] as? Int == 1)
        #expect(status["until"] is String)
    }

    @Test func `a passphrase file given to init is used from then on`() throws {
        let household = try TestHome()
        let pass = try household.directory.write(Array("open sesame\n".utf8), to: "pass")
        let made = try household.document(["init", "--pin-source", "file:" + pass])
        #expect(made["changed"] as? Bool == true)
        #expect(made["recovery_file"] as? String == household.directory.file("home/keyfob-recovery-login.txt"))
        try household.set("a", "value")
        #expect(try household.keyfob(["get", "a"]).output == "value\n")
        #expect(try household.document(["status"])["state"] as? String == "unattended")
        #expect(try household.document(["init"])["changed"] as? Bool == false)
        try FileManager.default.removeItem(atPath: pass)
        #expect(try household.keyfob(["get", "a"]).status != 0)
    }

    @Test(arguments: [["init"], ["keychain", "create", "login", "--if-missing"]])
    func `an existing keychain has the same document as a new one`(command: [String]) throws {
        let household = try TestHome()
        let made = try household.document(command + ["--unattended"])
        let again = try household.document(command + ["--unattended"])
        #expect(again["action"] as? String == "none" && again["changed"] as? Bool == false)
        #expect(Set(made.keys).subtracting(again.keys).isEmpty, "\(again)")
        for name in ["token", "token_uri", "wrapping_key", "wrap_suite", "pin_source", "protection"] {
            #expect(again[name] is String && again[name] as? String == made[name] as? String, "\(name)")
        }
        #expect(again["default"] as? Bool == true && again["token_new"] as? Bool == false)
        for name in ["unlocked", "recovery_file"] { #expect(again[name] is NSNull, "\(name)") }
        let locked = try TestHome.withPassphrase("opensesame")
        #expect(try locked.document(command)["unlocked"] as? Bool == false)
    }

    @Test func `a recovery file is never overwritten`() throws {
        let household = try TestHome()
        let mine = try household.directory.write(Array("precious".utf8), to: "mine.txt")
        let refused = try household.failure(
            ["init", "--pin-source", "env:PASS", "--recovery-file", mine], environment: ["PASS": "open sesame"])
        #expect(refused.code == "refused")
        #expect(try household.directory.read("mine.txt") == Array("precious".utf8))
        #expect(!FileManager.default.fileExists(atPath: household.data + "/keychains"))

        try household.directory.write(Array("older".utf8), to: "home/keyfob-recovery-login.txt")
        let result = try household.keyfob(["init", "--pin-source", "env:PASS"], environment: ["PASS": "open sesame"])
        #expect(result.output.contains("~/keyfob-recovery-login-2.txt"))
        #expect(try household.directory.read("home/keyfob-recovery-login.txt") == Array("older".utf8))
    }

    @Test(arguments: ["named", "chosen"])
    func `an empty recovery file of a killed command is used by the next one`(way: String) throws {
        let household = try TestHome()
        let name = way == "named" ? "code" : "home/keyfob-recovery-login.txt"
        let file = try household.directory.write([], to: name)
        let result = try household.keyfob(
            ["init", "--pin-source", "env:PASS"] + (way == "named" ? ["--recovery-file", file] : []),
            environment: ["PASS": "open sesame"])
        #expect(result.status == 0, "\(result.error)")
        #expect(try String(contentsOfFile: file, encoding: .utf8).contains("recovery code of the Keyfob keychain"))
        var status = stat()
        #expect(unsafe lstat(file, &status) == 0 && status.st_mode & 0o777 == 0o600)
    }

    @Test(arguments: ["locked", "link", "fifo", "directory"])
    func `a recovery file that another command has locked, or that is not a regular file, is refused`(kind: String) throws {
        let household = try TestHome()
        let file = household.directory.file("code")
        let target = try household.directory.write([], to: "target")
        let make =
            switch kind {
            case "locked": ": >\"$1\"; exec 9<\"$1\"; flock 9"
            case "link": "ln -s \"$2\" \"$1\""
            case "fifo": "mkfifo \"$1\""
            default: "mkdir \"$1\""
            }
        let result = try Tool(
            "/bin/sh",
            [
                "-c", make + "; exec \"$3\" init --pin-source env:PASS --recovery-file \"$1\" --json", "sh", file,
                target, Tool.keyfob([]).path,
            ], environment: household.environment.merging(["PASS": "open sesame", "KEYFOB_NO_INPUT": "1"]) { $1 }
        ).run()
        #expect(result.status == 12, "\(result)")
        #expect(result.error.contains("\"code\":\"refused\""))
        #expect(!FileManager.default.fileExists(atPath: household.data + "/keychains"))
        #expect(try household.directory.read("target").isEmpty)
    }

    @Test(arguments: [["--unattended"], ["--unattended", "--json"], ["--token", "card"], ["--module", "softhsm2"]])
    func `--recovery-file is refused if there is no recovery code`(options: [String]) throws {
        let household = try TestHome()
        let file = household.directory.file("code")
        for command in [["init"], ["keychain", "create", "site"]] {
            let refused = try household.failure(command + options + ["--recovery-file", file])
            #expect(refused.code == "usage" && refused.status == 2)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: household.directory.file("home")).isEmpty)
    }

    @Test func `without a terminal or a source, the first run creates nothing`() throws {
        let household = try TestHome()
        let failure = try household.failure(["init"])
        #expect(failure.code == "pin.required")
        #expect(failure.hint.contains("--unattended"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: household.directory.file("home")).isEmpty)
    }

    @Test func `a dry run creates nothing`() throws {
        let household = try TestHome()
        #expect(try household.keyfob(["init", "--unattended", "--dry-run"]).status == 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: household.directory.file("home")).isEmpty)
    }

    @Test func `keychains are made, shown, made the default and removed`() throws {
        let household = try TestHome.unattended()
        let made = try household.keyfob(["keychain", "create", "site", "--unattended"])
        #expect(made.status == 0 && made.output.hasPrefix("Using SoftHSM, a software token. Keys "), "\(made.output)")
        let taken = try household.failure(["keychain", "create", "site", "--unattended"])
        #expect(taken.code == "keychain.exists")
        #expect(taken.status == 4)
        #expect(try household.keyfob(["keychain", "create", "site", "--unattended", "--if-missing"]).status == 0)
        let list = try #require(try household.document(["keychain", "ls"])["keychains"] as? [[String: Any]])
        #expect(list.compactMap { $0["name"] as? String } == ["login", "site"])
        #expect(try household.keyfob(["keychain", "default"]).output == "login\n")
        #expect(try household.keyfob(["keychain", "default", "site"]).status == 0)
        #expect(try household.document(["keychain", "show"])["name"] as? String == "site")

        try household.set("a", "value", ["-k", "login"])
        #expect(try household.keyfob(["secret", "copy", "a", "-k", "login", "--to", "site"]).status == 0)
        #expect(try household.keyfob(["get", "a"]).output == "value\n")

        #expect(try household.keyfob(["keychain", "rm", "site"]).status == 12)
        #expect(try household.keyfob(["keychain", "rm", "site", "--yes", "--dry-run"]).status == 0)
        #expect(try household.keyfob(["keychain", "rm", "site", "--yes"]).status == 0)
        #expect(try household.failure(["get", "a", "-k", "site"]).code == "keychain.not_found")
        #expect(try household.keyfob(["get", "a", "-k", "login"]).output == "value\n")
    }

    @Test func `removing a keychain at a terminal asks for its name`() throws {
        let household = try TestHome.unattended()
        let kept = try household.keyfob(["keychain", "rm", "login"], typing: ["yes"])
        #expect(
            kept.result.status == 130 && kept.result.output.isEmpty
                && kept.result.error.contains("nothing was removed"))
        let removed = try household.keyfob(["keychain", "rm", "login"], typing: ["login"])
        #expect(removed.result.output == "Removed keychain \"login\".\n")
    }

    @Test func `a name that cannot be a file name is refused for a keychain`() throws {
        let household = try TestHome()
        for name in ["../x", "", ".hidden", "a/b", String(repeating: "x", count: 33)] {
            #expect(try household.failure(["init", "--unattended", "--keychain", name]).status == 2, "\(name)")
        }
        #expect(!FileManager.default.fileExists(atPath: household.data + "/keychains"))
    }
}
