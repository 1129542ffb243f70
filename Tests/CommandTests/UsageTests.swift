import Foundation
import TestSupport
import Testing

/// The errors that the author of a script gets for an invalid command line.
@Suite struct UsageTests {
    @Test func `a name that begins with a hyphen is not a request for help`() throws {
        let household = try TestHome.unattended()
        let result = try household.keyfob(["set", "-dash", "--stdin"], input: Data("x".utf8))
        #expect(result.status == 2 && result.output.isEmpty, "\(result.output)")
        #expect(result.error.contains("'-dash'") && result.error.contains("\"--\""), "\(result.error)")
        try household.set("-dash", "x")
        #expect(try household.keyfob(["get", "--", "-dash"]).output == "x\n")
        for help in [["set", "-qh"], ["set", "-h"], ["help", "set"]] {
            let result = try household.keyfob(help)
            #expect(result.status == 0 && result.output.contains("USAGE"), "\(help)")
        }
    }

    @Test(arguments: ["secret", "identity", "cert", "key", "trust", "keychain", "token"])
    func `lists and removals have their long names with every noun`(noun: String) throws {
        let household = try TestHome.unattended()
        let list = try household.keyfob([noun, "list"])
        #expect(list.status == 0, "\(list.error)")
        #expect(try list.output == household.keyfob([noun, "ls"]).output)
        for verb in ["remove", "delete"] {
            let result = try household.keyfob([noun, verb, "nobody", "--yes"])
            let missing: Int32 = noun == "token" ? 7 : 3
            #expect(result.status == missing && result.output.isEmpty, "\(noun) \(verb): \(result.error)")
            let quiet = try household.keyfob([noun, verb, "nobody", "--yes", "--if-exists"])
            #expect(quiet.status == 0, "\(noun) \(verb): \(quiet.error)")
        }
    }

    @Test(arguments: ["secret", "identity", "cert", "key", "trust", "keychain"])
    func `every empty list is a heading`(noun: String) throws {
        let household = try noun == "keychain" ? TestHome() : TestHome.unattended()
        let list = try household.keyfob([noun, "ls"])
        #expect(list.status == 0 && list.output.hasPrefix("NAME   "), "\(list.output)\(list.error)")
        #expect(list.output.split(separator: "\n").count == 1, "\(list.output)")
        #expect(list.error.contains(" yet. ") == ["secret", "keychain"].contains(noun), "\(list.error)")
        #expect(try household.keyfob([noun, "ls", "--format", "tsv"]).output.isEmpty)
    }

    @Test(arguments: ["secret", "identity", "cert", "key", "trust", "keychain", "token"], ["destroy", "erase", "del", "Remove"])
    func `the unknown word for a removal gets the hint rm and nothing else`(noun: String, word: String) throws {
        let result = try Tool.keyfob([noun, word, "x"]).run()
        #expect(result.status == 2 && result.error.contains("Did you mean \"rm\"?"), "\(result.error)")
    }

