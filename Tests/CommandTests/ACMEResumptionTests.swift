import Foundation
import TestSupport
import Testing

/// Orders that were finalized by a process that was killed before it had the certificate.
@Suite struct ACMEResumptionTests {
    /// A keychain whose commands are killed at a chosen request to an ACME server.
    private struct Bench {
        let home: IdentityHome

        /// `curl`, as the command finds it, logs each request, and kills its parent at the chosen one. For the requests
        /// that `stop` names, it sends its parent a signal first and makes the request all the same.
        init() throws {
            home = try IdentityHome()
            try home.interposeCurl(
                """
                echo "$url" >> asked
                if [ -e before ]; then case $url in *$(cat before)*) rm before; kill -9 $PPID; exit 1 ;; esac; fi
                if [ -e stop ]; then case $url in *$(cat stop)*) rm stop; trap '' TERM; kill -TERM $PPID ;; esac; fi
                /usr/bin/curl "$@"; status=$?
                if [ -e after ]; then case $url in *$(cat after)*) rm after; kill -9 $PPID ;; esac; fi
                exit $status
                """)
        }

        func keyfob(_ arguments: [String]) throws -> Tool.Result {
            let path = ["PATH": home.file("bin") + ":/usr/bin:/bin"]
            return try Tool.keyfob(arguments, environment: home.environment.merging(path) { $1 }).run()
        }

        /// Runs a command that is killed before or after the named request.
        func kill(_ when: String, _ place: String, _ arguments: [String]) throws {
            try home.shell("printf %s '\(place)' > \(when)")
            let killed = try keyfob(arguments)
            try #require(killed.status == 137 || killed.status == 9, "\(killed.output)\(killed.error)")
        }

        /// The number of requests of a kind.
        func asked(_ place: String) throws -> Int {
            let text = try home.shell("grep -c '\(place)' asked || true")
            return try #require(Int(text.trimmingCharacters(in: .whitespacesAndNewlines)))
        }

        /// The labels of the keys, without the account's.
        func keys() throws -> [String] {
            try home.keyfob("key", "ls", "--format", "tsv").output.split(separator: "\n").dropFirst()
                .compactMap { $0.split(separator: "\t").first.map(String.init) }
                .filter { !$0.hasPrefix("acme account") }.sorted()
        }

        /// The files with orders.
        func records() throws -> [String] {
            try home.shell("find home/.local/state -path '*/orders/*' -type f").split(separator: "\n").map(String.init)
        }

        func publicKey() throws -> String {
            try #require(home.keyfob("cert", "export", "web", "-o", home.file("now.pem"), "--force").status == 0)
            return try home.shell("openssl x509 -in now.pem -noout -pubkey")
        }
    }

    private func creation(_ bench: Bench, _ directory: String, _ more: String...) -> [String] {
        ["identity", "create", "web", "--dns", "web.example", "--issuer", "acme:" + directory, "--agree-tos",
            "--web-root", bench.home.file("www"), "--acme-ca", bench.home.file("acme-ca.pem")] + more
    }

    @Test(arguments: [("after", "/finalize"), ("before", "/cert"), ("after", "/cert"), ("before", "/finalize")])
    func `the next attempt fetches the issued certificate, for the key that was made for it`(
        when: String, place: String
    ) throws {
        let bench = try Bench()
        let server = try ScriptedACMEServer(bench.home, fault: "")
        let create = creation(bench, server.directory)
        try bench.kill(when, place, create)
        #expect(try bench.keys() == ["web"] && bench.records().count == 1)
        let created = try bench.keyfob(create + ["-v"])
        #expect(created.status == 0 && created.error.contains("order of before found"), "\(created.error)")
        let isAgain = place == "/finalize" && when == "before"
        #expect(try bench.asked("/newOrder") == 1 && bench.asked("/finalize") == (isAgain ? 2 : 1))
        #expect(try bench.keys() == ["web"] && bench.records() == [])

        // The same key, which has a certificate already.
        try bench.kill(when, place, ["identity", "renew", "web", "--force"])
        let renewed = try bench.keyfob(["identity", "renew", "web", "--force"])
        #expect(renewed.status == 0 && renewed.output.contains("  order of before found, "), "\(renewed)")
        #expect(try bench.asked("/newOrder") == 2 && bench.keys() == ["web"])

        // A new key, for which no command requests a certificate again.
        let before = try bench.publicKey()
        try bench.kill(when, place, ["identity", "renew", "web", "--force", "--new-key"])
        #expect(try bench.keys().count == 2)
        let next = try bench.keyfob(["identity", "renew", "--all", "--force"])
        #expect(next.status == 0 && next.output.contains("new key: yes"), "\(next.output)\(next.error)")
        #expect(next.output.contains("  order of before found, "), "\(next.output)")
        #expect(try bench.asked("/newOrder") == 3 && bench.keys().count == 2 && bench.publicKey() != before)
        #expect(try bench.records() == [])
        #expect(try bench.home.keyfob("identity", "check", "web").status == 0)
    }

