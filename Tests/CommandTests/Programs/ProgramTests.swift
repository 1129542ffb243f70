import Foundation
import Glibc
import Keyfob
import KeyfobPrimitives
import TestSupport
import Testing

@testable import KeyfobCLI

/// Every program that `--for` supports, started with a key made on the token and with an imported one.
@Suite("Programs that use a key on the token", .enabled(if: OpenSSLEngine.path != nil, "OpenSSL's pkcs11 engine is not installed"))
struct ProgramTests {
    /// The content of each proof: the protocol, or the completed action.
    private static let proofs = [
        "curl": "TLSv1.3", "openssl": "TLSv1.3", "nginx": "TLSv1.3", "httpd": "TLSv1.3", "postgresql": "TLSv1.3",
        "gnutls": "TLSv1.3", "ssh": "client and agent", "java": "listed under its label; signed a request",
        "nss": "TLSv1.3",
    ]

    @Test("each program uses the key, generated or imported", arguments: ["ec", "rsa"])
    func proofs(keyType: String) throws {
        let home = try ServingHome(keyType: keyType)
        for program in Programs.names where program != "haproxy" && program != "ssh" {
            try prove(program, keyType, home)
        }
    }

    @Test("OpenSSH's client and agent use the key, generated or imported", arguments: ["ec", "rsa"])
    func openSSH(keyType: String) throws {
        try prove("ssh", keyType, ServingHome(keyType: keyType, keepsUser: true))
    }

    private func prove(_ program: String, _ keyType: String, _ home: ServingHome) throws {
        for name in ["generated", "imported"] {
            let result = try home.run("./keyfob uri \(name) --for \(program) --check --json")
            #expect(result.status == 0, "\(program), \(keyType), \(name): \(result.error)")
            guard result.status == 0 else { continue }
            let document = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
            let proof = document?["check"] as? String
            let signs = program == "nss" && (keyType == "rsa" || !Machine.hasIPv6)
            let wanted = signs ? "signed a request" : Self.proofs[program]
            #expect(try proof?.contains(#require(wanted)) == true, "\(program) \(keyType): \(proof ?? "-")")
        }
        // No process and no directory of the checks is left.
        #expect(try home.shell("ls -d keyfob-* 2>/dev/null || true") == "")
        #expect(try home.shell("pgrep -f \"$PWD/keyfob-\" || true") == "")
    }

    @Test("a certificate for one side only is proved on that side", arguments: ["client", "server"])
    func sides(usage: String) throws {
        let home = try ServingHome(keyType: "ec")
        try home.shell("./keyfob identity create one --dns localhost --self-signed --usage \(usage)")
        for program in ["openssl", "gnutls"] {
            let result = try home.run("./keyfob uri one --for \(program) --check")
            #expect(result.status == 0 && result.output.contains("# checked: TLSv1.3"), "\(program): \(result.error)")
        }
        try home.shell("./keyfob identity create none --cn mail --self-signed --usage email")
        for program in ["openssl", "gnutls"] {
            let none = try home.run("./keyfob uri none --for \(program) --check")
            #expect(none.status == 12 && none.error.contains("neither servers nor clients"), "\(program): \(none.error)")
        }
    }

    @Test("adding an Ed25519 key beside others reports the consequences", arguments: [true, false])
    func edwards(isFirst: Bool) throws {
        let home = try IdentityHome()
        let commands = [
            ["key", "generate", "ed", "--type", "ed25519"],
            ["identity", "create", "web", "--dns", "w.example", "--self-signed"],
        ]
        let first = try Tool.keyfob(commands[isFirst ? 0 : 1], environment: home.environment).run()
        #expect(first.status == 0 && !first.output.contains("Note:"), "\(first)")
        let forced = commands[isFirst ? 1 : 0] + ["--allow-mixed-keys"]
        let second = try Tool.keyfob(forced, environment: home.environment).run()
        #expect(second.output.contains("has an Ed25519 key, \"ed\". OpenSSL"), "\(second)")
        try home.makeSelfSigned("api")
        let imported = try home.keyfob(
            "identity", "import", home.file("api.key"), home.file("api.pem"), "--name", "api", "--allow-mixed-keys")
        #expect(imported.status == 0 && imported.output.contains("Note:"), "\(imported)")
        let quiet = try home.keyfob("key", "generate", "further", "--allow-mixed-keys", "--json")
        #expect(quiet.status == 0 && !quiet.output.contains("Note:") && quiet.error.isEmpty)
    }

