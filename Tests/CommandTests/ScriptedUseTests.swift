import Foundation
import TestSupport
import Testing

/// Use in scripts: links for files, empty variables, the same command many times at once.
@Suite(.timeLimit(.minutes(30)))
struct ScriptedUseTests {
    // MARK: Files

    @Test func `a link as the output stays a link, and its target is written`() throws {
        let home = try IdentityHome()
        #expect(try home.keyfob("key", "generate", "k").status == 0)
        let key = try home.keyfob("key", "pub", "k").output
        try home.shell("echo old >file; ln -s file link; ln -s link second; ln -s new dangling; ln -s loop loop")
        for link in ["link", "second", "dangling"] {
            let result = try home.keyfob("key", "pub", "k", "-o", home.file(link))
            #expect(result.status == 0, "\(link): \(result.error)")
        }
        #expect(try home.shell("readlink link second dangling; cat file; cat new") == "file\nlink\nnew\n\(key)\(key)")
        #expect(try home.keyfob("key", "pub", "k", "-o", home.file("loop")).error.contains("symbolic links"))
        // Like /dev/stdout, which must not be used on the machine itself.
        try home.shell("ln -s /proc/self/fd/1 stdout")
        let keyfob = Tool.keyfob([]).path
        #expect(try home.shell("'\(keyfob)' key pub k -o stdout >out; test -L stdout; cat out") == key)
        #expect(try home.shell("'\(keyfob)' key pub k -o stdout | cat") == key)
        let appended = try home.shell("echo first >out; '\(keyfob)' key pub k -o stdout >>out; cat out")
        #expect(appended == "first\n" + key)
        // Keyfob has some of these itself.
        for number in 3...12 {
            let result = try home.keyfob("key", "pub", "k", "-o", "/dev/fd/\(number)")
            #expect(result.status == 12 && result.error.contains(">&\(number)"), "\(result.error)")
        }
        #expect(try home.keyfob("keychain", "check").status == 0)
        try home.shell("echo value | '\(keyfob)' set s --stdin")
        #expect(try home.shell("'\(keyfob)' get s -o stdout >out 2>error || true; test -L stdout; cat out").isEmpty)
        #expect(try home.shell("grep -c 'redirect' error") == "1\n")
        #expect(try home.shell("'\(keyfob)' get s -o link; test -L link; cat file; stat -c %a file") == "value600\n")
    }

    @Test func `a home that SoftHSM's configuration cannot name is refused, and not changed`() throws {
        let household = try TestHome()
        let home = household.directory.file("a=b")
        let failure = try household.failure(["init", "--unattended"], environment: ["HOME": home])
        #expect(failure.code == "argument.invalid" && failure.hint.contains("XDG_DATA_HOME"), "\(failure)")
        #expect(!FileManager.default.fileExists(atPath: household.directory.file("a")))
    }

    // MARK: Arguments

