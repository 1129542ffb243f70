import Foundation
import TestSupport
import Testing

@testable import KeyfobCLI

/// `keyfob run`: what the program gets, and what it returns.
@Suite struct RunTests {
    private let household: TestHome

    init() throws {
        household = try TestHome.unattended()
        try household.set("db/prod", "canary-1", ["--user", "app"])
        try household.set("my item", "two\nlines")
    }

    private func run(
        _ options: [String], _ command: [String], environment: [String: String] = [:], input: String = ""
    ) throws -> Tool.Result {
        try household.keyfob(["run"] + options + ["--"] + command, input: Data(input.utf8), environment: environment)
    }

    private func file(_ name: String, _ content: String) throws -> String {
        try household.directory.write(Array(content.utf8), to: name)
        return household.directory.file(name)
    }

    @Test(arguments: [[], ["--mask"]]) func `a program gets secrets and attributes in variables`(more: [String]) throws {
        let result = try run(
            [
                "--env", "A=db/prod", "--env", "B=keyfob://db/prod?field=user", "--env", "C=keyfob://my%20item",
                "--env", "D=keyfob://db/prod?user=app&keychain=login",
            ] + more, ["sh", "-c", "printf '%s|%s|%s|%s' \"$A\" \"$B\" \"$C\" \"$D\" | od -c"])
        let plain = try Tool("/bin/sh", ["-c", "printf 'canary-1|app|two\\nlines|canary-1' | od -c"]).run()
        #expect(result.status == 0, "\(result.error)")
        #expect(result.output == plain.output)
    }

    @Test func `a variable that the caller set twice is set once, to the secret`() throws {
        // execve(2) passes the entries as they are; shells and env(1) remove repeated ones.
        let script = """
            import ctypes, os, sys
            words = [os.fsencode(word) for word in sys.argv[1:]]
            entries = [os.fsencode(f"{name}={value}") for name, value in os.environ.items()]
            entries += [b"A=first", b"B=b", b"A=second"]
            def array(strings): return (ctypes.c_char_p * (len(strings) + 1))(*strings, None)
            ctypes.CDLL(None).execve(words[0], array(words), array(entries))
            """
        let result = try TestSupport.run(
            "python3", ["-c", script, Tool.commandPath, "run", "--env", "A=db/prod", "--", "cat", "/proc/self/environ"],
            environment: household.environment.merging(["PATH": "/usr/bin:/bin", "KEYFOB_NO_INPUT": "1"]) { $1 })
        let entries = result.output.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
        #expect(entries.filter { $0.hasPrefix("A=") || $0.hasPrefix("B=") } == ["A=canary-1", "B=b"], "\(result.stderr)")
    }

    @Test func `variables of the caller, of files and of options replace each other in this order`() throws {
        let one = try file("one.env", "B=one\nC=keyfob://db/prod\nD=one\nE=one # literal\n")
        let two = try file("two.env", "export C='two'\nD=two\n")
        let result = try run(
            ["--env-file", one, "--env-file", two, "--env", "D=my item"],
            ["sh", "-c", "echo \"$A,$B,$C,$D,$E,$F\""],
            environment: ["A": "keyfob://db/prod", "B": "keyfob://nothing", "F": "x keyfob://nothing"])
        #expect(result.output == "canary-1,one,two,two\nlines,one,x keyfob://nothing\n", "\(result.error)")
    }

    @Test(arguments: [[], ["--mask"]]) func `the program ignores the signals that the caller ignores`(more: [String]) throws {
        let ignored = "sed -n 's/^SigIgn:\\t*//p' /proc/self/status"
        func signals(_ command: String) throws -> UInt64 {
            let result = try TestSupport.run(
                "/bin/sh", ["-c", "trap '' PIPE XFSZ; \(command)", Tool.commandPath],
                environment: household.environment.merging(["PATH": "/usr/bin:/bin", "KEYFOB_NO_INPUT": "1"]) { $1 })
            let mask = try #require(UInt64(result.stdout.dropLast(), radix: 16), "\(result.stderr)")
            // glibc uses the signals from 32 on itself, and posix_spawn ignores two of them.
            return mask & 0x7fff_ffff
        }
        let options = (["--env", "A=db/prod"] + more).joined(separator: " ")
        let own = try signals(ignored)
        #expect(try signals("exec \"$0\" run \(options) -- \(ignored)") == own)
        #expect(own == 1 << UInt64(SIGPIPE - 1) | 1 << UInt64(SIGXFSZ - 1))
    }

    @Test func `the end of the program is seen though the caller blocks SIGCHLD`() throws {
        let script = "exec env --block-signal=CHLD \"$0\" run --mask --env A=db/prod -- sh -c 'exit 4'"
        let result = try TestSupport.run(
            "/bin/sh", ["-c", script, Tool.commandPath],
            environment: household.environment.merging(["PATH": "/usr/bin:/bin", "KEYFOB_NO_INPUT": "1"]) { $1 })
        #expect(result.status == 4, "\(result.stderr)")
    }

