import Foundation
import TestSupport
import Testing

/// ACME servers that say when to renew (ACME Renewal Information, RFC 9773).
@Suite struct RenewalInformationTests {
    private let home: IdentityHome
    private let server: ScriptedACMEServer

    init() throws {
        home = try IdentityHome()
        server = try ScriptedACMEServer(home, fault: "")
    }

    private func create(_ name: String = "web") throws {
        let made = try home.keyfob(
            "identity", "create", name, "--dns", name + ".example", "--issuer", "acme:" + server.directory, "--web-root",
            home.file("www"), "--acme-ca", home.file("acme-ca.pem"))
        try #require(made.status == 0, "\(made.error)")
    }

    /// Has the server suggest a window, in hours from now.
    private func suggest(_ hours: ClosedRange<Int>) throws {
        let form = Date.ISO8601FormatStyle()
        let (start, end) = (Date() + Double(hours.lowerBound) * 3600, Date() + Double(hours.upperBound) * 3600)
        try home.directory.write(
            """
            {"suggestedWindow": {"start": "\(start.formatted(form))", "end": "\(end.formatted(form))"},
            "explanationURL": "https://acme.example/why"}
            """.utf8, to: "renewal-info")
    }

    /// The number of times that the server was asked.
    private func questions() throws -> Int {
        try home.shell("cat questions 2> /dev/null || true").split(separator: "\n").count
    }

    private func orders() throws -> Int { try home.shell("cat orders").split(separator: "\n").count }

    /// Changes the record of the answer, so that the answer is no longer valid.
    private func age() throws {
        try home.shell(
            """
            for file in home/.local/state/keyfob/renewal-times/*/*; do
                sed -i 's/"nextQuestion":[0-9.]*/"nextQuestion":1/' $file
            done
            """)
    }

    /// The seconds until the server may be asked again.
    private func pause() throws -> TimeInterval {
        let record = try home.shell("cat home/.local/state/keyfob/renewal-times/*/*")
        let object = try JSONSerialization.jsonObject(with: Data(record.utf8)) as? [String: Any]
        let time = try #require(object?["nextQuestion"] as? Double)
        return Date(timeIntervalSinceReferenceDate: time).timeIntervalSinceNow
    }

    private func due() throws -> Date {
        let document = try IdentityHome.json(home.keyfob("identity", "show", "web", "--json"))
        return try #require((document["renewal_due"] as? String).flatMap { ISO8601DateFormatter().date(from: $0) })
    }

    @Test func `the server is asked as often as it wants, and a time in its window is kept`() throws {
        try create()
        try suggest(10...20)
        let early = try home.keyfob("identity", "renew", "--all")
        #expect(early.status == 0)
        #expect(early.output.isEmpty)
        #expect(early.error.isEmpty)
        #expect(try questions() == 1)
        let first = try due()
        #expect((9.9 * 3600...20 * 3600).contains(first.timeIntervalSinceNow), "\(first)")

        let again = try home.keyfob("identity", "renew", "web")
        #expect(again.output.contains(", as its issuer suggests. Use --force"), "\(again.output)")
        #expect(try questions() == 1)
        // The answer is old, and the window is the same.
        try age()
        #expect(try home.keyfob("identity", "renew", "--all").status == 0)
        #expect(try questions() == 2)
        #expect(try due() == first)
        try age()
        try suggest(30...31)
        #expect(try home.keyfob("identity", "renew", "--all").status == 0)
        #expect(try (29.9 * 3600...31 * 3600).contains(due().timeIntervalSinceNow))
        #expect(try orders() == 1)
    }

    // The last two are limits: a minute and a day.
    @Test(arguments: [("7200", 7200.0), ("1", 60), ("900000", 86_400)])
    func `an answer is valid for as long as the server says`(answer: String, seconds: TimeInterval) throws {
        try create()
        try suggest(10...20)
        try home.directory.write(answer.utf8, to: "retry-after")
        #expect(try home.keyfob("identity", "renew", "--all").status == 0)
        // Less by the time since the question.
        #expect(try (seconds - 50...seconds).contains(pause()))
    }