    @Test(arguments: [
        ["cert", "import", "web.pem", "--name", ""], ["identity", "import", "web.key", "web.pem", "--name", ""],
        ["trust", "add", "web.pem", "--name", ""], ["key", "generate", ""],
        ["identity", "create", "", "--cn", "x", "--self-signed"], ["token", "show", ""], ["token", "mechanisms", ""],
        ["ls", "--token", ""], ["init", "--keychain", "card", "--token", ""], ["key", "pub", "key", "-o", ""],
        ["trust", "export", "-o", ""],
    ])
    func `an empty name counts as none in every argument`(arguments: [String]) throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("web")
        #expect(try home.keyfob("key", "generate", "key").status == 0)
        let script = "cd \"$1\"; shift; exec \"$@\""
        let result = try Tool(
            "/bin/sh", ["-c", script, "sh", home.directory.path, Tool.keyfob([]).path] + arguments,
            environment: home.environment
        ).run()
        #expect(result.status == 2 && result.output.isEmpty, "\(result.output)")
        #expect(result.error.hasPrefix("keyfob: a name must not be empty."), "\(result.error)")
        #expect(try home.keyfob("cert", "ls", "--json").output.contains("\"certificates\":[]"))
    }

    @Test(arguments: [["set"], ["secret", "generate"], ["secret", "copy", "a"]], ["keyfob://login/x", "KEYFOB://x"])
    func `no item has a name in the form of a future reference`(command: [String], name: String) throws {
        let household = try TestHome.unattended()
        try household.set("a", "value")
        let refused = try household.keyfob(command + [name], input: Data("x".utf8))
        #expect(refused.status == 2 && refused.error.contains("\"keyfob://\""), "\(refused.error)")
        #expect((try household.document(["ls"])["items"] as? [Any])?.count == 1)
        // It may be inside a name.
        try household.set("a/keyfob://x", "value")
    }

    @Test func `the choices of an option are in one line`() throws {
        let result = try Tool.keyfob(["cert", "verify", "x", "--usage", "baking"]).run()
        #expect(result.status == 2)
        #expect(result.error.contains("one of: any, server, client,"), "\(result.error)")
        #expect(!result.error.contains("\\n"))
        // Only the formats that the command accepts.
        let format = try Tool.keyfob(["ls", "--format", "xml"]).run()
        #expect(format.error.contains("'json'") && !format.error.contains("pkcs12"), "\(format.error)")
        #expect(try !Tool.keyfob(["ls", "--help"]).run().output.contains("pkcs12"))
    }

    @Test func `a message of several lines is shown as one`() throws {
        let result = try Tool.keyfob(["ls", "-qkother"]).run()
        #expect(result.status == 2 && result.error.contains("'-qkother'"), "\(result.error)")
        #expect(!result.error.contains("\\n"), "\(result.error)")
    }

    @Test(arguments: ["0", "30d", "100y"])
    func `any duration is accepted as a limit`(time: String) throws {
        let household = try TestHome.unattended()
        let commands = [["set", "a", "--stdin"], ["get", "a"], ["ls"], ["lock"], ["unlock"], ["status"], ["key", "ls"]]
        for command in commands {
            let result = try household.keyfob(command + ["--timeout", time], input: Data("x".utf8))
            #expect(result.status == 0, "\(command) \(result.error)")
        }
    }

    @Test(arguments: [
        (["cert", "expiring", "--within"], "30", "--within 30d"),
        (["identity", "create", "web", "--cn", "web", "--self-signed", "--lifetime"], "90", "--lifetime 90d"),
        (["identity", "renew", "--all", "--lifetime"], "1.5", "--lifetime 1.5d"),
        (["unlock", "--for"], "8", "--for 8h"),
    ])
    func `a duration in days or hours needs its unit`(command: [String], time: String, remedy: String) throws {
        let household = try TestHome.unattended()
        let result = try household.keyfob(command + [time])
        #expect(result.status == 2 && result.error.contains(remedy), "\(result.error)")
        let words = remedy.split(separator: " ").map(String.init)
        let mended = try household.keyfob(command.dropLast() + words)
        #expect(mended.status == 0, "\(mended.error)")
    }

    @Test func `zero is the same in every unit`() throws {
        let household = try TestHome.unattended()
        for command in [["cert", "expiring", "--within", "0"], ["unlock", "--for", "0"], ["ls", "--timeout", "7"]] {
            let result = try household.keyfob(command)
            #expect(result.status == 0, "\(command) \(result.error)")
        }
    }

    @Test(arguments: ["100ms", "11y", "100y"])
    func `a duration too long to stay unlocked is refused with one that works`(time: String) throws {
        let household = try TestHome.unattended()
        let failure = try household.failure(["unlock", "--for", time])
        #expect(failure.code == "usage" && failure.status == 2 && failure.hint.contains("--for"))
    }

    @Test(arguments: [
        ["ls", "--timeout=-5"], ["ls", "--timeout=-1s"], ["unlock", "--for=-1h"], ["cert", "expiring", "--within=-1d"],
        ["ls", "--timeout=101y"], ["ls", "--timeout=1e99d"], ["ls", "--timeout=nan"],
    ])
    func `an invalid duration is a usage error`(arguments: [String]) throws {
        let household = try TestHome.unattended()
        let failure = try household.failure(arguments)
        #expect(failure.code == "usage" && failure.status == 2, "\(failure)")
    }

    @Test(arguments: [-1, 315_360_001])
    func `a configuration with a duration too long to stay unlocked is named`(time: Int) throws {
        let household = try TestHome.unattended()
        let file = household.directory.file("home/.local/share/keyfob/keychains/login/keychain.json")
        let text = try String(contentsOfFile: file, encoding: .utf8)
        let changed = text.replacing(/"unlockTimeout" ?: ?[0-9]+/, with: "\"unlockTimeout\" : \(time)")
        try #require(changed != text)
        try changed.write(toFile: file, atomically: false, encoding: .utf8)
        for arguments in [["ls"], ["unlock"], ["status"]] {
            let result = try household.keyfob(arguments)
            let told = result.output + result.error
            #expect(told.contains("\"unlockTimeout\"") || arguments == ["status"], "\(arguments) \(told)")
        }
        let failure = try household.failure(["get", "a"])
        #expect(failure.code == "configuration.invalid" && failure.status == 9, "\(failure)")
        #expect(failure.hint.contains(file), "\(failure.hint)")
        // The rest is valid, and none of it is lost.
        try #require(household.keyfob(["keychain", "rm", "login", "--yes"]).status == 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: household.data + "/keychains").isEmpty)
    }

    @Test func `a URI names its token even if it is incomplete`() throws {
        let household = try TestHome.unattended()
        try household.set("a", "x")
        for token in ["login", "pkcs11:token=login", "pkcs11:model=SoftHSM%20v2;token=login"] {
            #expect(try household.keyfob(["get", "a", "--token", token]).output == "x\n", "\(token)")
        }
        #expect(try household.failure(["get", "a", "--token", "pkcs11:token=login;serial=0"]).status == 3)
        #expect(try household.failure(["get", "a", "--token", "pkcs11:token=%zz"]).status == 2)
    }

    @Test func `a protocol is shown as it was given`() throws {
        let household = try TestHome.unattended()
        for name in ["https", "ssh", "pop3s"] {
            try household.set(name, "x", ["--kind", "internet", "--protocol", name])
            #expect(try household.document(["secret", "show", name])["protocol"] as? String == name)
        }
        try household.set("other", "x", ["--protocol", "teln"])
        #expect(try household.document(["secret", "show", "other"])["protocol"] as? String == "teln")
    }

    @Test(arguments: [
        (["cert", "verify", "web", "--at", "tomorrow"], "such as 2026-12-24"),
        (["cert", "expiring", "--within", "soon"], "or 30d"), (["ls", "--timeout", "long"], "10s"),
        (["identity", "create", "x", "--cn", "x", "--self-signed", "--lifetime", "100000d"], "at most 100y"),
        (["unlock", "--for", "1month"], "(ms, s, m, h, d, w, y)"),
        (["key", "pub", "web", "-o", "/nonexist/no where/x"], "mkdir -p '/nonexist/no where'"),
        (["set", "a", "--from-file", "no where"], "ls -ld 'no where'"),
        (["set", "a", "--from-env", "NOPE"], "export NOPE"), (["set", "a", "--from-fd", "977"], "977< FILE"),
        (["set", "a", "--from-file", "/"], "ls -ld /"), (["cert", "import", "no where.pem"], "ls -ld 'no where.pem'"),
        (["identity", "import", "nope.p12"], "ls -ld nope.p12"), (["cert", "import", "/"], "ls -ld /"),
        (["cert", "import", "-"], "Name the file that holds it"),
        (["identity", "import", "/etc/passwd"], "Name a file of another form"),
        (["unlock", "--pin-source", "fd:977"], "977< FILE"), (["unlock", "--pin-source", "stdin"], "Put the PIN there"),
        (["get", "a", "--port", "70000"], "--port 443"), (["error", "99999"], "errSecItemNotFound"),
        (
            ["identity", "create", "x", "--cn", "x", "--issuer", "acme:foo", "--web-root", "/tmp"],
            "--issuer acme:https://"
        ),
        (
            ["identity", "create", "x", "--cn", "x", "--issuer", "acme:https://127.0.0.1:1/dir", "--web-root", "/tmp"],
            "curl -v https://127.0.0.1:1/dir"
        ),
    ])
    func `an unusable value is refused with usable ones`(arguments: [String], remedy: String) throws {
        let household = try TestHome.unattended()
        #expect(try household.keyfob(["key", "generate", "web"]).status == 0)
        let failure = try household.failure(arguments)
        #expect(failure.hint.contains(remedy), "\(failure)")
    }

    @Test func `a file that is a directory is named`() throws {
        let household = try TestHome.unattended()
        let result = try household.keyfob(["set", "a", "--from-file", household.directory.path])
        #expect(result.status == 1)
        #expect(
            result.error.hasPrefix("keyfob: cannot read \(household.directory.path): it is a directory.\n"),
            "\(result.error)")
    }

    @Test func `the default keychain is reported even if it was never chosen`() throws {
        let household = try TestHome.unattended()
        #expect(try household.keyfob(["keychain", "create", "other", "--unattended"]).status == 0)
        #expect(try household.keyfob(["keychain", "default", "other"]).status == 0)
        #expect(try household.keyfob(["keychain", "default"]).output == "other\n")
        #expect(try household.keyfob(["keychain", "rm", "other", "--yes"]).status == 0)
        #expect(try household.keyfob(["keychain", "default"]).output == "login\n")
        #expect(try household.document(["keychain", "default"])["keychain"] as? String == "login")
    }

    @Test func `after its removal all commands agree on the default keychain, and no new one becomes it`() throws {
        let household = try TestHome.unattended()
        try household.set("a", "value")
        for command in [["create", "ci", "--unattended"], ["default", "ci"], ["rm", "ci", "--yes"]] {
            #expect(try household.keyfob(["keychain"] + command).status == 0)
        }
        let made = try household.document(["keychain", "create", "scratch", "--unattended"])
        #expect(made["default"] as? Bool == false)
        #expect(try household.keyfob(["get", "a"]).output == "value\n")
        #expect(try household.document(["keychain", "default"])["keychain"] as? String == "login")
        for command in [["status"], ["keychain", "show"]] {
            #expect(try household.document(command)["default"] as? Bool == true, "\(command)")
            let other = try household.document(command + ["-k", "scratch"])
            #expect(other["default"] as? Bool == false, "\(command)")
        }
        let list = try #require(try household.document(["keychain", "ls"])["keychains"] as? [[String: Any]])
        #expect(list.filter { $0["default"] as? Bool == true }.map { $0["name"] as? String } == ["login"])
        // Also without any that is used by default.
        #expect(try household.keyfob(["keychain", "rm", "login", "--yes"]).status == 0)
        #expect(try household.document(["keychain", "create", "site", "--unattended"])["default"] as? Bool == false)
    }

    @Test func `every command that makes a key uses the same words for its kind`() throws {
        let household = try TestHome.unattended()
        let result = try household.keyfob(
            ["identity", "create", "web", "--cn", "web", "--self-signed", "--type", "ed25519"])
        #expect(result.status == 0 && result.output.contains("Ed25519"), "\(result.error)")
    }

    @Test func `a program that would ask for the PIN is not started for a check`() throws {
        let household = try TestHome()
        #expect(try household.keyfob(["init", "--pin-source", "env:P"], environment: ["P": "open sesame"]).status == 0)
        #expect(try household.keyfob(["identity", "create", "web", "--cn", "web", "--self-signed"]).status == 0)
        let failure = try household.failure(["uri", "web", "--for", "openssl", "--check"])
        #expect(failure.status == 12 && failure.code == "refused")
    }
}
