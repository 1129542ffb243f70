import Foundation
import TestSupport
import Testing

/// The errors that users and programs get.
@Suite struct ErrorTextTests {
    /// Functions for the scripts of the rows.
    static let prelude = """
        keyfob() { "$KEYFOB" "$@"; }
        unprivileged() {
            if [ "$(id -u)" = 0 ]; then setpriv --reuid 65534 --clear-groups "$KEYFOB" "$@"; else keyfob "$@"; fi
        }
        # secret TEXT FILE
        secret() { printf '%s\\n' "$1" > "$2"; chmod 600 "$2"; }
        # pair NAME SUBJECT [BEGIN END]: NAME.key and NAME.pem, signed by itself
        pair() {
            {
            openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout $1.key -out $1.csr -subj "/CN=$2"
            printf '[ca]\\ndefault_ca=d\\n[d]\\ndatabase=index\\nserial=serial\\nnew_certs_dir=.\\npolicy=p\\ndefault_md=sha256\\nunique_subject=no\\n[p]\\ncommonName=supplied\\n' > ca.conf
            : > index
            openssl rand -hex 8 > serial
            openssl ca -batch -selfsign -notext -config ca.conf -keyfile $1.key -in $1.csr -out $1.pem \\
                -startdate ${3:-20200101000000Z} -enddate ${4:-20980101000000Z}
            } > openssl.log 2>&1 || { cat openssl.log; return 1; }
        }
        # pkcs12: web.p12, encrypted with the passphrase in pass
        pkcs12() {
            pair web www.example.org
            secret secret pass
            openssl pkcs12 -export -inkey web.key -in web.pem -passout file:pass -out web.p12
        }
        # chain: root.pem, r10.pem, and below it web.pem for www.example.org as a server
        chain() {
            {
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout root.key -out root.pem -days 3000 -subj /CN=Root
            openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout r10.key -out r10.csr -subj /CN=R10
            printf 'basicConstraints=critical,CA:TRUE\\n' > authority
            openssl x509 -req -in r10.csr -CA root.pem -CAkey root.key -CAcreateserial -days 2000 -extfile authority -out r10.pem
            openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout web.key -out web.csr -subj /CN=www.example.org
            printf 'subjectAltName=DNS:www.example.org\\nextendedKeyUsage=serverAuth\\nbasicConstraints=critical,CA:FALSE\\n' > leaf
            openssl x509 -req -in web.csr -CA r10.pem -CAkey r10.key -CAcreateserial -days 90 -extfile leaf -out web.pem
            } > openssl.log 2>&1 || { cat openssl.log; return 1; }
        }
        trusted() {
            chain
            keyfob identity import -q web.key web.pem r10.pem --name web
            keyfob trust add -q root.pem
        }
        """

    /// The result of one failure.
    private struct Outcome {
        let result: Tool.Result
        var lines: [Substring] { result.error.split(separator: "\n", omittingEmptySubsequences: false) }
    }

    private func attempt(_ row: ErrorRow, in household: TestHome, _ environment: [String: String]) throws -> Outcome {
        let script = "cd \"$1\"; \(Self.prelude)\n{ \(row.reset); } >/dev/null 2>&1\n\(row.attempt)"
        return Outcome(
            result: try Tool(
                "/bin/sh", ["-c", script, "sh", household.directory.path],
                environment: environment.merging(["FAULTY_REFUSE": row.refusing]) { $1 }
            ).run())
    }

    /// Ends the background processes of a row.
    private func end(_ household: TestHome) {
        guard let job = try? household.directory.read("job"),
            let number = Int32(String(decoding: job, as: UTF8.self).trimmingCharacters(in: .newlines))
        else { return }
        kill(-number, SIGKILL)
    }