    @Test func `a time that has passed renews, and the order names the certificate that it replaces`() throws {
        try create()
        let identifier = try home.shell(
            """
            python3 - <<END
            import base64, subprocess
            def field(*words):
                return subprocess.run(["openssl", "x509", "-in", "out.pem", "-noout", *words], check=True,
                    capture_output=True, text=True).stdout
            def encoded(text): return base64.urlsafe_b64encode(bytes.fromhex(text)).decode().rstrip("=")
            key = field("-ext", "authorityKeyIdentifier").split("\\n")[1].strip().removeprefix("keyid:").replace(":", "")
            number = field("-serial").strip().removeprefix("serial=")
            if int(number[0], 16) >= 8: number = "00" + number
            print(encoded(key) + "." + encoded(number))
            END
            """
        ).trimmingCharacters(in: .newlines)
        try suggest(-2...(-1))
        let renewed = try home.keyfob("identity", "renew", "--all")
        #expect(renewed.status == 0, "\(renewed.error)")
        #expect(renewed.output.contains("renewing as its issuer suggests (issuer: acme"), "\(renewed.output)")
        #expect(renewed.output.contains("  the reason: https://acme.example/why\n"), "\(renewed.output)")
        #expect(try home.shell("cat questions") == "renewalInfo/\(identifier)\n")
        #expect(try home.shell("tail -n 1 wishes") == "{\"replaces\": \"\(identifier)\"}\n")
        #expect(try orders() == 2)
        // The record is about the old certificate.
        try suggest(30...31)
        #expect(try home.keyfob("identity", "renew", "--all").output.isEmpty)
        #expect(try questions() == 2)
    }

    @Test func `an order for a certificate that was replaced already is placed again without it`() throws {
        try create()
        try suggest(-2...(-1))
        try home.shell("touch replaced")
        let renewed = try home.keyfob("identity", "renew", "web")
        #expect(renewed.status == 0, "\(renewed.error)")
        let wishes = try home.shell("cat wishes").split(separator: "\n")
        #expect(wishes.count == 3)
        #expect(wishes[1].hasPrefix("{\"replaces\": "))
        #expect(wishes[2] == "{}")
    }

    @Test func `a server that does not answer is asked once, and renewals follow the usual policy`() throws {
        try create()
        try suggest(10...20)
        server.stop()
        let silent = try home.keyfob("identity", "renew", "--all", "-v")
        #expect(silent.status == 0)
        #expect(silent.error.contains("no time of renewal for web: "), "\(silent.error)")
        let again = try home.keyfob("identity", "renew", "--all", "-v")
        #expect(again.status == 0)
        #expect(again.error.isEmpty, "\(again.error)")
        // 66% of five days.
        #expect(try (78.0 * 3600...80 * 3600).contains(due().timeIntervalSinceNow))
    }

    @Test(arguments: ["{}", "[]", "{\"suggestedWindow\": {\"start\": \"soon\", \"end\": \"later\"}}"])
    func `an invalid answer changes nothing`(answer: String) throws {
        try create()
        try create("other")
        try home.directory.write(answer.utf8, to: "renewal-info")
        let silent = try home.keyfob("identity", "renew", "--all")
        #expect(silent.status == 0)
        #expect(silent.output.isEmpty)
        #expect(silent.error.isEmpty, "\(silent.error)")
        #expect(try orders() == 2)
        // An answer about one certificate says nothing about another one.
        #expect(try questions() == 2)
    }

    @Test func `a dry run asks nothing, and a window that ends before it begins is ignored`() throws {
        try create()
        try suggest(-2...(-1))
        #expect(try home.keyfob("identity", "renew", "web", "--dry-run").status == 0)
        #expect(try questions() == 0)
        try home.directory.write(
            "{\"suggestedWindow\": {\"start\": \"2025-01-02T04:00:00Z\", \"end\": \"2025-01-01T00:00:00Z\"}}".utf8,
            to: "renewal-info")
        #expect(try home.keyfob("identity", "renew", "web").status == 0)
        #expect(try orders() == 1)
    }
}