    @Test func `a signal while an earlier order is waited for leaves it to the next attempt`() throws {
        let bench = try Bench()
        let server = try ScriptedACMEServer(bench.home, fault: "hold:order")
        let create = creation(bench, server.directory)
        try bench.kill("before", "/cert", create)
        let record = try #require(bench.records().first)
        try bench.home.shell("cp '\(record)' good; : > held; printf /order > stop")
        let stopped = try bench.keyfob(create)
        #expect(stopped.status == 143, "\(stopped)")
        #expect(try bench.asked("/newOrder") == 1 && bench.asked("/finalize") == 1)
        try bench.home.shell("cmp good '\(record)'; rm held")
        let created = try bench.keyfob(create + ["-v"])
        #expect(created.status == 0 && created.error.contains("order of before found"), "\(created.error)")
        #expect(try bench.asked("/newOrder") == 1 && bench.keys() == ["web"] && bench.records() == [])
    }

    @Test(arguments: [
        ("", "/newAccount", "/newOrder", 0), ("", "/order", "/finalize", 0), ("busy:order", "/order", "/order", 1),
    ])
    func `a signal ends an order before its next step`(
        fault: String, place: String, next: String, count: Int
    ) throws {
        let bench = try Bench()
        let server = try ScriptedACMEServer(bench.home, fault: fault)
        let create = creation(bench, server.directory)
        try bench.home.shell("printf '\(place)' > stop")
        let stopped = try bench.keyfob(create)
        #expect(stopped.status == 143, "\(stopped)")
        #expect(try bench.asked(next) == count && !FileManager.default.fileExists(atPath: bench.home.file("stop")))
        let created = try bench.keyfob(create)
        #expect(created.status == 0, "\(created.error)")
        // An order is recorded only after its challenges are known to be done.
        #expect(try bench.asked("/newOrder") == (fault.isEmpty ? 1 : 2) && bench.asked("/finalize") == 1)
    }

    @Test func `the key of an order that had not come so far is used, with any kind of key`() throws {
        let bench = try Bench()
        let server = try ScriptedACMEServer(bench.home, fault: "")
        #expect(try bench.keyfob(creation(bench, server.directory)).status == 0)
        try bench.kill("before", "/newOrder", ["identity", "renew", "web", "--force", "--type", "rsa"])
        let renewed = try bench.keyfob(["identity", "renew", "web", "--force"])
        #expect(renewed.status == 0 && renewed.output.contains("new key: yes"), "\(renewed.output)\(renewed.error)")
        #expect(!renewed.output.contains("order of before"))
        #expect(try bench.keys().count == 2 && bench.records() == [])
        #expect(try bench.home.shell("openssl x509 -in out.pem -noout -text").contains("rsaEncryption"))
    }

    @Test func `the key of an abandoned order is removed`() throws {
        let bench = try Bench()
        let server = try ScriptedACMEServer(bench.home, fault: "")
        #expect(try bench.keyfob(creation(bench, server.directory)).status == 0)
        for issuer in [[], ["--self-signed"]] {
            let renewal = ["identity", "renew", "web", "--force"]
            try bench.kill("before", "/cert", renewal + ["--new-key", "--issuer", "acme:" + server.directory]
                + creation(bench, server.directory).dropFirst(7))
            let keys = try bench.keys()
            try #require(keys.count == 2)
            let renewed = try bench.keyfob(renewal + ["--same-key"] + issuer)
            #expect(renewed.status == 0 && renewed.output.contains("new key: no"), "\(renewed.output)\(renewed.error)")
            let remark = "key \"\(keys[1])\" of an order that was given up destroyed"
            #expect(renewed.output.contains(remark), "\(renewed.output)")
            #expect(try bench.keys() == ["web"] && bench.records() == [])
        }
    }

