import Foundation
import KeyfobPrimitives
import Testing

@testable import KeyfobCLI

/// The additional output of `-v` and `-vv`, and the certificates in `status`.
@Suite struct VerbosityTests {
    @Test func `-vv names each call of the token's module and its result, and no other value`() throws {
        let household = try TestHome.unattended()
        try household.set("x", "correct horse")
        let quiet = try household.keyfob(["get", "x", "-v"])
        #expect(quiet.output == "correct horse\n" && quiet.error.isEmpty, "\(quiet.error)")
        for flags in [["-vv"], ["-v", "-v"], ["-v", "--verbose"]] {
            let traced = try household.keyfob(["get", "x"] + flags)
            #expect(traced.output == "correct horse\n")
            let lines = traced.error.split(separator: "\n")
            #expect(lines.contains("keyfob: C_Decrypt CKR_OK"), "\(traced.error)")
            // Called once to find the token, and twice for its flags: before the PIN is read and before it is sent. The
            // free slot is not asked.
            #expect(lines.count { $0.contains("C_GetTokenInfo") } == 3, "\(traced.error)")
            #expect(
                lines.allSatisfy { $0.hasPrefix("keyfob: C_") || $0.hasPrefix("keyfob: p11_kit") }, "\(traced.error)")
            #expect(!traced.error.contains("horse"))
        }
    }

    @Test(arguments: [
        ["identity", "show", "web"], ["cert", "show", "web"], ["key", "show", "web"], ["token", "show"], ["status"],
        ["token", "show", "--objects"], ["keychain", "default"],
    ])
    func `requested output is printed with --quiet, too`(command: [String]) throws {
        let household = try TestHome.unattended()
        try #require(household.keyfob(["identity", "create", "web", "--cn", "web", "--self-signed"]).status == 0)
        let loud = try household.keyfob(command)
        let quiet = try household.keyfob(command + ["--quiet"])
        #expect(quiet.status == 0 && quiet.error.isEmpty, "\(quiet.error)")
        // The remaining time may differ between the two.
        let (loudLines, quietLines) = (loud.output.split(separator: "\n"), quiet.output.split(separator: "\n"))
        #expect(loudLines.first != nil && loudLines.first == quietLines.first, "\(quiet.output)")
        #expect(loudLines.count == quietLines.count, "\(quiet.output)")
    }

    @Test func `a check with --quiet reports problems only`() throws {
        let household = try TestHome.unattended()
        try #require(household.keyfob(["identity", "create", "web", "--cn", "web", "--self-signed"]).status == 0)
        // It is not trusted: that is one finding among good ones.
        let loud = try household.keyfob(["identity", "check", "web"])
        #expect(loud.output.contains("ok  key on token") && loud.output.contains("warn  "), "\(loud.output)")
        let quiet = try household.keyfob(["identity", "check", "web", "-q"])
        #expect(quiet.output.hasPrefix("warn  ") && !quiet.output.contains("ok  "), "\(quiet.output)")
        #expect(try household.keyfob(["keychain", "check", "-q"]).output.isEmpty)
        try household.set("a", "value")
        let damaged = try Tool(
            "/usr/bin/env",
            [
                "python3", "-c",
                "import sqlite3,sys;c=sqlite3.connect(sys.argv[1]);"
                    + "c.execute(\"update item set attributes_ciphertext = x'00'\");c.commit()",
                household.vault(),
            ]
        ).run()
        try #require(damaged.status == 0, "\(damaged.error)")
        let check = try household.keyfob(["keychain", "check", "-q"])
        #expect(check.status == 9 && check.output.hasPrefix("bad  "), "\(check.output)")
    }

    @Test func `a slow issuer is named for a user who watches`() throws {
        let home = try IdentityHome()
        // The issuer ends as soon as the notice is there, and reports how long that took, in milliseconds.
        try home.shell(
            """
            cat >issuer <<'SCRIPT'
            begun=$(date +%s%3N)
            for attempt in $(seq 1200); do
                if grep -q 'waiting for issuer command sh…$' '\(home.file("errors"))'; then
                    echo $(($(date +%s%3N) - begun)) >'\(home.file("patience"))'
                    break
                fi
                sleep 0.05
            done
            exit 1
            SCRIPT
            """)
        func create(_ issuer: String, _ options: String) throws -> Int32 {
            try Tool(
                "/bin/sh",
                [
                    "-c", "exec '\(Tool.keyfob([]).path)' identity create web --cn web --issuer \"exec:$1\" $2 2>\"$3\"", "sh",
                    issuer, options, home.file("errors"),
                ], environment: home.environment
            ).run().status
        }
        #expect(try create("sh '\(home.file("issuer"))'", "--progress always") == 1)
        let patience = try #require(
            Double(String(contentsOfFile: home.file("patience"), encoding: .utf8).trimmingBlanks))
        // Without a terminal nothing is printed in twice that time.
        #expect(try create("sh -c 'sleep \(patience / 500); exit 1'", "") == 1)
        let errors = try String(contentsOfFile: home.file("errors"), encoding: .utf8)
        #expect(errors.contains("keyfob: ") && !errors.contains("waiting for issuer"), "\(errors)")
    }

    @Test func `a token that cannot be reached is not reported as one without the key`() throws {
        let home = try IdentityHome()
        try #require(home.keyfob("identity", "create", "web", "--cn", "web", "--self-signed").status == 0)
        try #require(home.keyfob("unlock").status == 0)
        // Its configuration can be neither read nor written.
        try home.shell("cd home/.local/share/keyfob; rm softhsm2.conf; mkdir softhsm2.conf")
        let check = try home.keyfob("identity", "check", "web")
        #expect(check.status != 11 && check.output.isEmpty, "\(check.output)")
        #expect(check.error.contains("softhsm2.conf"), "\(check.error)")
    }

    @Test func `an older version of an identity is not the next to expire`() throws {
        let home = try IdentityHome()
        let made = try home.keyfob(
            "identity", "create", "web", "--cn", "web.example", "--self-signed", "--lifetime", "3d")
        try #require(made.status == 0, "\(made.error)")
        let renewed = try home.keyfob("identity", "renew", "web", "--force", "--self-signed", "--lifetime", "60d")
        try #require(renewed.status == 0, "\(renewed.error)")
        let status = try home.keyfob("status", "--json")
        #expect(status.output.contains("\"next_expiry\":{\"name\":\"web\","), "\(status.output)")
    }

    @Test func `an expired identity does not hide the next to expire, and is counted`() throws {
        let home = try IdentityHome()
        for (name, days) in [("fresh", 90), ("soon", 7), ("old", -3)] {
            try home.makeSelfSigned(name, days: days)
            let imported = try home.keyfob(
                "identity", "import", home.file(name + ".key"), home.file(name + ".pem"), "--name", name,
                "--allow-expired")
            try #require(imported.status == 0, "\(imported.error)")
        }
        let document = try home.keyfob("status", "--json")
        #expect(document.output.contains("\"expired\":1,\"next_expiry\":{\"name\":\"soon\","), "\(document.output)")
        let status = try home.keyfob("status")
        #expect(status.output.contains("\nnext        soon expires in "), "\(status.output)")
        #expect(status.output.contains("\nexpired     1 certificate: keyfob cert expiring\n"), "\(status.output)")
        // Alone it needs attention too.
        for name in ["fresh", "soon"] { try #require(home.keyfob("identity", "rm", name, "--yes").status == 0) }
        let attention = try home.keyfob("status", "--exit-code")
        #expect(attention.status == 10 && !attention.output.contains("\nnext "), "\(attention.output)")
    }
}
