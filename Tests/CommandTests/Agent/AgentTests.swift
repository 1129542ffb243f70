import Foundation
import Glibc
import TestSupport
import Testing

@testable import KeyfobCLI

/// `keyfob agent`: which keys it serves, for how long, and with which consent.
@Suite struct AgentTests {
    // MARK: With a program

    @Test func `a program sees the keys that were named, and no others`() throws {
        let home = try AgentHome()
        let result = try home.shell("keyfob agent --ssh deploy -- ssh-add -L")
        let known = try home.shell("keyfob key pub deploy --format ssh")
        #expect(result == known)
        #expect(try home.shell("keyfob agent --ssh deploy --ssh other -- ssh-add -L").split(separator: "\n").count == 2)
        let fingerprint = try home.shell("keyfob key pub deploy --format ssh >k.pub; ssh-keygen -lf k.pub")
        #expect(try home.shell("keyfob agent --ssh deploy -- ssh-add -l") == fingerprint)
    }

    @Test func `a key that was not named does not sign`() throws {
        let home = try AgentHome()
        try home.shell("for k in deploy other; do keyfob key pub $k --format ssh >$k.pub; done; echo text >text")
        #expect(try home.run("keyfob agent --ssh deploy -- ssh-keygen -q -Y sign -f deploy.pub -n file text").status == 0)
        let refused = try home.run("keyfob agent --ssh deploy -- ssh-keygen -Y sign -f other.pub -n file <text")
        #expect(refused.status != 0 && refused.output.isEmpty, "\(refused)")
    }