    @Test func `a key with a certificate request is neither destroyed nor used again`() throws {
        let bench = try Bench()
        let server = try ScriptedACMEServer(bench.home, fault: "")
        #expect(try bench.keyfob(creation(bench, server.directory)).status == 0)
        let renewal = ["identity", "renew", "web", "--force"]
        try bench.kill("before", "/cert", renewal + ["--new-key"])
        let label = try #require(try bench.keys().last)
        let request = ["key", "csr", label, "--cn", "web.example", "-o", bench.home.file("own.csr")]
        #expect(try bench.keyfob(request + ["--dry-run"]).status == 0)
        #expect(try bench.records().count == 1)
        let written = try bench.keyfob(request)
        #expect(written.status == 0, "\(written.error)")
        #expect(try bench.records() == [])

        let same = try bench.keyfob(renewal + ["--same-key"])
        #expect(same.status == 0 && !same.output.contains("destroyed"), "\(same)")
        #expect(try bench.keys() == ["web", label])
        let other = try bench.keyfob(renewal + ["--new-key"])
        #expect(other.status == 0 && !other.output.contains("order of before"), "\(other)")
        #expect(try bench.keys().count == 3)
        // The certificate that was ordered for it elsewhere has arrived.
        try bench.home.shell(
            """
            openssl x509 -req -in own.csr -CA acme-ca.pem -CAkey acme-ca.key -CAcreateserial -days 5 -out own.pem \
                2> openssl.log
            """)
        let installed = try bench.keyfob(["identity", "install", "web", "--cert", bench.home.file("own.pem")])
        #expect(installed.status == 0, "\(installed.error)")
    }

    /// Damage that a record may have when it is read.
    @Test(arguments: [
        ": > \"$f\"", "echo '{}' > \"$f\"", "head -c 40 \"$f\" > t; cat t > \"$f\"", "chmod 644 \"$f\"",
        "rm \"$f\"; mkdir \"$f\"", "sed -i 's/[/]order/\\/nowhere/; s/[/]nowhere\"/\\/elsewhere\"/' \"$f\"",
        "sed -i 's/\"url\":\"https/\"url\":\"http/' \"$f\"",
        "sed -i 's/\"url\":\"[^\"]*\"/\"url\":\"https:\\/\\/127.0.0.1:1\\/\"/' \"$f\"",
    ])
    func `an invalid record does not prevent a new order`(change: String) throws {
        let bench = try Bench()
        let server = try ScriptedACMEServer(bench.home, fault: "")
        let create = creation(bench, server.directory)
        try bench.kill("before", "/cert", create)
        let record = try #require(bench.records().first)
        try bench.home.shell("f='\(record)'; cp \"$f\" good; \(change)")
        try bench.home.shell("! cmp -s good '\(record)' || [ $(stat -c %a '\(record)') = 644 ]")
        let created = try bench.keyfob(create)
        #expect(created.status == 0, "\(created.error)")
        #expect(try bench.asked("/newOrder") == 2 && bench.keys() == ["web"])
        #expect(try bench.home.keyfob("identity", "check", "web").status == 0)
    }

    @Test func `an order for other names, or of another server, is not continued`() throws {
        let bench = try Bench()
        let server = try ScriptedACMEServer(bench.home, fault: "")
        try bench.kill("before", "/cert", creation(bench, server.directory))
        let created = try bench.keyfob(creation(bench, server.directory, "--dns", "further.example"))
        #expect(created.status == 0, "\(created.error)")
        #expect(try bench.asked("/newOrder") == 2 && bench.records() == [])
        #expect(try bench.home.shell("openssl x509 -in out.pem -noout -ext subjectAltName").contains("further.example"))

        try bench.kill("before", "/cert", ["identity", "renew", "web", "--force"])
        let record = try #require(bench.records().first)
        try bench.home.shell("sed -i 's/[/]dir\"/\\/other\"/' '\(record)'")
        #expect(try bench.keyfob(["identity", "renew", "web", "--force"]).status == 0)
        #expect(try bench.asked("/newOrder") == 4)
    }

    @Test func `an order that leaves out the subject of the previous certificate is continued`() throws {
        let bench = try Bench()
        let server = try ScriptedACMEServer(bench.home, fault: "")
        let made = try bench.home.keyfob(
            "identity", "create", "web", "--cn", "Example Web Server", "--dns", "web.example", "--self-signed")
        try #require(made.status == 0, "\(made.error)")
        let renewal: [String] = ["identity", "renew", "web", "--force"] + creation(bench, server.directory).dropFirst(5)
        try bench.kill("before", "/cert", renewal)
        let renewed = try bench.keyfob(renewal)
        #expect(renewed.status == 0 && renewed.output.contains("  order of before found, "), "\(renewed)")
        #expect(try bench.asked("/newOrder") == 1 && bench.records() == [])
    }

