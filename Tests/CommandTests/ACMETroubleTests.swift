import Foundation
import TestSupport
import Testing

/// ACME servers that are busy, close connections, or send invalid answers.
@Suite struct ACMETroubleTests {
    private func create(_ fault: String, _ names: String...) throws -> (home: IdentityHome, result: Tool.Result) {
        let home = try IdentityHome()
        let server = try ScriptedACMEServer(home, fault: fault)
        let words = ["identity", "create", "web", "--json", "--issuer", "acme:" + server.directory, "--web-root",
            home.file("www"), "--acme-ca", home.file("acme-ca.pem")] + names.flatMap { ["--dns", $0] }
        return (home, try Tool.keyfob(words, environment: home.environment).run())
    }

    @Test(arguments: ["busy", "break"], ["dir", "newNonce", "authz", "order", "cert"])
    func `a request that only reads is repeated`(_ fault: String, _ place: String) throws {
        let (home, result) = try create("\(fault):\(place)", "web.example")
        #expect(result.status == 0 && result.error.isEmpty, "\(result.error)")
        #expect(try home.shell("wc -l < orders") == "1\n")
    }

    @Test(arguments: [
        ["busy:newOrder", "status 503"], ["break:newOrder", "Empty reply"], ["limit:newOrder", "too many certificates"],
        ["limit:order", "asked again in 60 minutes"], ["garbage:newOrder", "is not ACME"],
        ["garbage:order", "is not ACME"], ["list:authz", "is not ACME"], ["move:newOrder", "(status 302)"],
        ["move:cert", "cert to "], ["move:dir", "directory is elsewhere: https://"], ["garbage:cert", "none of them"],
        ["limit:dir", "too many certificates"], ["limit:dir", "asked again in 60 minutes"],
        ["limit:newNonce", "asked again in 60 minutes"], ["missing:dir", "Check the URL of the directory"],
        ["missing:newNonce", "refused: status 404"], ["plain", "does not begin with https://"],
        ["state=expired:authz", "the authorization is expired"],
        ["state=invalid:order", "issues no certificate: the order is invalid"],
        ["state=:order", "a state that ACME does not know"],
    ])
    func `an answer that cannot be parsed is reported, and nothing else is printed`(_ row: [String]) throws {
        let (_, result) = try create(row[0], "web.example")
        #expect(result.status == 1 && result.error.contains(row[1]), "\(result.error)")
        #expect(try IdentityHome.code(result) == "issuer.failed")
    }

