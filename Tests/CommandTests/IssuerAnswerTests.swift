import Foundation
import TestSupport
import Testing

/// The output of an issuing command, and whether it is installed.
@Suite struct IssuerAnswerTests {
    /// An authority of openssl, and a program `sign` that issues with the arguments in the file `options`; beside it
    /// `issue-late`, whose certificates are not valid yet.
    private func makeAuthority(_ home: IdentityHome) throws {
        try home.shell(
            """
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.pem -days 30 \
                -subj /CN=CA 2>openssl.log
            cat > sign <<END
            #!/bin/sh -e
            cd $PWD
            test ! -e ready.pem || exec cat ready.pem
            eval "openssl x509 -req -CA ca.pem -CAkey ca.key -CAcreateserial \\$(cat options)" 2>/dev/null
            END
            chmod +x sign
            echo '-days 10 -copy_extensions copy' > options
            """)
        try home.makeLateIssuer("ca")
    }

    private func create(_ home: IdentityHome, _ name: String, _ names: [String]) throws -> Tool.Result {
        try Tool.keyfob(
            ["identity", "create", name, "--issuer", "exec:" + home.file("sign"), "--json"] + names,
            environment: home.environment
        ).run()
    }

    @Test(arguments: [
        ("echo '-days 0 -copy_extensions copy' > options", "that expired on"),
        ("\"$keyfob\" cert export web -o ready.pem > log", "that is in use already"),
        ("mv issue-late sign", "that is valid only from"),
    ])
    func `an unusable certificate is not a renewal, and no command runs after it`(
        change: String, reason: String
    ) throws {
        let home = try IdentityHome()
        try makeAuthority(home)
        let made = try create(home, "web", ["--dns", "web.example"])
        try #require(made.status == 0, "\(made.error)")
        try home.shell(change, environment: ["keyfob": Tool.keyfob([]).path])
        for all in [["web"], ["--all"]] {
            let hook = ["--force", "--exec", "touch '\(home.file("hooked"))'", "--json"]
            let renewed = try Tool.keyfob(["identity", "renew"] + all + hook, environment: home.environment).run()
            #expect(renewed.status == 1, "\(renewed.output)")
            #expect(try IdentityHome.code(renewed) == "issuer.failed", "\(renewed.error)")
            #expect((all == ["web"] ? renewed.error : renewed.output).contains(reason), "\(renewed)")
            #expect(renewed.output.isEmpty || renewed.output.contains("\"changed\":false"), "\(renewed.output)")
        }
        #expect(!FileManager.default.fileExists(atPath: home.file("hooked")))
        // No version was kept, and the next renewal is a first one.
        #expect(try home.keyfob("identity", "ls", "--format", "tsv").output.split(separator: "\n").count == 2)
    }

    @Test func `a certificate of tomorrow does not get the name, and clocks may differ a little`() throws {
        let home = try IdentityHome()
        try makeAuthority(home)
        func certificate() throws -> String {
            try #require(home.keyfob("cert", "export", "web", "-o", home.file("now.pem"), "--force").status == 0)
            return try home.shell("cat now.pem")
        }
        try #require(create(home, "web", ["--dns", "web.example"]).status == 0)
        let first = try certificate()
        try home.shell("mv issue-late sign")
        let renewed = try home.keyfob("identity", "renew", "web", "--force")
        #expect(renewed.status == 1 && renewed.error.contains("only from 20"), "\(renewed)")
        #expect(renewed.error.contains("    Nothing was changed. Compare the clocks"), "\(renewed.error)")
        #expect(try certificate() == first)
        try home.shell("echo '3 minutes' > begin")
        let next = try home.keyfob("identity", "renew", "web", "--force")
        #expect(next.status == 0 && next.output.contains("installed"), "\(next)")
    }

    @Test(arguments: ["echo '-days 0 -copy_extensions copy' > options", "mv issue-late sign"])
    func `an expired or not yet valid certificate makes no identity`(change: String) throws {
        let home = try IdentityHome()
        try makeAuthority(home)
        try home.shell(change)
        let made = try create(home, "web", ["--dns", "web.example"])
        #expect(try made.status == 1 && IdentityHome.code(made) == "issuer.failed", "\(made.error)")
        #expect(try !home.keyfob("identity", "ls", "--format", "tsv").output.contains("web"))
    }