    @Test("Java sees the version in use after the previous version is retired")
    func renewalForJava() throws {
        let home = try ServingHome(keyType: "ec", keepsUser: true)
        try home.shell("./keyfob identity create web --dns w.example --self-signed")
        try home.shell("./keyfob identity renew web --force")
        let hidden = try home.run("./keyfob uri web --for java --check")
        #expect(hidden.status != 0 && hidden.error.contains("Java sees only one certificate of a key"), "\(hidden)")
        #expect(try home.shell("./keyfob uri web --for java").contains("keyfob identity retire web"))
        try home.shell("./keyfob identity retire web --yes")
        let seen = try home.run("./keyfob uri web --for java --check")
        #expect(seen.status == 0, "\(seen)")
        #expect(try !home.shell("./keyfob uri web --for java").contains("retire"))
    }

    @Test("a check works with any directory for temporary files", arguments: ["a b", String(repeating: "long", count: 30)])
    func places(name: String) throws {
        for program in ["nginx", "ssh"] {
            let home = try ServingHome(keyType: "ec", keepsUser: program == "ssh")
            let result = try home.run(
                "mkdir -p '\(name)'; TMPDIR=\"$PWD/\(name)\" ./keyfob uri imported --for \(program) --check")
            #expect(result.status == 0, "\(program): \(result.error)")
        }
    }

    @Test(
        "letters that mean something in a shell or a configuration are letters of a name",
        arguments: ["o'q \"d\" \\ $HOME `id` $(id) ;#{x}% 50%H é d", "first\nsecond on;"])
    func letters(name: String) throws {
        let home = try ServingHome(keyType: "ec")
        let word = "'" + name.replacing("'", with: "'\\''") + "'"
        try home.shell(
            "./keyfob identity create \(word) --dns localhost --self-signed --usage server --usage client")
        for program in Programs.names where !["haproxy", "ssh"].contains(program) {
            let result = try home.run("./keyfob uri \(word) --for \(program) --write 'to \(program)' --check")
            #expect(result.status == 0, "\(program): \(result.error)")
            let hasNote = result.output.contains(#"%H \u00c3\u00a9 d"#)
            #expect(hasNote == (program == "java" && name.contains("é")))
        }
    }

    @Test("no part of a name becomes a separate line")
    func lines() throws {
        let home = try ServingHome(keyType: "ec")
        let word = "'mail\nexport INJECTED=1; #\u{202e}\u{7}'"
        try home.shell("./keyfob identity create \(word) --email a@b.example --self-signed --usage email")
        try home.shell("./keyfob identity create \(word)ed --cn a --self-signed --key ed25519 --allow-mixed-keys")
        for program in Programs.names where program != "haproxy" {
            for name in [word, "imported"] {
                let output = try home.run("./keyfob uri \(name) --for \(program)").output
                #expect(!output.isEmpty)
                #expect(!output.split(separator: "\n").contains { $0.hasPrefix("export INJ") }, "\(program): \(output)")
                #expect(!output.contains("\u{202e}") && !output.contains("\u{7}"), "\(program): \(output)")
            }
        }
        // The printed command is correct nevertheless.
        let command = try home.shell("./keyfob uri \(word) --for curl --json | python3 -c \(Self.hook)")
        let written = try home.run("PATH=$PWD:$PATH; " + command)
        #expect(written.status == 0 && written.output.contains("Wrote "), "\(command): \(written.error)")
    }

    @Test("a directory that no line of a configuration can name is refused", arguments: ["line\nbreak", "bell\u{7}"])
    func unspeakableDirectory(name: String) throws {
        let home = try ServingHome(keyType: "ec")
        for program in Programs.names {
            let refused = try home.run("./keyfob uri imported --for \(program) --write './\(name)'")
            #expect(refused.status == 2 && refused.error.contains("control character"), "\(program): \(refused)")
        }
        #expect(try home.run("test -e './\(name)'").status == 1)
        let here = try home.run("mkdir './\(name)'; cd './\(name)'; ../keyfob uri imported --for nginx")
        #expect(here.status == 2 && here.output.isEmpty, "\(here)")
    }

    @Test("a directory whose name the program would misread is refused")
    func patternDirectory() throws {
        let home = try ServingHome(keyType: "ec")
        for (program, names) in ["nginx": ["a$b", "*", "[x]", "?"], "httpd": ["${b}", "*", "[x]", "?"], "ssh": ["${b}"]] {
            for name in names {
                let refused = try home.run("./keyfob uri imported --for \(program) --write './\(name)'")
                #expect(refused.status == 2 && refused.error.contains("would interpret"), "\(program): \(refused)")
            }
        }
        #expect(try home.run("./keyfob uri imported --for httpd --write './a$b'").status == 0)
    }

    @Test("the printed configuration names the files in a directory with an odd name")
    func oddDirectory() throws {
        let home = try ServingHome(keyType: "ec")
        let name = #"a b'c"d\e%h:f#g"#
        let word = "'\(name.replacing("'", with: #"'\''"#))'"
        // OpenSSH says which file it would use.
        let ssh = try home.run(
            "eval \"$(./keyfob uri imported --for ssh --write \(word) | sed -n 's/^ssh -o/ssh -F none -G -o/p')\"")
        let path = home.directory.path + "/" + name.replacing("%", with: "%%") + "/imported.pub"
        #expect(ssh.output.contains("identityfile \(path)\n"), "\(ssh)")
        // curl reads the file before it connects, and exits with 58 if it cannot.
        let curl = try home.run(
            """
            ./keyfob uri imported --for curl --write \(word) >lines
            eval "$(grep ^export lines)"; eval "$(sed -n 's|https://HOST/|-sS https://localhost:1/|p' lines)"
            """)
        #expect(curl.status == 7, "\(curl)")
    }

    /// Prints the command for a renewal, as the note about it shows it.
    private static let hook = """
        'import json, shlex, sys
        note = [n for n in json.load(sys.stdin)["notes"] if "--exec" in n][0]
        print(shlex.split(note)[-1])'
        """

    @Test("a check reports a server with another key, and one that does not start", arguments: ["other", "missing"])
    func failures(own: String) throws {
        let recipe = Recipe(
            title: "", lines: [],
            check: """
                for name in web other; do
                    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout $name.key -out $name.pem \\
                        -days 2 -subj /CN=$name >req.log 2>&1
                done
                \(Handshake.functions)
                port=$(port)
                openssl s_server -key \(own).key -cert \(own).pem -accept "127.0.0.1:$port" -www </dev/null >own.log 2>&1 &
                server=$!
                if [ \(own) = other ]; then await "$port" other.pem; fi
                await "$port" web.pem || { echo 'no handshake'; exit 1; }
                """)
        let check = try ProgramCheck()
        let error = #expect(throws: KeychainError.self) {
            try check.run(recipe, program: "s_server", deadline: .after(.seconds(600)))
        }
        #expect(error?.code == .failed && error?.hint?.contains("no handshake") == true)
    }