    @Test func `an order names each host once`() throws {
        let (home, result) = try create("", "web.example", "WEB.example", "api.example")
        #expect(result.status == 0, "\(result.error)")
        #expect(
            try home.shell("cat orders")
                == "[{\"type\": \"dns\", \"value\": \"web.example\"}, {\"type\": \"dns\", \"value\": \"api.example\"}]\n")
    }

    @Test(.enabled(if: geteuid() == 0, "only root sees the descriptors of another process that hides its memory"))
    func `a connection without a free descriptor is served later, and no thread spins until then`() throws {
        let home = try IdentityHome()
        let server = try ScriptedACMEServer(home, fault: "")
        let port = try home.freePorts(1)[0]
        let token = String(repeating: "A", count: 32)
        let place = "http://127.0.0.1:\(port)/.well-known/acme-challenge/\(token)"
        // The command waits for this program, and opens nothing in the meantime. The thread's time is in ticks.
        try home.interposeCurl(
            """
            if [ ! -e ticks ]; then case $url in
            */chall)
                thread=$(grep -l '^keyfob-acme$' /proc/$PPID/task/*/comm)
                spent() { awk '{ print $14 + $15 }' "${thread%/comm}/stat"; }
                free=3
                while [ -L /proc/$PPID/fd/$free ]; do free=$((free + 1)); done
                limit=$(prlimit --pid $PPID --nofile --noheadings --output SOFT)
                prlimit --pid $PPID --nofile=$free:
                /usr/bin/curl -s --max-time 120 \(place) > answer &
                before=$(spent)
                sleep 3
                echo $(($(spent) - before)) > ticks
                prlimit --pid $PPID --nofile=$limit:
                wait $! ;;
            esac; fi
            exec /usr/bin/curl "$@"
            """)
        let environment = home.environment.merging(["PATH": home.file("bin") + ":/usr/bin:/bin"]) { $1 }
        let made = try Tool.keyfob(
            [
                "identity", "create", "web", "--dns", "web.example", "--issuer", "acme:" + server.directory, "--listen",
                "127.0.0.1:" + port, "--acme-ca", home.file("acme-ca.pem"),
            ], environment: environment
        ).run()
        #expect(made.status == 0, "\(made.error)")
        #expect(try home.shell("cat answer").hasPrefix("AAAA"))
        // A thread that spins would use two hundred.
        let ticks = try Int(home.shell("cat ticks").trimmingCharacters(in: .whitespacesAndNewlines))
        #expect(ticks.map { $0 < 15 } == true, "\(ticks as Any)")
    }

    @Test(.enabled(if: isStraceUsable, "strace(1) is not installed, or may trace nothing here"))
    func `the answer to a challenge is readable for all users, and no mode is changed by name`() throws {
        let home = try IdentityHome()
        let server = try ScriptedACMEServer(home, fault: "")
        try home.interposeCurl(
            """
            case $url in */chall) stat -c %a www/.well-known www/.well-known/* www/.well-known/*/* > modes ;; esac
            exec /usr/bin/curl "$@"
            """)
        // A program that may write there, such as a web application, could replace the new file by a link.
        let made = try Tool(
            "strace",
            [
                "-f", "-o", home.file("calls"), "-e", "trace=?chmod,?fchmodat,?fchmodat2", Tool.keyfob([]).path,
                "identity", "create", "web", "--dns", "web.example", "--issuer", "acme:" + server.directory,
                "--web-root", home.file("www"), "--acme-ca", home.file("acme-ca.pem"),
            ], environment: home.environment.merging(["PATH": home.file("bin") + ":/usr/bin:/bin"]) { $1 }
        ).run()
        #expect(made.status == 0, "\(made.error)")
        #expect(try home.shell("cat modes") == "755\n755\n644\n")
        // If the process hides its memory, strace reads no name, but it reads the mode.
        let calls = try home.shell("cat calls").split(separator: "\n")
        #expect(calls.filter { $0.contains(", 0755") || $0.contains(", 0644") } == [])
    }

    @Test(arguments: ["create", "renew"]) func `a signal removes the answer to a challenge`(verb: String) throws {
        let home = try IdentityHome()
        let server = try ScriptedACMEServer(home, fault: "")
        let order = ["web", "--issuer", "acme:" + server.directory, "--web-root", home.file("www"), "--acme-ca",
            home.file("acme-ca.pem")]
        let words: [String]
        if verb == "create" {
            words = ["identity", "create", "--dns", "web.example"] + order
        } else {
            let made = try home.keyfob("identity", "create", "web", "--dns", "web.example", "--self-signed")
            try #require(made.status == 0, "\(made.error)")
            words = ["identity", "renew", "--force", "--exec", "touch '\(home.file("hooked"))'"] + order
        }
        try home.interposeCurl(
            """
            if [ ! -e seen ]; then case $url in
            */chall) ls www/.well-known/acme-challenge > seen; kill -TERM $PPID; sleep 60; exit 1 ;;
            esac; fi
            exec /usr/bin/curl "$@"
            """)
        let environment = home.environment.merging(["PATH": home.file("bin") + ":/usr/bin:/bin"]) { $1 }
        let stopped = try Tool.keyfob(words, environment: environment).run()
        #expect(stopped.status == 143, "\(stopped)")
        #expect(try home.shell("wc -l < seen; ls www/.well-known/acme-challenge; test ! -e hooked") == "1\n")
        let next = try Tool.keyfob(words, environment: environment).run()
        #expect(next.status == 0, "\(next.error)")
    }

    @Test func `a renewal that ended before a signal is reported all the same`() throws {
        let home = try IdentityHome()
        let server = try ScriptedACMEServer(home, fault: "")
        for words in [
            ["a", "--self-signed"],
            ["web", "--issuer", "acme:" + server.directory, "--web-root", home.file("www"), "--acme-ca",
                home.file("acme-ca.pem")],
        ] {
            let made = try Tool.keyfob(
                ["identity", "create", "--dns", "web.example"] + words, environment: home.environment).run()
            try #require(made.status == 0, "\(made.error)")
        }
        try home.interposeCurl(
            """
            case $url in */chall) kill -TERM $PPID; sleep 60; exit 1 ;; esac
            exec /usr/bin/curl "$@"
            """)
        let environment = home.environment.merging(["PATH": home.file("bin") + ":/usr/bin:/bin"]) { $1 }
        let hook = "touch '\(home.file("hooked"))'"
        let stopped = try Tool.keyfob(
            ["identity", "renew", "--all", "--force", "--json", "--exec", hook], environment: environment
        ).run()
        #expect(stopped.status == 143, "\(stopped)")
        #expect(stopped.error.contains("\"exit\":143,"), "\(stopped.error)")
        let document = try JSONSerialization.jsonObject(with: Data(stopped.output.utf8)) as? [String: Any]
        let identities = try #require(document?["identities"] as? [[String: Any]], "\(stopped)")
        #expect(identities.map { $0["name"] as? String } == ["a"] && document?["changed"] as? Bool == true)
        // The command is left to the next renewal.
        #expect(!FileManager.default.fileExists(atPath: home.file("hooked")))
        let next = try home.keyfob("identity", "renew", "a", "--exec", hook)
        #expect(next.status == 0 && FileManager.default.fileExists(atPath: home.file("hooked")), "\(next)")
    }

    @Test func `SIGINT without a terminal ends the wait for a server that does not answer`() throws {
        let home = try IdentityHome()
        // The kernel lets curl connect; its first bytes show that it runs, and waits.
        let script = """
            import signal, socket, subprocess, sys
            server = socket.create_server(("127.0.0.1", 0))
            server.settimeout(120)
            directory = "acme:https://127.0.0.1:%d/dir" % server.getsockname()[1]
            command = subprocess.Popen([*sys.argv[1:], "--issuer", directory], start_new_session=True)
            try:
                connection, _ = server.accept()
                connection.settimeout(120)
                connection.recv(1)
                command.send_signal(signal.SIGINT)
                # curl itself gives up after 55 seconds.
                print(command.wait(timeout=30))
            finally:
                command.kill()
            """
        let result = try Tool(
            "python3",
            [
                "-c", script, Tool.keyfob([]).path, "identity", "create", "web", "--dns", "web.example", "--web-root",
                home.directory.path,
            ], environment: home.environment
        ).run()
        #expect(result.output == "130\n", "\(result.error)")
    }
}