    @Test(arguments: ["--same-key", "--new-key"])
    func `a certificate that is not valid yet is waited for, and not ordered again`(key: String) throws {
        let bench = try Bench()
        let server = try ScriptedACMEServer(bench.home, fault: "")
        #expect(try bench.keyfob(creation(bench, server.directory)).status == 0)
        let first = try bench.publicKey()
        try bench.home.shell("mv now.pem first.pem")
        try bench.home.makeLateIssuer("acme-ca")
        for words in [["web", key], ["--all"], ["web"]] {
            let refused = try bench.keyfob(["identity", "renew", "--force"] + words)
            #expect(refused.status == 1 && refused.error.contains("is valid only from 20"), "\(refused)")
        }
        #expect(try bench.asked("/newOrder") == 2 && bench.asked("/finalize") == 2 && bench.records().count == 1)
        #expect(try bench.publicKey() == first)
        try bench.home.shell("cmp first.pem now.pem")
        // The certificate has become valid.
        try bench.home.shell(
            """
            openssl x509 -req -inform DER -in in.csr -CA acme-ca.pem -CAkey acme-ca.key -CAcreateserial -days 5 \
                -copy_extensions copy -out out.pem 2> openssl.log
            """)
        let renewed = try bench.keyfob(["identity", "renew", "web", "--force"])
        #expect(renewed.status == 0 && renewed.output.contains("  order of before found, "), "\(renewed)")
        #expect(try bench.asked("/newOrder") == 2 && bench.records() == [])
        let isSameKey = try bench.publicKey() == first
        #expect(isSameKey == (key == "--same-key"))
    }

    @Test func `a certificate that the keychain has had is not installed again`() throws {
        let bench = try Bench()
        let server = try ScriptedACMEServer(bench.home, fault: "")
        #expect(try bench.keyfob(creation(bench, server.directory)).status == 0)
        try bench.kill("before", "/cert", ["identity", "renew", "web", "--force"])
        let record = try #require(bench.records().first)
        try bench.home.shell("cp -p '\(record)' kept")
        #expect(try bench.keyfob(["identity", "renew", "web", "--force"]).status == 0)
        // As if the command had been killed after the installation, and before it removed the record.
        try bench.home.shell("cp -p kept '\(record)'")
        let renewed = try bench.keyfob(["identity", "renew", "web", "--force"])
        #expect(renewed.status == 0 && renewed.output.contains("  order ok, "), "\(renewed.output)\(renewed.error)")
        #expect(try bench.asked("/newOrder") == 3 && bench.records() == [])
    }

    @Test func `the removal of a keychain leaves no records`() throws {
        let bench = try Bench()
        let server = try ScriptedACMEServer(bench.home, fault: "")
        try bench.kill("before", "/cert", creation(bench, server.directory))
        #expect(try bench.records().count == 1)
        let removed = try bench.keyfob(["keychain", "rm", "login", "--yes"])
        #expect(removed.status == 0, "\(removed.error)")
        #expect(try bench.home.shell("find home/.local/state -path '*/orders/*'") == "")
    }

    @Test(
        .enabled(if: PebbleServer.isInstalled, "pebble, an ACME server, is not installed"),
        arguments: [("after", "/finalize-order"), ("before", "/certZ")])
    func `a real ACME server still has the order`(when: String, place: String) throws {
        let bench = try Bench()
        let server = try PebbleServer(bench.home)
        let create = creation(bench, server.directory)
        try bench.kill(when, place, create)
        let created = try bench.keyfob(create)
        #expect(created.status == 0, "\(created.error)")
        try bench.kill(when, place, ["identity", "renew", "web", "--force", "--new-key"])
        let renewed = try bench.keyfob(["identity", "renew", "web", "--force"])
        #expect(renewed.status == 0 && renewed.output.contains("order of before found"), "\(renewed)")
        // A request may be repeated (RFC 8555 6.5), but a certificate is not ordered twice.
        #expect(try bench.home.shell("grep -o 'my-order/.*' asked | sort -u | wc -l") == "2\n")
        #expect(try bench.keys().count == 2 && bench.records() == [])
    }
}