    @Test("a check that hangs is stopped, with its children")
    func hanging() throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("started")
        let recipe = Recipe(title: "", lines: [], check: "sleep 3333 & echo $! >'\(file)'; wait\n")
        let check = try ProgramCheck()
        // On a busy machine it may not even have started when its time is over.
        for seconds in [1, 4, 16, 64] where !FileManager.default.fileExists(atPath: file) {
            let error = #expect(throws: KeychainError.self) {
                try check.run(recipe, program: "sleep", deadline: .after(.seconds(seconds)))
            }
            #expect(error?.code == .timedOut)
        }
        let identifier = try #require(
            pid_t(String(contentsOfFile: file, encoding: .utf8).trimmingCharacters(in: .newlines)))
        #expect(hasEnded(identifier))
    }

    @Test("a directory is removed even if a program still writes to it for a moment")
    func lateWriter() throws {
        // By the clock: a busy machine needs longer for so many files than the wait for the directory.
        let writer = "i=0; while :; do i=$((i + 1)); : >\"file$i\"; done"
        let recipe = Recipe(
            title: "", lines: [],
            check: "setsid timeout 0.5 sh -c '\(writer)' >/dev/null 2>&1 &\nsleep 0.05; echo written\n")
        let directory: String
        do {
            let check = try ProgramCheck()
            directory = check.directory
            #expect(try check.run(recipe, program: "sh", deadline: .after(.seconds(30))) == "written")
        }
        #expect(!FileManager.default.fileExists(atPath: directory))
    }

    @Test("files are written completely, contain no secret, and the configuration names them")
    func files() throws {
        let home = try ServingHome(keyType: "ec")
        let output = try home.shell("./keyfob uri imported --for nginx --write tls/site")
        let written = try home.shell("ls tls/site").split(separator: "\n").map(String.init)
        let chain = try #require(written.first { $0.hasPrefix("imported.nginx-") })
        #expect(Set(written) == [
            "imported.fullchain.pem", "imported.nginx.conf", "imported.openssl.cnf", "imported.service.conf", chain,
        ])
        #expect(try home.shell("cmp tls/site/\(chain) tls/site/imported.fullchain.pem") == "")
        #expect(output.contains("tls/site/imported.nginx.conf\";"))
        let content = try home.shell("cat tls/site/*")
        #expect(!content.contains("PRIVATE KEY"))
        let pin = try home.shell("cat home/.local/share/keyfob/keychains/*/pin")
        #expect(!pin.isEmpty && !content.contains(pin) && !output.contains(pin))
        #expect(try home.shell("openssl x509 -in tls/site/imported.fullchain.pem -noout -subject").contains("imported"))
    }

    @Test("the server's user can read the written files, and existing files do not change", arguments: ["022", "077"])
    func modes(mask: String) throws {
        let home = try ServingHome(keyType: "ec")
        try home.shell("umask \(mask); mkdir -m 711 there; ./keyfob uri imported --for nginx --write there/tls/site")
        #expect(try home.shell("stat -c %a there there/tls there/tls/site") == "711\n755\n755\n")
        #expect(try home.shell("stat -c %a there/tls/site/*") == String(repeating: "644\n", count: 5))
        try home.shell("chmod 750 there/tls/site; ./keyfob uri imported --for nginx --write there/tls/site")
        #expect(try home.shell("stat -c %a there/tls/site") == "750\n")
        let refused = try home.run("./keyfob uri imported --for nginx --write /proc/nowhere/tls")
        #expect(refused.status != 0 && refused.error.contains("/proc/nowhere"), "\(refused.error)")
    }

    @Test("a server's files name the certificate's own key, also after a renewal with a new one", arguments: [
        ("nginx", "ssl_certificate_key"), ("httpd", "SSLCertificateKeyFile"),
    ])
    func newKeys(program: String, directive: String) throws {
        let home = try ServingHome(keyType: "ec")
        try home.shell("./keyfob identity create web --dns localhost --self-signed")
        let write = "./keyfob uri web --for \(program) --write site"
        func state() throws -> (lines: String, key: String) {
            let output = try home.shell(write)
            #expect(!output.contains("pkcs11:"), "\(output)")
            let key = try home.shell("./keyfob uri web").trimmingCharacters(in: .newlines)
            let own = try home.shell("grep '^\(directive) ' site/web.\(program).conf")
            #expect(own.contains(key), "\(own)")
            // The first line contains the names of the files: that of a chain is its own.
            return (output.split(separator: "\n").dropFirst().joined(separator: "\n"), key)
        }
        let first = try state()
        try home.shell("./keyfob identity renew web --force --new-key --exec '\(write)'")
        let second = try state()
        #expect(first.lines == second.lines && first.key != second.key)
        #expect(try home.run("./keyfob uri web --for \(program) --check").status == 0)
    }

    @Test("systemd reads the variables unchanged")
    func settings() throws {
        let home = try ServingHome(keyType: "ec")
        try home.shell("mkdir '5% \"of\" it'; ./keyfob uri imported --for nginx --write '5% \"of\" it'")
        let lines = try home.shell("cat '5% \"of\" it/imported.service.conf'")
        #expect(lines.contains("/5%% \\\"of\\\" it/imported.openssl.cnf\"\n"), "\(lines)")
    }

    @Test(
        "what cannot work says why",
        arguments: [
            ("uri imported --for haproxy", 8), ("uri imported --for caddy", 2), ("uri imported --check", 2),
            ("uri imported --write x", 2),
        ])
    func refusals(arguments: String, status: Int32) throws {
        let home = try ServingHome(keyType: "ec")
        let result = try home.run("./keyfob \(arguments)")
        #expect(result.status == status, "\(result.error)")
        #expect(result.error.contains("keyfob: ") && result.error.contains("\n    "))
    }

    @Test("ssh uses a key without a certificate")
    func keyAlone() throws {
        let home = try ServingHome(keyType: "ec", keepsUser: true)
        let result = try home.run(
            "./keyfob key generate git --type ec --curve p384 >/dev/null && ./keyfob uri git --for ssh --check")
        #expect(result.status == 0, "\(result.error)")
        #expect(result.output.contains("# checked: client and agent"))
        #expect(try home.run("./keyfob uri git --for nginx").status == 3)
    }
}