    @Test func `SIGTERM ends the wait for programs in the background that keep the output open`() throws {
        // The program in the background sends the signal when the other one has ended.
        let script = "sh -c 'while kill -0 $0; do sleep 0.1; done; kill $1; sleep 6173' $$ $PPID 2>/dev/null & exit 0"
        let result = try run(["--mask", "--env", "A=db/prod"], ["sh", "-c", script])
        #expect(result.status == 0, "\(result.error)")
        _ = try Tool("/usr/bin/pkill", ["-x", "-f", "sleep 6173"]).run()
    }

    @Test func `a file of variables may come through standard input`() throws {
        let result = try run(["--env-file", "-"], ["sh", "-c", "echo $A; cat"], input: "A=keyfob://db/prod")
        #expect(result.output == "canary-1\n")
    }

    @Test func `other variables reach the program byte for byte, and those of a PIN source do not`() throws {
        let script = "export ODD=\"$(printf 'a\\377b')\"; exec \"$0\" run --pin-source env:OURS --env A=db/prod -- env -0"
        let result = try TestSupport.run(
            "/bin/sh", ["-c", script, Tool.commandPath],
            environment: household.environment.merging(Machine.withoutTokens) { $1 }.merging([
                "PATH": "/usr/bin:/bin", "OURS": "sesame", "KEYFOB_PIN_SOURCE": "env:THEIRS", "THEIRS": "open",
                "KEYFOB_KEYCHAIN": "login", "KEYFOB_NO_INPUT": "1", "MULTI": "a\nb",
            ]) { $1 }, isWhole: true)
        let variables = result.output.split(separator: 0).map { Array($0) }
        let texts = variables.map { String(decoding: $0, as: UTF8.self) }
        #expect(variables.contains(Array("ODD=a".utf8) + [0xFF] + Array("b".utf8)), "\(result.stderr)")
        #expect(texts.contains("A=canary-1"))
        #expect(texts.contains("MULTI=a\nb"))
        #expect(texts.contains("KEYFOB_KEYCHAIN=login"))
        // The directory of the caller's SoftHSM, not that of the keychain.
        #expect(texts.contains("SOFTHSM2_CONF=" + (Machine.withoutTokens["SOFTHSM2_CONF"] ?? "")))
        #expect(!texts.contains { $0.hasPrefix("OURS=") || $0.hasPrefix("THEIRS=") || $0.hasPrefix("KEYFOB_PIN") })
    }

    /// Prints the mask, the ignored and blocked signals and the descriptors of the process.
    private static let state = """
        umask; grep -E '^Sig(Blk|Ign)' /proc/self/status; for d in /proc/self/fd/*; do readlink $d; done | grep -v '^/proc'
        """

    @Test(arguments: [[], ["--env", "A=db/prod"], ["--env", "A=db/prod", "--file", "FILE=db/prod"]])
    func `the program has the caller's mask, signals and descriptors`(options: [String]) throws {
        let link = household.directory.file("link")
        let words = options.map { $0.replacing("FILE", with: link) }
        let start = "trap '' USR1 HUP; umask 013; exec 7</dev/null; "
        let plain = try Tool("/bin/sh", ["-c", start + "exec sh -c \"$0\"", Self.state]).run()
        let result = try Tool(
            "/bin/sh", ["-c", start + "exec \"$@\"", "sh", Tool.commandPath, "run"] + words + ["--", "sh", "-c", Self.state],
            environment: household.environment
        ).run()
        func lines(_ text: String) -> [String] {
            // A child of posix_spawn(3) ignores the signals that glibc keeps for itself, 32 and 33.
            let own = /SigIgn:\t0000000[01][08]/
            return text.replacing(own, with: "SigIgn:").split(separator: "\n").map(String.init).filter {
                // The files of the streams have other names each time; the lock of --file is inherited on purpose.
                !$0.contains("keyfob-run-") && !$0.hasPrefix("pipe:")
            }
        }
        #expect(lines(result.output) == lines(plain.output), "\(result.error)")
        #expect(result.output.hasPrefix("0013\n"))
    }

    @Test(arguments: [
        (["sh", "-c", "exit 7"], 7), (["sh", "-c", "kill -TERM $$"], 143), (["sh", "-c", "kill -KILL $$"], 137),
        (["keyfob-no-such-program"], 127), (["/nonexistent/program"], 127), (["/etc/passwd"], 126), (["/etc"], 126),
        ([""], 127),
    ])
    func `the status is that of the program, or says why it did not start`(command: [String], status: Int) throws {
        for options in [[], ["--mask"], ["--file", household.directory.file("secret") + "=db/prod"]] {
            let result = try run(["--env", "A=db/prod"] + options, command)
            #expect(result.status == Int32(status), "\(options): \(result.error)")
            #expect(!FileManager.default.fileExists(atPath: household.directory.file("secret")))
        }
    }