    @Test func `an option without its value does not take the next word`() throws {
        let household = try TestHome.unattended()
        for user in ["", "a"] { for name in ["a", "b"] { try household.set(name, "value", ["--user", user]) } }
        let removed = try household.document(["rm", "--yes", "--user=", "a"])
        #expect((removed["removed"] as? [[String: Any]])?.compactMap { $0["user"] as? String } == [""])
        #expect(try household.keyfob(["get", "a", "--user=a"]).status == 0)
        for name in ["a", "b"] { #expect(try household.keyfob(["get", name, "--user", "a"]).status == 0) }
        #expect(try household.keyfob(["rm", "--yes", "--user=", "--", "--user="]).status == 3)
    }

    @Test(arguments: [["--password", "hunter2", "set", "a"], ["--json", "-P", "hunter2", "get", "x"]])
    func `words after an unknown option are not repeated`(arguments: [String]) throws {
        let result = try TestHome().keyfob(arguments)
        #expect(result.status == 2 && !(result.error + result.output).contains("hunter2"), "\(result.error)")
    }

    @Test(arguments: [
        ["key", "generate", "k", "--type", "rsa", "--size", "100"], ["key", "generate", "pkcs11:object=k"],
        ["identity", "create", "pkcs11:object=k", "--cn", "a", "--self-signed"],
        ["identity", "create", "i", "--cn", "a", "--issuer", "nobody"],
    ]) func `a dry run refuses what the run would refuse`(arguments: [String]) throws {
        let household = try TestHome.unattended()
        let failure = try household.failure(arguments + ["--dry-run"])
        #expect(failure.status != 0)
        #expect(try household.failure(arguments).code == failure.code)
    }

    @Test func `no configuration is written into a directory without a name`() throws {
        let home = try IdentityHome()
        #expect(try home.keyfob("identity", "create", "web", "--cn", "web", "--self-signed").status == 0)
        #expect(try home.keyfob("uri", "web", "--for", "nginx", "--write", "").status == 2)
    }

    // MARK: Output

    @Test func `evaluated output sets no variable that shells use`() throws {
        let household = try TestHome.unattended()
        try household.set("q", "value", ["--server", "h", "--user", "u"])
        let lines = try household.keyfob(["secret", "show", "q", "--format", "env"]).output
        let script = "\(lines)\n/bin/echo \"$_PATH|$_USER|$SERVER\"; test -n \"$PATH\""
        let result = try Tool("/bin/sh", ["-euc", script], environment: ["PATH": "/bin", "USER": "me"]).run()
        #expect(result.output == "|u|h\n" && result.status == 0, "\(result.error)")
    }

    @Test func `a list without matches does not say that the keychain is empty`() throws {
        let household = try TestHome.unattended()
        #expect(try household.keyfob(["ls"]).error.contains("no passwords yet"))
        try household.set("a", "value")
        #expect(try household.keyfob(["ls", "--user", "nobody"]).error.isEmpty)
    }

    @Test func `an existing preference is not a change`() throws {
        let home = try IdentityHome()
        #expect(try home.keyfob("identity", "create", "web", "--cn", "web", "--self-signed").status == 0)
        for isChanged in [true, false] {
            let result = try home.keyfob("identity", "use", "web", "--service", "https://example.org", "--json")
            #expect(result.output.contains("\"changed\":\(isChanged)"), "\(result.output)\(result.error)")
        }
    }

    // MARK: At once

    @Test func `usages that several commands add are all stored`() async throws {
        let home = try IdentityHome()
        try home.makeWeb()
        for round in 0..<4 {
            // First with the certificate, then without.
            if round % 2 == 0 { _ = try home.keyfob("cert", "rm", "corp", "--yes", "--if-exists") }
            if round % 2 == 1 { _ = try home.keyfob("trust", "rm", "corp", "--yes") }
            let results = try await home.atOnce(
                ["server", "client", "email"].map {
                    ["trust", "add", home.file("root.pem"), "--name", "corp", "--for", $0]
                })
            #expect(results.map(\.status) == [0, 0, 0], "\(results.map(\.error))")
            let list = try home.keyfob("trust", "ls", "--format", "tsv").output
            for usage in ["server", "client", "email"] { #expect(list.contains(usage), "round \(round): \(list)") }
        }
    }

    @Test func `several commands that remove or import one item at once succeed if they allow it`() async throws {
        let home = try IdentityHome()
        try home.makeWeb()
        func four(_ arguments: String...) async throws {
            let results = try await home.atOnce(Array(repeating: arguments, count: 4))
            #expect(results.map(\.status) == [0, 0, 0, 0], "\(arguments): \(results.map(\.error))")
        }
        for _ in 0..<3 {
            try home.shell("echo value | '\(Tool.keyfob([]).path)' set s --stdin")
            try await four("rm", "s", "--yes", "--if-exists")
            try await four("cert", "import", home.file("root.pem"))
            try await four("cert", "rm", "Root", "--yes", "--if-exists")
            try await four("key", "generate", "k", "--if-missing")
            try await four("key", "rm", "k", "--yes", "--if-exists")
            try await four("identity", "create", "i", "--cn", "i", "--self-signed", "--if-missing")
            try await four("identity", "rm", "i", "--yes", "--if-exists")
        }
    }

    // MARK: Signals

    @Test(arguments: ["TERM", "HUP"]) func `an interrupted check leaves no program and no directory`(
        signal: String
    ) throws {
        let home = try IdentityHome()
        #expect(try home.keyfob("identity", "create", "web", "--cn", "web", "--self-signed").status == 0)
        let scratch = "/tmp/kc-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: scratch, withIntermediateDirectories: false)
        defer { _ = try? FileManager.default.removeItem(atPath: scratch) }  // It may be gone.
        // When the agent, which starts last, is there.
        let result = try home.shell(
            """
            '\(Tool.keyfob([]).path)' uri web --for ssh --check >/dev/null 2>error &
            check=$!
            for attempt in $(seq 600); do
                if ls $TMPDIR/*/agent >/dev/null 2>&1; then break; fi
                kill -0 $check 2>/dev/null || break
                sleep 0.1
            done
            ls $TMPDIR/*/agent >/dev/null 2>&1 || { cat error; exit 1; }
            kill -\(signal) $check
            wait $check || echo $?
            for attempt in $(seq 100); do
                [ -n "$(ls $TMPDIR)$(pgrep -f $TMPDIR)" ] || break
                sleep 0.1
            done
            ls $TMPDIR
            pgrep -af $TMPDIR || true
            """, environment: ["TMPDIR": scratch])
        #expect(result == (signal == "TERM" ? "143\n" : "129\n"), "\(result)")
    }
}