    @Test func `a certificate without a requested name is refused`() throws {
        let home = try IdentityHome()
        try makeAuthority(home)
        let names = ["--dns", "web.example", "--ip", "192.0.2.7", "--email", "ops@web.example", "--uri", "urn:web"]
        try home.shell("echo '-days 10' > options")
        let bare = try create(home, "web", names)
        #expect(try bare.status == 1 && IdentityHome.code(bare) == "issuer.failed", "\(bare.error)")
        let all = "DNS:web.example, IP Address:192.0.2.7, email:ops@web.example, URI:urn:web"
        #expect(bare.error.contains("without the names that were asked for: \(all)"), "\(bare.error)")
        #expect(try !home.keyfob("identity", "ls", "--format", "tsv").output.contains("web"))

        // Further names, another order and another case are accepted, and so is a wildcard.
        try home.shell(
            """
            echo 'subjectAltName=URI:URN:web,email:ops@WEB.example,IP:192.0.2.7,DNS:x.example,DNS:*.Example' > ext
            echo '-days 10 -extfile ext' > options
            """)
        let wild = try create(home, "wild", ["--dns", "web.example"])
        // A wildcard of a whole top-level domain matches no host.
        #expect(wild.status == 1, "\(wild.output)")
        try home.shell("sed -i 's/DNS:[*].Example/DNS:WEB.Example,DNS:*.sub.example/' ext")
        let made = try create(home, "web", names + ["--dns", "a.sub.example"])
        #expect(made.status == 0, "\(made.error)")

        try home.shell("echo '-days 10' > options")
        let renewed = try home.keyfob("identity", "renew", "web", "--force", "--json")
        #expect(try renewed.status == 1 && IdentityHome.code(renewed) == "issuer.failed", "\(renewed.error)")
        #expect(renewed.error.contains("DNS:x.example"), "\(renewed.error)")
        #expect(try home.keyfob("identity", "ls", "--format", "tsv").output.split(separator: "\n").count == 2)
    }

    @Test(arguments: ["/no/such/program", "no-such-program"])
    func `a missing program is reported before a key is made for it`(program: String) throws {
        let home = try IdentityHome()
        let command = ["identity", "create", "web", "--dns", "web.example", "--issuer", "exec:" + program]
        for options in [[], ["--dry-run"]] {
            let made = try Tool.keyfob(command + options, environment: home.environment).run()
            #expect(made.status == 1 && made.error.hasPrefix("keyfob: cannot start \(program): "), "\(made.error)")
            #expect(made.error.contains("\n    Give the program's path"), "\(made.error)")
        }
        #expect(try home.keyfob("key", "ls", "--format", "tsv").output.isEmpty)
    }

    @Test func `a key that is left without a certificate is reported, with how to go on and how to remove it`() throws {
        let home = try IdentityHome()
        let command = ["identity", "create", "my web", "--dns", "web.example", "--issuer", "exec:true"]
        for _ in 0..<2 {
            let failed = try Tool.keyfob(command, environment: home.environment).run()
            #expect(failed.status == 1, "\(failed.output)")
            #expect(failed.error.contains("\"true\" ended without printing a certificate."), "\(failed.error)")
            let remark = "The key is kept, and the next attempt uses it. To remove it: keyfob key rm 'my web'"
            #expect(failed.error.hasSuffix("\n    \(remark)\n"), "\(failed.error)")
            #expect(try home.keyfob("key", "ls", "--format", "tsv").output.split(separator: "\n").count == 2)
        }
        #expect(try home.keyfob("key", "rm", "my web", "--yes").status == 0)
        #expect(try home.keyfob("key", "ls", "--format", "tsv").output.isEmpty)

        try #require(home.keyfob("identity", "create", "web", "--dns", "web.example", "--self-signed").status == 0)
        let renewal = try home.keyfob("identity", "renew", "web", "--force", "--new-key", "--issuer", "exec:true")
        let label = renewal.error.firstMatch(of: /To remove it: keyfob key rm (web@[0-9-]+)/).map { String($0.1) }
        #expect(try home.keyfob("key", "rm", try #require(label, "\(renewal.error)"), "--yes").status == 0)
        #expect(try home.keyfob("identity", "check", "web").status == 0)
        // With the previous key, nothing is left.
        let same = try home.keyfob("identity", "renew", "web", "--force", "--issuer", "exec:true")
        #expect(same.status == 1 && !same.error.contains("The key is kept"), "\(same.error)")
    }
}
