import Foundation
import Glibc
import TestSupport
import Testing

/// The socket of `keyfob agent`, and its end.
@Suite struct AgentSocketTests {
    /// Starts an agent in the foreground with `socket` in the test's directory, and waits until it serves.
    private static let start = """
        start() { keyfob agent --ssh deploy --foreground --socket "$PWD/socket" >vars 2>errors & agent=$!
            until [ -s vars ]; do kill -0 $agent; sleep 0.05; done; . ./vars; }

        """

    @Test func `the socket is private, and the variables name it and the process`() throws {
        let output = try AgentHome().shell(
            withAgent: "--ssh deploy",
            """
            stat -c '%a %F' "$SSH_AUTH_SOCK" "$(dirname "$SSH_AUTH_SOCK")"
            tr '\\0' ' ' </proc/$SSH_AGENT_PID/cmdline; echo
            case $SSH_AUTH_SOCK in "$PWD"/run/keyfob/ssh-agent.*) echo yes ;; esac
            """)
        #expect(output.hasPrefix("600 socket\n700 directory\nkeyfob agent --ssh deploy"), "\(output)")
        #expect(output.hasSuffix("\nyes\n"), "\(output)")
    }

    @Test(arguments: ["TERM", "INT", "HUP"]) func `a signal ends the agent with status 0 and removes its socket`(signal: String) throws {
        let output = try AgentHome().shell(
            "start() { env --default-signal keyfob agent --ssh deploy --foreground --socket \"$PWD/socket\" >vars & agent=$!; }\n"
                + """
                start
                until [ -s vars ]; do kill -0 $agent; sleep 0.05; done; . ./vars
                ssh-add -L | wc -l; kill -\(signal) $agent; wait $agent; echo $?; ls -A | grep -c socket || true
                """)
        #expect(output == "1\n0\n0\n")
    }

    @Test func `ssh-agent ends an agent in the background`() throws {
        let output = try AgentHome().shell(
            """
            eval "$(keyfob agent --ssh deploy)"
            ssh-agent -k; while kill -0 $SSH_AGENT_PID 2>/dev/null; do sleep 0.05; done; ls run/keyfob
            """)
        #expect(output.hasPrefix("unset SSH_AUTH_SOCK;"), "\(output)")
        #expect(!output.contains("ssh-agent."), "\(output)")
    }

    @Test func `the socket that a killed agent leaves is replaced`() throws {
        let output = try AgentHome().shell(
            Self.start + """
                start; kill -KILL $agent; wait $agent || true
                test -S socket; ssh-add -L 2>/dev/null || echo $?
                rm vars; start; ssh-add -L | wc -l; kill $agent; wait $agent
                keyfob agent --ssh deploy >vars; . ./vars; kill -KILL $SSH_AGENT_PID
                while [ -e /proc/$SSH_AGENT_PID/exe ]; do sleep 0.05; done
                keyfob agent --ssh deploy -- sh -c 'ls run/keyfob | wc -l'
                """)
        #expect(output == "2\n1\n1\n")
    }

    @Test func `an agent does not take the place of another one or of a file`() throws {
        let home = try AgentHome()
        let output = try home.shell(
            Self.start + """
                start
                keyfob agent --ssh other --foreground --socket "$PWD/socket" 2>&1 || echo status $?
                ssh-add -L | cut -d' ' -f3; kill $agent; wait $agent
                echo content >file
                keyfob agent --ssh other --foreground --socket "$PWD/file" 2>&1 || echo status $?
                cat file; ls -A | grep '^[.]' || true
                """)
        #expect(output.contains("another process listens there"), "\(output)")
        #expect(output.contains("status 12\ndeploy\n"), "\(output)")
        #expect(output.contains("a file that is not a socket is there"), "\(output)")
        #expect(output.hasSuffix("status 12\ncontent\n"), "\(output)")
    }

    @Test func `an agent leaves a socket alone that has replaced its own`() throws {
        let output = try AgentHome().shell(
            Self.start + """
                start; first=$agent; rm socket vars; start; kill $first; wait $first
                ssh-add -L | wc -l; kill $agent; wait $agent
                """)
        #expect(output == "1\n")
    }

    @Test func `a directory that others can write, and a path that is too long, are refused`() throws {
        let home = try AgentHome()
        let open = try home.run("mkdir open; chmod 777 open; keyfob agent --ssh deploy --foreground --socket \"$PWD/open/s\"")
        #expect(open.status == 12, "\(open)")
        #expect(try home.shell("ls -A open").isEmpty)
        let long = try home.run("keyfob agent --ssh deploy --socket \"$PWD/$(printf %0100d 1)\" -- true")
        #expect(long.status == 125 && long.error.contains("too long for a socket"), "\(long)")
    }