    @Test(arguments: ErrorRow.tokens + ErrorRow.secrets + ErrorRow.certificates)
    func `an error has a message, a hint, a code and a status`(_ row: ErrorRow) throws {
        let household: TestHome
        var environment: [String: String] = [:]
        switch row.home {
        case .empty: household = try TestHome()
        case .unattended: household = try TestHome.unattended()
        case .card: (household, environment) = try TestHome.withCard()
        }
        environment.merge(household.environment) { $1 }
        environment.merge(["KEYFOB": Tool.keyfob([]).path, "KEYFOB_NO_INPUT": "1"]) { $1 }
        defer { end(household) }
        let before = try Tool(
            "/bin/sh", ["-euc", "cd \"$1\"; \(Self.prelude)\n\(row.before)", "sh", household.directory.path],
            environment: environment
        ).run()
        try #require(before.status == 0, "\(before.output)\(before.error)")

        let outcome = try attempt(row, in: household, environment)
        #expect(outcome.result.status == row.status, "\(outcome.result.error)")
        let lines = outcome.lines
        try #require(lines.count >= 2 && lines.last == "", "\(outcome.result.error)")
        #expect(lines[0].hasPrefix("keyfob: "))
        for word in row.message { #expect(lines[0].contains(word), "\(lines[0])") }
        let hint = lines.dropFirst().dropLast().joined(separator: "\n")
        #expect(row.hint.isEmpty == hint.isEmpty, "\(outcome.result.error)")
        if !hint.isEmpty { #expect(hint.hasPrefix("    ")) }
        for word in row.hint { #expect(hint.contains(word), "\(hint)") }

        let told = try attempt(row, in: household, environment.merging(["KEYFOB_FORMAT": "json"]) { $1 })
        #expect(told.result.status == row.status)
        #expect(told.result.output.isEmpty)
        #expect(told.lines.count == 2 && told.lines.last == "", "one line: \(told.result.error)")
        let document = try JSONSerialization.jsonObject(with: Data(told.result.error.utf8)) as? [String: Any]
        #expect(document?["schema"] as? String == "keyfob/v1")
        let error = try #require(document?["error"] as? [String: Any])
        #expect(error["code"] as? String == row.code)
        #expect(error["exit"] as? Int32 == row.status)
        let details = try #require(error["details"] as? [String: String])
        for name in row.details { #expect(details[name] != nil, "\(name) is missing: \(details)") }
        // Each name occurs once, because parsers differ in which of several they use.
        for name in details.keys { #expect(told.result.error.split(separator: "\"\(name)\":").count == 2, "\(name)") }
        guard row.isSteady else { return }
        let message = error["message"] as? String ?? ""
        let remedy = (error["hint"] as? String).map { "    \($0.replacing("\n", with: "\n    "))\n" } ?? ""
        #expect(Self.timeless("keyfob: \(message)\n\(remedy)") == Self.timeless(outcome.result.error))
    }

    /// Removes relative times, which differ between two attempts.
    private static func timeless(_ text: String) -> String {
        text.replacing(/just now|[0-9]+ (second|minute)s? ago/, with: "a moment ago")
    }

    @Test func `every command in a hint exists`() throws {
        let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../Sources").standardized
        let known = try Tool.keyfob(["--help"]).run().output
        var checked: Set<String> = []
        for target in ["Keyfob", "KeyfobCLI", "KeyfobNIOSSL", "KeyfobX509"] {
            let files = FileManager.default.enumerator(atPath: sources.appendingPathComponent(target).path)
            while let name = files?.nextObject() as? String {
                guard name.hasSuffix(".swift") else { continue }
                let path = sources.appendingPathComponent(target).appendingPathComponent(name)
                for line in try String(contentsOf: path, encoding: .utf8).split(separator: "\n")
                where line.contains("\"") && !line.drop(while: { $0 == " " }).hasPrefix("//") {
                    for match in line.matches(of: /keyfob(?: |\(")([a-z]+)( [a-z-]+)?/) {
                        let (verb, next) = (String(match.1), match.2.map { String($0.dropFirst()) })
                        guard Self.verbs.contains(verb), checked.insert("\(verb) \(next ?? "")").inserted else { continue }
                        #expect(known.contains("\n  \(verb)"), "keyfob \(verb), of \(name)")
                        guard let next, Self.nouns.contains(verb), !next.hasPrefix("-") else { continue }
                        let help = try Tool.keyfob([verb, next, "--help"]).run()
                        #expect(help.status == 0 && help.output.contains("USAGE: keyfob \(verb) \(next)"), "keyfob \(verb) \(next), of \(name)")
                    }
                }
            }
        }
        #expect(checked.count > 30)
    }

    /// Words after `keyfob` that are commands, and not the next word of a sentence.
    private static let verbs: Set<String> = [
        "init", "status", "doctor", "unlock", "lock", "get", "set", "ls", "rm", "secret", "identity", "cert", "key", "trust",
        "token", "uri", "keychain", "backup", "migrate", "run", "config", "systemd", "agent", "helper", "manifest",
    ]
    private static let nouns: Set<String> = ["secret", "identity", "cert", "key", "trust", "token", "keychain"]

    @Test(arguments: [("INT", 130), ("TERM", 143), ("HUP", 129)])
    func `an interrupted command ends with the signal's status, and leaves nothing incomplete`(
        signal: String, status: Int32
    ) throws {
        let household = try TestHome.unattended()
        // The issuer interrupts the command that waits for it, so the moment does not depend on the machine's speed.
        let slow = try household.directory.write(Array("kill -\(signal) $PPID\nexec sleep 200\n".utf8), to: "slow")
        let result = try household.keyfob([
            "identity", "create", "web", "--dns", "web.example", "--issuer", "exec:/bin/sh " + slow,
        ])
        #expect(result.status == status, "\(result.error)")
        #expect(try household.keyfob(["identity", "ls", "--format", "tsv"]).output.isEmpty)
        // The same command, run again, uses the key that was left.
        let made = try household.keyfob(["identity", "create", "web", "--dns", "web.example", "--self-signed"])
        #expect(made.status == 0, "\(made.error)")
        #expect(try household.keyfob(["key", "ls", "--format", "tsv"]).output.split(separator: "\n").count == 2)
        #expect(try household.keyfob(["identity", "check", "web"]).status == 0)
    }
}
