import Foundation
import Glibc
import TestSupport
import Testing

/// Clients of `keyfob agent` that are wrong, slow, or many.
@Suite struct AgentClientTests {
    @Test func `garbage gets a failure or the end of the connection, and others are served`() throws {
        let output = try AgentHome().python(
            """
            import random
            random.seed(1)
            for length in [0, 256 * 1024 + 1, 2**32 - 1]:
                s = connect(); s.sendall(struct.pack(">I", length)); print(answer(s))
            s = connect()
            for body in [bytes([200]), bytes([13]), bytes([13]) + string(b"x"), bytes([18, 255, 255, 255, 255]), bytes([17]) + string(b"ssh-rsa")]:
                print(ask(s, body))
            print(ask(s, bytes([22]) + b"\\0\\0"), ask(s, bytes([27]) + string(b"other@example.org")))
            print(ask(s, LIST)[0])
            for _ in range(300):
                body = bytes([random.choice([11, 13, 17, 18, 22, 23, 25, 27])]) + random.randbytes(random.randrange(1, 60))
                assert ask(s, body) == bytes([5]), body
            for _ in range(50):
                t = connect(); t.sendall(random.randbytes(random.randrange(1, 100))); t.close()
            print(ask(s, bytes([13]) + string(bytes(200 * 1024)) + string(b"x") + bytes(4)))
            print(is_alive(), ask(s, LIST)[0])
            """)
        let lines = output.split(separator: "\n")
        #expect(lines.prefix(3) == ["None", "None", "None"], "\(output)")
        #expect(lines[3..<8].allSatisfy { $0 == "b'\\x05'" }, "\(output)")
        #expect(lines.dropFirst(8) == ["b'\\x05' b'\\x05'", "12", "b'\\x05'", "True 12"], "\(output)")
    }

    @Test func `slow clients and an open question keep no other client waiting`() throws {
        let home = try AgentHome()
        let askpass = try home.home.directory.writeProgram(
            "cd '\(home.home.directory.path)'; echo >>asked; until [ -e go ]; do sleep 0.1; done\n", to: "askpass")
        let output = try home.python(
            withAgent: "--ssh deploy --confirm",
            """
            half = connect(); half.sendall(b"\\0\\0\\0\\1")
            deaf = connect()
            deaf.settimeout(0.5)
            try:
                while True: deaf.sendall(frame(LIST) * 1000)
            except TimeoutError: pass
            signer, another = connect(), connect()
            for s in [signer, another]: s.sendall(frame(sign_request(key())))
            while not os.path.exists("asked"): time.sleep(0.05)
            print(is_alive())
            # One question at a time.
            print(len(open("asked").readlines()))
            open("go", "w").close()
            print(answer(signer)[0], answer(another)[0], len(open("asked").readlines()))
            # The rest of the message does not come.
            print(answer(half))
            """,
            environment: ["SSH_ASKPASS": askpass, "SSH_ASKPASS_REQUIRE": "force", "KEYFOB_NO_INPUT": "0"])
        #expect(output == "True\n1\n14 14 2\nNone\n")
    }

    @Test func `a question ends when its client goes`() throws {
        let home = try AgentHome()
        let askpass = try home.home.directory.writeProgram(
            "cd '\(home.home.directory.path)'; echo $$ >asked; exec sleep 600\n", to: "askpass")
        let output = try home.python(
            withAgent: "--ssh deploy --confirm",
            """
            s = connect(); s.sendall(frame(sign_request(key())))
            while not os.path.exists("asked") or not open("asked").read().endswith("\\n"): time.sleep(0.05)
            program = int(open("asked").read())
            s.close()
            while os.path.exists(f"/proc/{program}"): time.sleep(0.05)
            print(is_alive())
            """,
            environment: ["SSH_ASKPASS": askpass, "SSH_ASKPASS_REQUIRE": "force", "KEYFOB_NO_INPUT": "0"])
        #expect(output == "True\n")
    }

    @Test func `more connections than places disconnect the one that is idle longest`() throws {
        let output = try AgentHome().python(
            """
            first = connect(); ask(first, LIST)
            others = [connect() for _ in range(80)]
            print(is_alive(), sum(1 for s in others[40:] if ask(s, LIST)), answer(first))
            """)
        #expect(output == "True 40 None\n")
    }

    @Test func `many clients sign at once`() throws {
        let home = try AgentHome()
        try home.shell("keyfob key pub deploy --format ssh >deploy.pub")
        let output = try home.shell(
            withAgent: "--ssh deploy",
            """
            for n in $(seq 20); do
                echo $n >text$n; ssh-keygen -q -Y sign -f deploy.pub -n file text$n & jobs="${jobs:-} $!"
            done
            for job in $jobs; do wait $job; done
            printf 'a %s\\n' "$(cat deploy.pub)" >allowed
            for n in $(seq 20); do ssh-keygen -Y verify -f allowed -I a -n file -s text$n.sig <text$n; done
            """)
        #expect(output.split(separator: "\n").count == 20, "\(output)")
    }

    @Test func `a module that hangs fails one request and keeps no other client waiting`() throws {
        let (household, card) = try TestHome.withCard()
        try #require(
            try household.keyfob(["key", "generate", "deploy", "-k", "card"], environment: card).status == 0)
        try household.directory.write((AgentHome.python + """
            s = connect(); s.sendall(frame(sign_request(key())))
            start = time.monotonic()
            print(is_alive(), answer(s), time.monotonic() - start < 60)
            # A command would be ended three seconds after the call began.
            time.sleep(5)
            print(is_alive())
            """).utf8, to: "client.py")
        let result = try Tool(
            "/bin/sh",
            ["-c", "cd \"$1\"; exec \"$0\" agent -k card --ssh deploy --timeout 2 -- python3 client.py", Tool.commandPath, household.directory.path],
            environment: household.environment.merging(card) { $1 }.merging([
                "FAULTY_REFUSE": "hang=C_Sign", "KEYFOB_NO_INPUT": "1", "PATH": "/usr/bin:/bin",
            ]) { $1 }
        ).run()
        #expect(result.output == "True b'\\x05' True\nTrue\n", "\(result)")
        #expect(result.error.contains("key \"deploy\" cannot sign: C_Sign of the module"), "\(result)")
    }

    @Test func `no secret of the token is in the agent's environment, arguments or messages`() throws {
        let home = try AgentHome()
        try home.home.set("db/prod", "canary-7")
        let output = try home.python(
            """
            s = connect()
            answers = ask(s, LIST) + ask(s, sign_request(key())) + ask(s, bytes([27]) + string(b"query"))
            pid = os.environ["SSH_AGENT_PID"]
            for name in ["environ", "cmdline"]: answers += open(f"/proc/{pid}/{name}", "rb").read()
            pin = [open(os.path.join(d, f), "rb").read().strip() for d, _, fs in os.walk("home") for f in fs if f == "pin"]
            print(len(pin), any(p in answers for p in pin), b"canary" in answers)
            """)
        #expect(output == "1 False False\n")
    }
}
