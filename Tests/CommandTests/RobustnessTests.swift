import Foundation
import TestSupport
import Testing

/// Commands in unfavourable environments.
@Suite struct RobustnessTests {
    @Test(arguments: ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
    func `with standard streams closed nothing is written into another file`(redirection: String) throws {
        let home = try IdentityHome()
        for command in ["token ls", "get nope", "key show nope", "token show login"] {
            try home.shell(
                "\"$KEYFOB\" \(command) \(redirection) || true", environment: ["KEYFOB": Tool.keyfob([]).path])
        }
        // The output of the commands, in any file of the keychain.
        #expect(try home.shell("grep -rlE 'keyfob: |nope|TOKEN  ' home run || true") == "")
        #expect(try home.keyfob("status").status == 0)
    }

    @Test(arguments: ["token ls", "get a", "--version"])
    func `a closed standard output is an error`(command: String) throws {
        let home = try IdentityHome()
        #expect(try Tool.keyfob(["set", "a", "--stdin"], environment: home.environment, input: Data("x".utf8)).run().status == 0)
        let text = try home.shell(
            "\"$KEYFOB\" \(command) 2>message >&- || echo $?; cat message",
            environment: ["KEYFOB": Tool.keyfob([]).path])
        #expect(text.hasPrefix("1\n"))
        #expect(text.contains("Bad file descriptor"))
    }

    @Test func `a closed standard input is not an empty secret`() throws {
        let home = try IdentityHome()
        let text = try home.shell(
            "\"$KEYFOB\" set a --stdin --allow-empty <&- 2>message || echo $?",
            environment: ["KEYFOB": Tool.keyfob([]).path])
        #expect(text == "1\n")
        #expect(try home.keyfob("get", "a").status == 3)
    }

    @Test func `streams that do not block are waited for`() throws {
        let home = try IdentityHome()
        let script = """
            import os, subprocess, sys, time
            keyfob, size = os.environ["KEYFOB"], 300000
            r, w = os.pipe(); os.set_blocking(r, False)
            p = subprocess.Popen([keyfob, "set", "big", "--stdin"], stdin=r); os.close(r); time.sleep(.3)
            os.write(w, b"a" * 1000); time.sleep(.3)
            done = 1000
            while done < size: done += os.write(w, b"a" * min(65536, size - done))
            os.close(w); print(p.wait())
            r, w = os.pipe(); os.set_blocking(w, False)
            p = subprocess.Popen([keyfob, "get", "big", "-n"], stdout=w); os.close(w); time.sleep(.5)
            n = 0
            while True:
                b = os.read(r, 65536)
                if not b: break
                n += len(b)
            print(p.wait(), n)
            """
        _ = try home.directory.write(Array(script.utf8), to: "streams.py")
        let text = try home.shell("python3 streams.py", environment: ["KEYFOB": Tool.keyfob([]).path])
        #expect(text.hasSuffix("0\n0 300000\n"), "\(text)")
    }

    @Test(arguments: [
        "init --unattended -q", "ls", "set b --from-env V --replace", "rm a -y", "keychain check",
        "keychain check --secrets --progress always", "secret generate c",
    ])
    func `a command ends if the user may have no more threads`(command: String) throws {
        let home = try IdentityHome()
        // Root has no such limit, and another user cannot read root's files.
        let isRoot = geteuid() == 0
        let preparation = command.hasPrefix("init")
            ? "" : "$other \"$KEYFOB\" init --unattended -q; $other \"$KEYFOB\" set a --from-env V -q"
        let text = try home.shell(
            """
            export HOME="$PWD/unprivileged" V=v; unset XDG_RUNTIME_DIR; mkdir unprivileged
            other=; \(isRoot ? "chown 65534 unprivileged; chmod 755 .; other='/usr/bin/setpriv --reuid 65534 --clear-groups'" : "")
            \(preparation)
            $other /usr/bin/prlimit --nproc=1 "$KEYFOB" \(command) >output || echo $?
            $other "$KEYFOB" keychain check >output
            """, environment: ["KEYFOB": Tool.keyfob([]).path])
        #expect(text == "")
    }

    @Test func `a library that ends the process is not reported as a wrong PIN`() throws {
        let home = try IdentityHome()
        _ = try home.shell("printf v | \"$KEYFOB\" set a --stdin", environment: ["KEYFOB": Tool.keyfob([]).path])
        // The length of the wrapping key's label becomes a terabyte: SoftHSM gets no memory, and calls exit(5).
        let text = try home.shell(
            """
            file=$(ls home/.local/share/keyfob/tokens/*/*.object | grep -v token.object)
            printf '\\001' | dd of="$file" bs=1 seek=84 conv=notrunc 2>/dev/null
            "$KEYFOB" lock -q || true
            "$KEYFOB" get a 2>&1 || echo $?
            """, environment: ["KEYFOB": Tool.keyfob([]).path])
        #expect(text.contains("has ended the process") && text.hasSuffix("\n1\n"), "\(text)")
    }

    @Test(arguments: ["get a", "ls", "status"])
    func `too few descriptors are an error and not a crash`(command: String) throws {
        let home = try IdentityHome()
        let text = try home.shell(
            "sh -c 'ulimit -n 5; exec \"$KEYFOB\" \(command)' 2>message || echo $?; cat message",
            environment: ["KEYFOB": Tool.keyfob([]).path])
        #expect(text.hasPrefix("1\nkeyfob: too few files can be opened"), "\(text)")
    }

    @Test func `a limit of the size of files is an error, and does not affect child programs`() throws {
        let home = try IdentityHome()
        try #require(home.keyfob("identity", "create", "web", "--self-signed", "--cn", "web").status == 0)
        let text = try home.shell(
            "{ sh -c 'ulimit -f 0; exec \"$KEYFOB\" key generate k 2>&1' || echo $?; } | cat",
            environment: ["KEYFOB": Tool.keyfob([]).path])
        #expect(text.contains("File too large") && text.hasSuffix("\n1\n"), "\(text)")
        #expect(try home.keyfob("keychain", "check").status == 0)
        let renewal = try home.keyfob(
            "identity", "renew", "web", "--force", "--exec", "grep SigIgn /proc/self/status >\(home.file("ignored"))")
        #expect(renewal.status == 0, "\(renewal.error)")
        let mask = try home.shell("cut -f 2 ignored").dropLast()
        #expect(UInt64(mask, radix: 16).map { $0 & 1 << (UInt64(SIGXFSZ) - 1) } == 0, "\(mask)")
    }

    @Test func `a refused name is not printed first`() throws {
        let home = try IdentityHome()
        let result = try home.keyfob("keychain", "create", "--unattended", "\u{1B}[2J")
        #expect(result.status == 2)
        #expect(result.output.isEmpty)
        #expect(!result.error.contains("\u{1B}"))
    }

    @Test func `an option is offered only if it helps`() throws {
        let home = try IdentityHome()
        try home.shell("chmod 644 home/.local/share/keyfob/keychains/login/keychain.json")
        let refused = try home.keyfob("get", "a", "--insecure-file")
        #expect(refused.status == 12)
        #expect(!refused.error.contains("--insecure-file"))
        try home.shell("chmod 600 home/.local/share/keyfob/keychains/login/keychain.json; chmod 644 pass")
        let offered = try home.keyfob("unlock", "--pin-source", "file:" + home.file("pass"))
        #expect(offered.status == 12)
        #expect(offered.error.contains("--insecure-file"))
    }

    @Test func `every private key of a PEM file is imported`() throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("a")
        try home.makeSelfSigned("b")
        try home.shell("cat a.pem b.pem a.key b.key > both.pem")
        #expect(try home.keyfob("identity", "import", home.file("both.pem")).status == 0)
        let names = try home.keyfob("identity", "ls", "--format", "tsv").output.split(separator: "\n").dropFirst()
        #expect(names.map { $0.prefix { $0 != "\t" } } == ["a", "b"])
    }

