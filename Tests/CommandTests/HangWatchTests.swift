import Foundation
import Glibc
import TestSupport
import Testing

@testable import KeyfobCLI

/// Commands beside a process that holds a lock on a file of SoftHSM, and does not release it.
@Suite struct HangWatchTests {
    /// A Python program that locks the file `$1`, creates the file `$2`, and holds the lock for `$3` seconds.
    private static let holder = """
        import fcntl, sys, time
        file = open(sys.argv[1], "r+b")
        fcntl.lockf(file, fcntl.LOCK_EX)
        open(sys.argv[2], "w").close()
        time.sleep(float(sys.argv[3]))
        """

    /// Runs the command while the lock on a file of the token is held, and returns whether the holder was still there.
    private func beside(_ file: String, _ household: TestHome, _ arguments: [String]) throws -> Tool.Result {
        let script = """
            place=$(find "$HOME/.local/share/keyfob/tokens" -name "$2" | head -n 1)
            python3 -c "$1" "$place" "$HOME/held" 300 </dev/null >/dev/null 2>&1 & holder=$!
            until [ -e "$HOME/held" ]; do sleep 0.01; done
            shift 2
            "$@" </dev/null; status=$?
            kill -0 $holder || exit 99
            kill -KILL $holder; rm "$HOME/held"
            exit $status
            """
        let command = [Tool.keyfob([]).path] + arguments
        return try Tool(
            "/bin/sh", ["-c", script, "sh", Self.holder, file] + command,
            environment: household.environment.merging(["KEYFOB_NO_INPUT": "1"]) { $1 }
        ).run()
    }

    @Test(arguments: [
        ["status"], ["get", "a"], ["get", "nosuch"], ["get", "a", "--quiet"], ["key", "generate", "k"],
        ["identity", "create", "web", "--cn", "web", "--self-signed"], ["keychain", "create", "other", "--unattended"],
    ])
    func `a lock that is never released ends the command, and takes nothing`(arguments: [String]) throws {
        let household = try TestHome.unattended()
        try household.set("a", "value")
        let result = try beside("token.object", household, arguments + ["--timeout", "0"])
        #expect(result.status == 13, "\(result)")
        #expect(result.error.contains("(python3) holds a lock") && result.error.contains("kill -CONT "), "\(result)")
        #expect(try household.keyfob(["get", "a"]).output == "value\n")
        #expect((try household.document(["key", "ls"])["keys"] as? [Any])?.isEmpty == true)
        #expect(try household.keyfob(["keychain", "create", "other", "--unattended"]).status == 0)
    }

    @Test func `the place of a recovery code that was not made stays free`() throws {
        let household = try TestHome.withPassphrase("open sesame")
        let code = household.directory.file("home/code")
        try household.directory.write("another sesame\n".utf8, to: "home/pass")
        #expect(unsafe chmod(household.directory.file("home/pass"), 0o600) == 0)
        let pass = "file:" + household.directory.file("home/pass")
        let words = ["keychain", "create", "other", "--recovery-file", code, "--pin-source", pass]
        let result = try beside("token.object", household, words + ["--timeout", "0"])
        #expect(result.status == 13 && !FileManager.default.fileExists(atPath: code), "\(result)")
        #expect(try household.keyfob(words).status == 0)
        #expect(try household.directory.read("home/code").count > 20)
    }

    @Test func `programs receive the error in their form`() throws {
        let household = try TestHome.unattended()
        let result = try beside("token.object", household, ["status", "--timeout", "0", "--json"])
        #expect(result.status == 13 && result.output.isEmpty)
        #expect(result.error.contains(#""code":"timeout""#) && result.error.contains(#""pid":""#), "\(result)")
    }

    @Test func `the completion of a line prints no error`() throws {
        let household = try TestHome.withPassphrase("open sesame")
        let words = ["---completion", "identity", "check", "--", "positional@0", "3", "0", "keyfob", "identity", "check"]
        let result = try beside("token.object", household, words + [""])
        #expect(result.status == 13 && result.error.isEmpty, "\(result)")
    }

    @Test func `a value that the user has typed is kept while the lock is waited for`() throws {
        let household = try TestHome.unattended()
        try household.set("x", "old")
        let script = """
            #!/bin/sh
            echo typed >"$1"
            place=$(find "$HOME/.local/share/keyfob/tokens" -name generation | head -n 1)
            cd "$HOME" && python3 -c '\(Self.holder)' "$place" held 8 </dev/null >/dev/null 2>&1 &
            until [ -e "$HOME/held" ]; do sleep 0.01; done
            """
        let editor = try household.directory.write(Array(script.utf8), to: "editor")
        let terminal = try PseudoTerminal()
        let start = "exec setsid --ctty --wait \"$@\" <\(terminal.path)"
        let edit = try Tool(
            "/bin/sh", ["-c", start, "sh", Tool.keyfob([]).path, "secret", "edit", "x", "--timeout", "1s"],
            environment: household.environment.merging(["EDITOR": "sh " + editor]) { $1 }
        ).run()
        #expect(edit.status == 0, "\(edit.error)")
        withExtendedLifetime(terminal) {}
        #expect(try household.keyfob(["get", "x"]).output == "typed\n")
    }

    @Test func `the holder is found among all the locks of a machine`() throws {
        let table = """
            1: POSIX  ADVISORY  WRITE 41 08:01:7 0 EOF
            2: FLOCK  ADVISORY  WRITE 9 08:01:8 0 EOF
            2: -> FLOCK  ADVISORY  WRITE 50 08:01:8 0 EOF
            3: POSIX  ADVISORY  READ 42 08:01:9 0 EOF
            3: -> POSIX  ADVISORY  WRITE 43 08:01:9 0 EOF
            3:  -> POSIX  ADVISORY  WRITE 50 08:01:9 0 EOF
            4: OFDLCK ADVISORY  READ -1 08:01:10 0 EOF
            4: -> POSIX  ADVISORY  WRITE 44 08:01:10 0 EOF

            """
        #expect(AwaitedLock.first(of: 50, in: table) == AwaitedLock(holder: 42, file: "08:01:9"))
        #expect(AwaitedLock.first(of: 44, in: table) == nil)
        #expect(AwaitedLock.first(of: 42, in: table) == nil)
    }
}
