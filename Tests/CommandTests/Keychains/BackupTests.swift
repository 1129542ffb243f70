import Foundation
import TestSupport
import Testing

/// Backups that are restored, or that are beside the original where they cause errors.
@Suite struct BackupTests {
    @Test func `a copy of the vault's file is a complete backup`() throws {
        let household = try TestHome.unattended()
        try household.set("a", "value")
        let vault = try household.vault()
        let backup = try Data(contentsOf: URL(fileURLWithPath: vault))
        try household.set("b", "new")
        try backup.write(to: URL(fileURLWithPath: vault))
        #expect(try household.keyfob(["get", "a"]).output == "value\n")
        #expect(try household.keyfob(["keychain", "check", "--secrets"]).status == 0)
    }

    @Test(.enabled(if: Machine.canTrace), arguments: ["ftruncate", "fdatasync"])
    func `a kill during a commit leaves the vault as it was before or after the commit`(call: String) throws {
        let household = try TestHome.unattended()
        try household.set("a", "value")
        for when in 1...6 {
            let name = "\(call)\(when)"
            let kill = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=\(call):signal=SIGKILL:when=\(when)"]
            let command = kill + [Tool.keyfob([]).path, "set", name, "--stdin"]
            let result = try Tool(
                "/usr/bin/env", command, environment: household.environment, input: Data("new".utf8)
            ).run()
            #expect(try household.keyfob(["get", "a"]).output == "value\n")
            let found = try household.keyfob(["get", name])
            #expect(found.output == "new\n" || (found.status == 3 && result.status != 0), "\(name) \(found)")
            #expect(try household.keyfob(["keychain", "check", "--secrets"]).status == 0)
        }
    }

    @Test(.enabled(if: Machine.canTrace))
    func `if a process is stopped during a commit, others give up in time`() throws {
        let household = try TestHome.unattended()
        try household.set("a", "value")
        let script = """
            cd "$1"
            printf new | strace -f -o trace -e trace=fdatasync \
                -e inject=fdatasync:signal=SIGSTOP:when=1 "$KEYFOB" set b --stdin &
            until grep -q 'stopped by SIGSTOP' trace 2>/dev/null; do sleep 0.05; done
            for command in 'get a' 'status' 'set c --stdin'; do
                status=0
                printf new | timeout 60 "$KEYFOB" $command --timeout 0 >output 2>error || status=$?
                echo "$status $(head -n 1 error)"
            done
            kill -KILL $(awk '{ print $1 }' trace | sort -u) 2>/dev/null || true
            wait
            "$KEYFOB" get a
            "$KEYFOB" keychain check --secrets >check || cat check
            """
        let result = try Tool(
            "/bin/sh", ["-euc", script, "sh", household.directory.path],
            environment: household.environment.merging(["KEYFOB": Tool.keyfob([]).path, "KEYFOB_NO_INPUT": "1"]) { $1 }
        ).run()
        let lines = result.output.split(separator: "\n").map(String.init)
        try #require(lines.count == 4, "\(result)")
        // A reader gets its result or the error, depending on the lock that the stopped process holds.
        let busy = "13 keyfob: keychain \"login\" is in use by another process."
        #expect(["0 ", busy].contains(lines[0]), "\(result)")
        #expect(["0 ", busy].contains(lines[1]), "\(result)")
        #expect(lines[2] == busy, "\(result)")
        #expect(lines[3] == "value", "\(result)")
    }

    @Test func `a backup copy beside a token is reported by every keychain, and crashes no command`() throws {
        let household = try TestHome.unattended()
        try household.set("a", "value")
        let tokens = household.data + "/tokens"
        let own = try #require(try FileManager.default.contentsOfDirectory(atPath: tokens).first)
        try #require(household.keyfob(["keychain", "create", "other", "--unattended"]).status == 0)
        let backup = tokens + "/" + own + ".bak"
        try FileManager.default.copyItem(atPath: tokens + "/" + own, toPath: backup)
        let commands = [
            ["get", "a"], ["set", "b"], ["keychain", "check", "--secrets"], ["set", "b", "-k", "other"],
            ["keychain", "create", "third", "--unattended"],
        ]
        for arguments in commands {
            let failure = try household.failure(arguments, input: Data("x".utf8))
            #expect(failure.code == "token.ambiguous" && failure.status == 4, "\(arguments) \(failure)")
            #expect(failure.hint.contains(backup), "\(arguments) \(failure)")
        }
        try FileManager.default.moveItem(atPath: backup, toPath: household.data + "/" + own + ".bak")
        #expect(try household.keyfob(["get", "a"]).output == "value\n")
        #expect(try household.keyfob(["keychain", "create", "third", "--unattended"]).status == 0)
    }
}
