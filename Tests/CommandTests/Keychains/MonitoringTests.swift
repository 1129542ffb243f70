import Foundation
import TestSupport
import Testing

/// Reports about all keychains, for monitoring.
@Suite struct MonitoringTests {
    /// A home with the keychains `login`, which has a certificate that is valid for 90 days, and `site`, which has one
    /// for 7 days and an expired one.
    private static func home() throws -> IdentityHome {
        let home = try IdentityHome()
        try #require(home.keyfob("keychain", "create", "site", "--unattended").status == 0)
        for (name, days, keychain) in [("fresh", 90, "login"), ("soon", 7, "site"), ("old", -3, "site")] {
            try home.makeSelfSigned(name, days: days)
            let result = try home.keyfob(
                "identity", "import", home.file(name + ".key"), home.file(name + ".pem"), "--name", name,
                "--allow-expired", "-k", keychain)
            try #require(result.status == 0, "\(result.error)")
        }
        return home
    }

    @Test func `expiring certificates of all keychains are listed, expired ones first`() throws {
        let home = try Self.home()
        let due = try home.keyfob("cert", "expiring", "--all", "--exit-code")
        #expect(due.status == 10, "\(due.error)")
        let rows = due.output.split(separator: "\n").map { $0.split(separator: " ").prefix(2).map(String.init) }
        #expect(rows == [["site", "old"], ["site", "soon"]])
        let document = try IdentityHome.json(home.keyfob("cert", "expiring", "--all", "--within", "100d", "--json"))
        let list = try #require(document["certificates"] as? [[String: Any]])
        #expect(list.compactMap { $0["name"] as? String } == ["old", "soon", "fresh"])
        #expect(list.compactMap { $0["keychain"] as? String } == ["site", "site", "login"])
        #expect(try home.keyfob("cert", "expiring", "--exit-code").status == 0)
        #expect(try home.keyfob("cert", "expiring", "--all", "-k", "site").status == 2)
    }

    @Test func `a keychain that cannot be read hides no other one`() throws {
        let home = try Self.home()
        try home.shell("echo broken > home/.local/share/keyfob/keychains/login/keychain.json")
        let due = try home.keyfob("cert", "expiring", "--all")
        #expect(due.status == 9)
        #expect(due.output.contains("site   old"), "\(due.output)")
        let status = try home.keyfob("status", "--all", "--exit-code")
        #expect(status.status == 10)
        #expect(status.output.contains("login      damaged"), "\(status.output)")
        let metrics = try home.keyfob("status", "--all", "--format", "prometheus").output
        #expect(metrics.contains("keyfob_keychain_problem{keychain=\"login\"} 1\n"), "\(metrics)")
        #expect(metrics.contains("keyfob_keychain_problem{keychain=\"site\"} 0\n"), "\(metrics)")
    }

    @Test func `the status of all keychains begins with those that need attention`() throws {
        let home = try Self.home()
        let status = try home.keyfob("status", "--all", "--exit-code")
        #expect(status.status == 10)
        let rows = status.output.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        #expect(rows.map(\.first) == ["KEYCHAIN", "site", "login"])
        let document = try IdentityHome.json(home.keyfob("status", "--all", "--json"))
        let list = try #require(document["keychains"] as? [[String: Any]])
        #expect(list.compactMap { $0["expired"] as? Int } == [1, 0])
    }

    @Test func `metrics have the form that Prometheus reads`() throws {
        let home = try Self.home()
        let text = try home.keyfob("cert", "expiring", "--all", "--format", "prometheus").output
            + home.keyfob("status", "--all", "--format", "prometheus").output
        let end = try home.shell("date -u -d \"$(openssl x509 -in soon.pem -noout -enddate | cut -d= -f2)\" +%s")
        let sample = text.split(separator: "\n").first { $0.contains("name=\"soon\"") }
        #expect(sample?.hasPrefix("keyfob_certificate_expiry_timestamp_seconds{keychain=\"site\"") == true)
        #expect(sample?.hasSuffix("} " + end.trimmingCharacters(in: .newlines)) == true, "\(text)")
        #expect(text.contains("keyfob_certificates_expired{keychain=\"site\"} 1\n"))
        #expect(text.contains("keyfob_keychain_locked{keychain=\"login\"} 0\n"))
        var known: Set<String> = []
        for line in text.split(separator: "\n") {
            if let match = line.wholeMatch(of: /# TYPE ([a-z_]+) gauge/) {
                // All samples of a name follow its only type line.
                #expect(known.insert(String(match.1)).inserted)
            } else if !line.hasPrefix("# HELP ") {
                let match = line.wholeMatch(of: /([a-z_]+)\{[a-z]+="[^\n]*"\} [0-9]+/)
                #expect(match.map { known.contains(String($0.1)) } == true, "\(line)")
            }
        }
        #expect(try home.keyfob("ls", "--format", "prometheus").status == 2)
    }

    @Test func `each series is unique, and its labels are escaped`() throws {
        let card = try CardKeychain()
        for name in ["twice", "odd"] { try card.makeFiles(name) }
        for id in ["01", "02"] { try card.write("crt", of: "twice", id: id) }
        try card.write("crt", of: "odd", id: "03", label: #"a"b\c"#)
        try #require(card.countOfObjects(labelled: "twice") == 2)
        let metrics = try card.keyfob("cert", "expiring", "--format", "prometheus").output
        let series = metrics.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
            String(line.prefix(upTo: line.lastIndex(of: " ") ?? line.endIndex))
        }
        #expect(series.count == 2 && Set(series).count == 2, "\(metrics)")
        #expect(metrics.contains(#"name="a\"b\\c""#), "\(metrics)")
        let listed = try card.keyfob("cert", "expiring", "--within", "100d").output
        #expect(listed.split(separator: "\n").count == 2, "\(listed)")
    }
}