    @Test func `a missing directory of the socket is made private`() throws {
        let output = try AgentHome().shell(
            "keyfob agent --ssh deploy --socket \"$PWD/new/dir/s\" -- sh -c 'stat -c %a new/dir; ssh-add -L | wc -l'")
        #expect(output == "700\n1\n")
    }

    /// Python that listens at `socket`, as systemd does, and replaces itself by the command that follows.
    private static let activation = """
        import os, socket, sys
        s = socket.socket(socket.AF_UNIX); s.bind("socket"); os.chmod("socket", int(sys.argv[1], 8)); s.listen(8)
        if s.fileno() != 3: os.dup2(s.fileno(), 3)
        os.set_inheritable(3, True)
        os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
        os.execvp(sys.argv[2], sys.argv[2:])
        """

    @Test func `an agent takes over the socket of systemd, and leaves its file`() throws {
        let home = try AgentHome()
        try home.home.directory.write(Self.activation.utf8, to: "activation.py")
        let output = try home.shell(
            """
            python3 activation.py 600 keyfob agent --ssh deploy >vars & agent=$!
            until [ -s vars ]; do kill -0 $agent; sleep 0.05; done; . ./vars
            ssh-add -L | wc -l; kill $agent; wait $agent; echo $?; test -S socket && echo left
            """)
        #expect(output == "1\n0\nleft\n")
        let wrong = try home.run(
            "LISTEN_FDS=1 sh -c 'export LISTEN_PID=$$; exec keyfob agent --ssh deploy' 3</dev/null")
        #expect(wrong.status == 2 && wrong.error.contains("not a local stream socket"), "\(wrong)")
    }

    @Test func `the socket of systemd serves the next agent after one has ended`() throws {
        let home = try AgentHome()
        try home.home.directory.write(
            """
            import os, socket, subprocess, sys
            listener = socket.socket(socket.AF_UNIX)
            listener.bind("socket")
            listener.listen(8)
            for turn in range(2):
                child = os.fork()
                if child == 0:
                    os.dup2(listener.fileno(), 3)
                    os.set_inheritable(3, True)
                    os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
                    os.execvp("keyfob", ["keyfob", "agent", "--ssh", "deploy", "--quiet"])
                # Waits until the agent serves it.
                listed = subprocess.run(["ssh-add", "-L"], env={**os.environ, "SSH_AUTH_SOCK": "socket"}, capture_output=True)
                print(len(listed.stdout.splitlines()), flush=True)
                os.kill(child, 15)
                print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
            """.utf8, to: "manager.py")
        #expect(try home.shell("python3 manager.py 2>errors | grep -v '^SSH_'") == "1\n0\n1\n0\n")
    }

    @Test func `an agent in the background ends if its caller has gone`() throws {
        let output = try AgentHome().shell(
            """
            sh -c 'keyfob agent --ssh deploy; echo $? >status' | true
            until [ -s status ]; do sleep 0.05; done; cat status
            ls run/keyfob | grep -c ssh-agent || true
            """)
        #expect(output == "141\n0\n")
    }

    @Test(.enabled(if: geteuid() == 0, "needs another user"))
    func `a process of another user is disconnected, whatever the mode of the socket is`() throws {
        let home = try AgentHome()
        try home.home.directory.write(Self.activation.utf8, to: "activation.py")
        try home.home.directory.write((AgentHome.python + "print(ask(connect(), LIST))").utf8, to: "client.py")
        let output = try home.shell(
            """
            chmod 755 .; chmod 644 client.py
            python3 activation.py 777 keyfob agent --ssh deploy >vars & agent=$!
            until [ -s vars ]; do kill -0 $agent; sleep 0.05; done; . ./vars; export SSH_AUTH_SOCK=$PWD/socket
            setpriv --reuid "nobody" --regid nogroup --clear-groups python3 client.py
            ssh-add -L | wc -l; kill $agent; wait $agent
            """)
        #expect(output == "None\n1\n")
    }

    @Test func `an agent in the background keeps none of its caller's files open`() throws {
        let home = try AgentHome()
        // The shell would wait for the end of a pipe that the agent has.
        let output = try home.shell(
            """
            vars=$(keyfob agent --ssh deploy 2>&1 9>&1); eval "$vars"; ssh-add -L | wc -l; kill $SSH_AGENT_PID
            """)
        #expect(output == "1\n")
    }

    @Test func `the document tells the socket, the process and the end`() throws {
        let home = try AgentHome()
        let output = try home.shell(
            """
            keyfob agent --ssh deploy --lifetime 1h --json >document
            python3 - <<'END'
            import json, os, signal
            d = json.load(open("document"))
            print(os.path.exists(d["socket"]), [k["name"] for k in d["keys"]], len(d["until"]), d["confirm"])
            os.kill(d["pid"], signal.SIGTERM)
            END
            """)
        #expect(output == "True ['deploy'] 20 False\n")
    }
}