    @Test(arguments: [
        ["run"], ["run", "true"], ["run", "--env", "A", "--", "true"], ["run", "--env", "=x", "--", "true"],
        ["run", "--env", "A B=db/prod", "--", "true"], ["run", "--env", "A=nothing", "--", "true"],
        ["run", "--env", "A=db/prod", "--env", "A=db/prod", "--", "true"], ["run", "--nonsense", "--", "true"],
        ["run", "--env-file", "/nonexistent", "--", "true"], ["run", "--env", "A=keyfob://db/prod?x=y", "--", "true"],
        ["run", "-k", "nothing", "--env", "A=db/prod", "--", "true"], ["run", "--file", "/etc/passwd=db/prod", "--", "true"],
        ["run", "--file", "/nonexistent/a=db/prod", "--", "true"],
    ])
    func `every failure of keyfob itself has status 125`(arguments: [String]) throws {
        let result = try household.keyfob(arguments)
        #expect(result.status == 125, "\(result.error)")
        #expect(result.output.isEmpty)
        #expect(result.error.hasPrefix("keyfob: "))
    }

    @Test func `a document says the status and the kind of failure`() throws {
        let missing = try household.failure(["run", "--", "keyfob-no-such-program"])
        #expect(missing.code == "program.not_found")
        #expect(missing.status == 127)
        let unknown = try household.failure(["run", "--env", "A=nothing", "--", "true"])
        #expect(unknown.code == "item.not_found")
        #expect(unknown.status == 125)
    }

    @Test func `an error in a file of variables names line and column`() throws {
        let path = try file("app.env", "A=1\n  B = keyfob://nothing\n")
        let result = try run(["--env-file", path], ["true"])
        #expect(result.error.hasPrefix("keyfob: app.env, line 2, column 7: no item \"nothing\""))
        let inherited = try run([], ["true"], environment: ["TOKEN": "keyfob://nothing"])
        #expect(inherited.status == 125)
        #expect(inherited.error.hasPrefix("keyfob: the variable TOKEN: no item \"nothing\""))
    }

    @Test func `a value with a zero byte cannot be a variable, but a file`() throws {
        try household.set("binary", "a\0b")
        let refused = try run(["--env", "A=binary"], ["true"])
        #expect(refused.status == 125)
        #expect(refused.error.contains("--file"))
        let path = household.directory.file("secret")
        #expect(try run(["--file", path + "=binary"], ["od", "-An", "-c", path]).output == "   a  \\0   b\n")
    }

    @Test func `a script without an interpreter line is run by the shell`() throws {
        let script = try file("script", "echo \"$A $1\"\n")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script)
        for options in [[], ["--file", household.directory.file("secret") + "=db/prod"]] {
            #expect(try run(["--env", "A=db/prod"] + options, [script, "x"]).output == "canary-1 x\n")
        }
    }

    @Test func `a missing program is reported before a PIN is asked for`() throws {
        let locked = try TestHome.withPassphrase("open sesame")
        let result = try locked.keyfob(["run", "--env", "A=db/prod", "--", "keyfob-no-such-program"])
        #expect(result.status == 127)
        #expect(try locked.keyfob(["run", "--env", "A=db/prod", "--", "true"]).status == 125)
    }

    @Test func `a dry run starts nothing, and says what it would start`() throws {
        let result = try household.keyfob(
            ["--json", "run", "--env", "A=db/prod", "--dry-run", "--", "sh", "-c", "echo ran"])
        let document = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
        #expect(document?["variables"] as? [String] == ["A"], "\(result.output)\(result.error)")
        #expect((document?["program"] as? String)?.hasSuffix("/sh") == true)
    }

    @Test func `one command unlocks once and reads each secret once`() throws {
        let locked = try TestHome.withPassphrase("open sesame")
        let log = locked.directory.file("log")
        let source = "cmd:echo asked >> \(log); echo 'open sesame'"
        for name in ["a", "b"] {
            let result = try locked.keyfob(["set", name, "--stdin", "--pin-source", source], input: Data("x".utf8))
            try #require(result.status == 0, "\(result.error)")
        }
        func decryptions(_ references: [String]) throws -> Int {
            try #require(locked.keyfob(["lock"]).status == 0)
            try Data().write(to: URL(fileURLWithPath: log))
            let options = references.enumerated().flatMap { ["--env", "V\($0.offset)=\($0.element)"] }
            let result = try locked.keyfob(["run", "-vv", "--pin-source", source] + options + ["--", "true"])
            try #require(result.status == 0, "\(result.error)")
            #expect(try String(contentsOfFile: log, encoding: .utf8) == "asked\n", "\(references)")
            return result.error.split(separator: "\n").count { $0.hasPrefix("keyfob: C_Decrypt ") }
        }
        let one = try decryptions(["a"])
        #expect(one > 0)
        #expect(try decryptions(["a", "keyfob://a", "keyfob://a?user=", "keyfob://a?keychain=login"]) == one)
        #expect(try decryptions(["keyfob://a?keychain=login", "a", "b"]) == one + 1)
    }
}