    @Test func `a second identity of a name is refused, and the error names existing options`() throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("a")
        try home.makeSelfSigned("b")
        let arguments = ["--key", home.file("a.key"), "--cert", home.file("a.pem"), "--name", "same"]
        #expect(try Tool.keyfob(["identity", "import"] + arguments, environment: home.environment).run().status == 0)
        let second = try home.keyfob(
            "identity", "import", "--key", home.file("b.key"), "--cert", home.file("b.pem"), "--name", "same")
        #expect(second.status == 4)
        #expect(!second.error.contains("--if-missing"))
        let renamed = try home.keyfob(
            "identity", "import", "--key", home.file("a.key"), "--cert", home.file("a.pem"), "--name", "other")
        #expect(renamed.status == 4 && renamed.error.contains("the certificate of a.pem is"), "\(renamed.error)")
    }

    @Test func `an argument or a directory that is not UTF-8 is refused, and nothing is made of it`() throws {
        let home = try IdentityHome()
        try home.shell(#"mkdir odd; cd odd; printf 'XDG_DATA_HOME=%s/d\377' "$PWD" >variable"#)
        let program = Tool.keyfob([]).path
        for script in [
            #"env "$(cat odd/variable)" "$0" init --unattended -k odd"#, #"env HOME="$(printf '/h\377')" "$0" ls"#,
            #"env KEYFOB_KEYCHAIN="$(printf 'k\377')" "$0" ls"#, #""$0" get "$(printf 'n\377')""#,
        ] {
            let result = try Tool(
                "/bin/sh", ["-c", "cd \"$1\"; " + script, program, home.directory.path], environment: home.environment
            ).run()
            #expect(result.status == 2 && result.error.contains("is not valid UTF-8"), "\(script): \(result.error)")
        }
        #expect(try home.shell("ls odd") == "variable\n")
        // Values may be any bytes.
        let value = try Tool(
            "/bin/sh", ["-c", #"VALUE="$(printf 'v\377')" "$0" set bytes --from-env VALUE && "$0" get bytes | od -An -tx1"#, program],
            environment: home.environment
        ).run()
        #expect(value.output.hasSuffix(" 76 ff\n"), "\(value.output)\(value.error)")
    }

    @Test(arguments: [SIGSEGV, SIGABRT, SIGTRAP])
    func `a crash ends the command at once, and shows nothing of its memory`(number: Int32) throws {
        let home = try IdentityHome()
        #expect(try home.keyfob("lock").status == 0)
        let script = """
            cd "$1"
            "$0" get a --pin-source 'cmd:touch started; exec sleep 20' 2>error &
            until [ -e started ]; do sleep 0.01; done
            kill -\(number) $!
            status=0; wait $! || status=$?
            echo $status; cat error
            """
        // The shell's message about a killed child is not in the child's file.
        let result = try Tool(
            "/bin/sh", ["-c", script, Tool.keyfob([]).path, home.directory.path], environment: home.environment
        ).run()
        #expect(result.output == "\(128 + number)\n", "\(result.error)")
    }

    @Test func `only one of several commands that generate a key with one name at once succeeds`() async throws {
        let home = try IdentityHome()
        for round in 0..<3 {
            let results = try await home.atOnce(Array(repeating: ["key", "generate", "k\(round)"], count: 4))
            #expect(results.map(\.status).sorted() == [0, 4, 4, 4], "\(results.map(\.error))")
        }
        let results = try await home.atOnce(Array(repeating: ["key", "generate", "m", "--if-missing"], count: 4))
        #expect(results.map(\.status) == [0, 0, 0, 0], "\(results.map(\.error))")
        let list = try home.keyfob("key", "ls", "--format", "tsv").output.split(separator: "\n")
        #expect(list.filter { $0.hasPrefix("m\t") }.count == 1)
    }

    @Test func `a removal at the same time does not lose a replacement`() async throws {
        let home = try IdentityHome()
        for _ in 0..<8 {
            let results = try await home.atOnce(
                [["set", "a", "--replace", "--stdin"], ["rm", "a", "--yes", "--if-exists"]], input: "x")
            #expect(results.allSatisfy { $0.status == 0 }, "\(results.map(\.error))")
        }
    }

    @Test func `commands that log in at once all find the token`() async throws {
        let home = try IdentityHome()
        // Each unlocks again, so that SoftHSM rewrites its token's file repeatedly while others read it.
        for _ in 0..<4 {
            let results = try await home.atOnce(Array(repeating: ["unlock"], count: 6))
            #expect(results.allSatisfy { $0.status == 0 }, "\(results.map(\.error))")
        }
    }

    @Test func `the command of a PIN source runs no longer than --timeout allows`() throws {
        let home = try IdentityHome()
        #expect(try home.keyfob("lock").status == 0)
        let started = Date()
        let result = try home.keyfob("get", "a", "--pin-source", "cmd:sleep 250", "--timeout", "1s")
        #expect(result.status == 13 && Date().timeIntervalSince(started) < 120, "\(result.error)")
    }

    @Test(arguments: ["create", "install", "renew"])
    func `an identity is whole, even if the command that changes it is killed at any moment`(verb: String) throws {
        let home = try IdentityHome()
        #expect(try home.keyfob("identity", "create", "web", "--dns", "web.example", "--self-signed").status == 0)
        if verb == "install" {
            try home.shell(
                """
                openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.pem -days 9 -subj /CN=ca 2>/dev/null
                """)
        }
        for round in 0..<12 {
            let name = verb == "renew" ? "web" : "id\(round)"
            if verb == "install" {
                try home.shell(
                    """
                    keyfob() { '\(Tool.keyfob([]).path)' "$@"; }
                    keyfob key generate \(name) -q; keyfob key csr \(name) --cn \(name) -o own.csr -q --force
                    openssl x509 -req -in own.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 9 -out \(name).pem 2>/dev/null
                    """)
            }
            let command: [String] = switch verb {
            case "create": ["identity", "create", name, "--cn", name, "--self-signed"]
            case "install": ["identity", "install", name, "--cert", home.file(name + ".pem")]
            default: ["identity", "renew", name, "--force"] + (round % 2 == 0 ? ["--new-key"] : [])
            }
            // The kills cover the time from before the first change to after the last.
            let time = String(format: "%.3f", 0.02 * Double(round + 1))
            _ = try Tool(
                "/usr/bin/timeout", ["-s", "KILL", time, Tool.keyfob([]).path] + command, environment: home.environment
            ).run()
            if verb == "renew" {
                // The old or the new identity can serve.
                let own = try home.keyfob("identity", "ls", "--format", "tsv").output.split(separator: "\n")
                #expect(own.filter { $0.hasPrefix("web\t") }.count == 1)
            } else {
                let again = try Tool.keyfob(
                    command + (verb == "create" ? ["--if-missing"] : []), environment: home.environment
                ).run()
                #expect(again.status == 0, "\(again.error)")
            }
            let check = try home.keyfob("identity", "check", name)
            #expect(check.status == 0, "round \(round): \(check.output)\(check.error)")
        }
        // The kills have left nothing but objects that SoftHSM had not written to the end, which a check reports.
        let check = try home.keyfob("keychain", "check", "--repair", "--yes", "--json")
        let document = try #require(
            try JSONSerialization.jsonObject(with: Data(check.output.utf8)) as? [String: Any], "\(check.error)")
        let findings = try #require(document["findings"] as? [[String: Any]])
        #expect(Set(findings.compactMap { $0["code"] as? String }).isSubset(of: ["object.unreadable"]), "\(check.output)")
    }

    @Test func `if init is killed at any moment the next one succeeds`() async throws {
        let directory = try TemporaryDirectory()
        for round in 0..<12 {
            let home = directory.file("home\(round)")
            try FileManager.default.createDirectory(
                atPath: home, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
            let environment = ["HOME": home, "XDG_RUNTIME_DIR": home, "KEYFOB_NO_INPUT": "1"]
            _ = try Tool(
                "/usr/bin/timeout",
                ["-s", "KILL", "0.\(String(round + 102).dropFirst())", Tool.keyfob([]).path, "init", "--unattended"],
                environment: environment
            ).run()
            let again = try Tool.keyfob(["init", "--unattended"], environment: environment).run()
            #expect(again.status == 0, "\(again.error)")
            let status = try Tool.keyfob(["get", "nothing"], environment: environment).run()
            #expect(status.status == 3, "\(status.error)")
        }
    }
}