    @Test(arguments: [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143), ("kill -KILL $$", 137)] as [(String, Int32)])
    func `the exit status is that of the program`(script: String, status: Int32) throws {
        let home = try AgentHome()
        let result = try home.run("keyfob agent --ssh deploy -- sh -c '\(script)'")
        #expect(result.status == status, "\(result)")
        #expect(try home.shell("ls run/keyfob").isEmpty)
    }

    @Test(arguments: [
        ("--ssh deploy -- /nonexistent", 127), ("--ssh deploy -- /etc/passwd", 126), ("--ssh missing -- true", 125),
        ("--ssh deploy --bad -- true", 125), ("--ssh missing", 3), ("--ssh deploy --foreground -- true", 125),
        ("", 2), ("--ssh deploy --lifetime 8", 2), ("--ssh deploy --lifetime 0", 2), ("--ssh deploy --confirm -y", 2),
    ] as [(String, Int32)])
    func `failures have the statuses of keyfob run, and nothing is left`(options: String, status: Int32) throws {
        let home = try AgentHome()
        let result = try home.run("keyfob agent \(options)")
        #expect(result.status == status, "\(result)")
        #expect(result.output.isEmpty)
        #expect(try home.run("ls run/keyfob").output.isEmpty)
    }

    @Test func `SIGTERM reaches the program, and the socket is removed`() throws {
        let home = try AgentHome()
        let result = try home.run(
            "keyfob agent --ssh deploy -- sh -c 'echo $SSH_AGENT_PID; kill $SSH_AGENT_PID; exec sleep 600'")
        #expect(result.status == 143, "\(result)")
        #expect(try home.shell("ls run/keyfob").isEmpty)
    }

    @Test func `a name that no key has is refused, with the command that lists keys`() throws {
        let home = try AgentHome()
        let result = try home.run("keyfob agent --ssh nothing -- true")
        #expect(result.error.contains("no key \"nothing\""), "\(result)")
        #expect(result.error.contains("keyfob key ls"), "\(result)")
    }

    @Test func `the name of an identity serves its key under that name`() throws {
        let home = try AgentHome()
        try home.shell("keyfob identity create web --self-signed --cn web >/dev/null")
        let list = try home.shell("keyfob agent --ssh web -- ssh-add -L")
        #expect(list.hasSuffix(" web\n") && list.split(separator: "\n").count == 1, "\(list)")
    }

    @Test func `a dry run names the keys and serves nothing`() throws {
        let home = try AgentHome()
        let document = try home.home.document(["agent", "--ssh", "deploy", "--dry-run"])
        #expect(document["socket"] is NSNull)
        #expect(document["pid"] is NSNull)
        #expect((document["keys"] as? [[String: Any]])?.map { $0["name"] as? String } == ["deploy"])
        #expect(try home.run("ls run/keyfob").output.isEmpty)
    }

    // MARK: Removing, adding, locking

    @Test func `ssh-add removes keys from the agent and not from the token`() throws {
        let home = try AgentHome()
        let output = try home.shell(
            withAgent: "--ssh deploy --ssh other",
            """
            keyfob key pub deploy --format ssh >deploy.pub
            ssh-add -d deploy.pub 2>&1; ssh-add -L | cut -d' ' -f3
            ssh-add -D 2>&1; ssh-add -L || echo $?
            keyfob agent --ssh deploy --ssh other -- ssh-add -L | wc -l
            """)
        #expect(output.contains("\nother\n"))
        #expect(output.contains("All identities removed.\nThe agent has no identities.\n1\n"), "\(output)")
        #expect(output.hasSuffix("\n2\n"), "\(output)")
    }

    @Test func `ssh-add cannot add keys or modules`() throws {
        let home = try AgentHome()
        let output = try home.shell(
            withAgent: "--ssh deploy",
            """
            ssh-keygen -q -t ed25519 -N '' -f new
            ssh-add new 2>&1 || echo status $?
            ssh-add -c -t 60 new 2>&1 || echo status $?
            ssh-add -s /usr/lib/softhsm/libsofthsm2.so </dev/null 2>&1 || echo status $?
            ssh-add -L | wc -l
            """)
        #expect(output.contains("agent refused operation"), "\(output)")
        #expect(output.components(separatedBy: "status 1").count == 4, "\(output)")
        #expect(output.hasSuffix("\n1\n"), "\(output)")
    }

    @Test func `ssh-add locks and unlocks the agent`() throws {
        let home = try AgentHome()
        let askpass = try home.home.directory.writeProgram("cat \"$PASSPHRASE\"\n", to: "askpass")
        try home.home.directory.write("right\n".utf8, to: "right")
        try home.home.directory.write("wrong\n".utf8, to: "wrong")
        let output = try home.shell(
            withAgent: "--ssh deploy",
            """
            add() { PASSPHRASE=$PWD/$1 ssh-add "$2" 2>&1 </dev/null || echo status $?; }
            add right -x; add right -l; add wrong -X; add right -l; add right -X; add right -L
            """, environment: ["SSH_ASKPASS": askpass, "SSH_ASKPASS_REQUIRE": "force"])
        let lines = output.split(separator: "\n").map(String.init)
        #expect(lines.prefix(3) == ["Agent locked.", "The agent has no identities.", "status 1"], "\(output)")
        #expect(lines.dropFirst(3).first?.contains("Failed to unlock agent") == true, "\(output)")
        #expect(lines.suffix(2).first == "Agent unlocked.", "\(output)")
        #expect(lines.last?.hasPrefix("ecdsa-sha2-nistp256 ") == true, "\(output)")
    }

    @Test func `a label with control characters is one line of a list`() throws {
        let home = try AgentHome()
        let output = try home.shell(
            """
            label=$(printf 'x\\nssh-ed25519 AAAA evil')
            keyfob key generate "$label" >/dev/null
            keyfob agent --ssh "$label" -- ssh-add -L
            """)
        #expect(output.split(separator: "\n").count == 1, "\(output)")
        #expect(output.hasSuffix(" x\\nssh-ed25519 AAAA evil\n"), "\(output)")
    }

    // MARK: Lifetime and consent

    @Test func `keys vanish at the end of the lifetime, and the agent stays`() throws {
        let home = try AgentHome()
        let output = try home.shell(
            withAgent: "--ssh deploy --lifetime 10s",
            """
            ssh-add -L | wc -l
            while ssh-add -L >/dev/null; do sleep 0.1; done
            ssh-add -L || echo status $?
            """)
        #expect(output == "1\nThe agent has no identities.\nstatus 1\n")
    }

    /// Options that sign a file with the key `deploy`.
    private static let sign = "ssh-keygen -q -Y sign -f deploy.pub -n file text"

    @Test(arguments: [("exit 0", 0), ("echo yes", 0), ("echo no", 255), ("exit 1", 255), ("kill $$", 255)] as [(String, Int32)])
    func `the program of SSH_ASKPASS decides about each use`(answer: String, status: Int32) throws {
        let home = try AgentHome()
        // The shell would take the name for an assignment.
        let askpass = try home.home.directory.writeProgram(
            "printf '%s|' \"$SSH_ASKPASS_PROMPT\" \"$@\" >>asked\n\(answer)\n", to: "ask=pass")
        try home.shell("keyfob key pub deploy --format ssh >deploy.pub; echo text >text")
        let result = try home.run(
            "keyfob agent --ssh deploy --confirm -- sh -c 'ssh-add -L >/dev/null; \(Self.sign)'",
            environment: ["SSH_ASKPASS": askpass, "SSH_ASKPASS_REQUIRE": "force", "KEYFOB_NO_INPUT": "0"])
        #expect(result.status == status, "\(result)")
        let asked = String(decoding: try home.home.directory.read("asked"), as: UTF8.self)
        let fingerprint = try home.shell("ssh-keygen -lf deploy.pub | cut -d' ' -f2").split(separator: "\n")[0]
        // Listing keys asks nothing.
        #expect(asked == "confirm|Allow use of key deploy?\nKey fingerprint \(fingerprint).|")
    }

    @Test(arguments: ["--foreground", "-- true", ""])
    func `confirmation that cannot be asked for is refused at the start`(rest: String) throws {
        let home = try AgentHome()
        let result = try home.run("keyfob agent --ssh deploy --confirm \(rest)", environment: ["KEYFOB_NO_INPUT": "0"])
        #expect(result.status == (rest.hasPrefix("--foreground") || rest.isEmpty ? 12 : 125), "\(result)")
        #expect(result.error.contains("SSH_ASKPASS"), "\(result)")
    }

    @Test(arguments: [("y", "signed"), ("n", "refused"), ("", "refused")])
    func `without a program that asks, the terminal does`(answer: String, end: String) throws {
        let home = try AgentHome()
        try home.shell("keyfob key pub deploy --format ssh >deploy.pub; echo text >text")
        let terminal = try PseudoTerminal()
        let script = "cd \"$0\"; keyfob agent --ssh deploy --confirm -- \(Self.sign) 2>/dev/null && echo sig''ned || echo ref''used"
        let process = try terminal.start(
            ["/bin/sh", "-c", script, home.home.directory.path],
            environment: home.environment.merging(["KEYFOB_NO_INPUT": "0"]) { $1 })
        let question = terminal.output(until: "[y/N] ")
        #expect(question.contains("Allow use of key deploy?"), "\(question)")
        terminal.type(answer + "\n")
        #expect(terminal.output(until: end).hasSuffix(end))
        _ = process.wait(timeout: 60)
    }

    @Test func `a passphrase is asked for before the agent leaves the terminal`() throws {
        let household = try TestHome.withPassphrase("correct horse")
        try #require(try household.keyfob(
            ["key", "generate", "deploy", "--pin-source", "env:PASS"], environment: ["PASS": "correct horse"]
        ).status == 0)
        _ = try household.keyfob(["lock"])
        let terminal = try PseudoTerminal()
        let script = """
            eval "$("$0" agent --ssh deploy)" && ssh-add -L && ps -o tty= -p $SSH_AGENT_PID | tr -d " " && kill $SSH_AGENT_PID
            echo do''ne
            """
        let process = try terminal.start(
            ["/bin/sh", "-c", script, Tool.commandPath],
            environment: household.environment.merging(["PATH": "/usr/bin:/bin"]) { $1 })
        _ = terminal.output(until: ": ")
        terminal.type("correct horse\n")
        let rest = terminal.output(until: "done")
        #expect(rest.contains("ecdsa-sha2-nistp256 "), "\(rest)")
        // No controlling terminal.
        #expect(rest.contains("?\r\ndone"), "\(rest)")
        _ = process.wait(timeout: 60)
    }

    @Test func `an agent in the background reads its PIN from a descriptor or a variable`() throws {
        let household = try TestHome.withPassphrase("correct horse")
        try #require(try household.keyfob(
            ["key", "generate", "deploy", "--pin-source", "env:PASS"], environment: ["PASS": "correct horse"]
        ).status == 0)
        for (source, start) in [("fd:7", "7<<END\ncorrect horse\nEND\n"), ("env:PASS", ""), ("stdin", "<<END\ncorrect horse\nEND\n")] {
            _ = try household.keyfob(["lock"])
            let script = """
                cd "$1"; "$0" agent --ssh deploy --pin-source \(source) >vars \(start)
                . ./vars; ssh-add -L; cat /proc/$SSH_AGENT_PID/environ | tr '\\0' '\\n' | grep -c horse; kill $SSH_AGENT_PID
                """
            let result = try Tool(
                "/bin/sh", ["-c", script, Tool.commandPath, household.directory.path],
                environment: household.environment.merging(["KEYFOB_NO_INPUT": "1"]) { $1 }
                    .merging(source == "env:PASS" ? ["PASS": "correct horse"] : [:]) { $1 }
            ).run()
            #expect(result.output.hasPrefix("ecdsa-sha2-nistp256 "), "\(source): \(result)")
            #expect(result.output.hasSuffix("\n0\n"), "\(source): \(result)")
        }
    }
}
