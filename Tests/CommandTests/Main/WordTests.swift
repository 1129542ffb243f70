import Foundation
import TestSupport
import Testing

@testable import KeyfobCLI

/// Words that users of other programs try, and the forms of answers and times.
@Suite struct WordTests {
    @Test func `edit, show, generate and copy need no noun`() throws {
        let home = try TestHome.unattended()
        #expect(try home.keyfob(["generate", "a", "--length", "12"]).status == 0)
        #expect(try home.keyfob(["copy", "a", "b"]).status == 0)
        #expect(try home.keyfob(["get", "b"]).output == home.keyfob(["get", "a"]).output)
        #expect(try home.document(["show", "b"])["name"] as? String == "b")
        #expect(try home.keyfob(["edit", "--help"]).output.contains("editor"))
    }

    @Test(arguments: [
        ("totp", "keyfob otp get NAME"), ("grep", "keyfob find TEXT"), ("add", "keyfob set NAME"),
        ("passwd", "keyfob keychain passphrase"),
    ])
    func `a verb of another program is answered with the command`(word: String, command: String) throws {
        let result = try Tool.keyfob([word, "x"]).run()
        #expect(result.status == 2)
        #expect(result.error.contains("For that: \(command)\n"), "\(result.error)")
    }

    @Test(arguments: [
        ("no", false), ("0", false), ("FALSE", false), ("off", false), ("", false), ("1", true), ("yes", true),
    ])
    func `a switch in a variable may say no`(value: String, isOn: Bool) {
        let name = "KEYFOB_TEST_SWITCH_" + value
        unsafe setenv(name, value, 1)
        defer { unsafe unsetenv(name) }
        #expect(Environment.isOn(name) == isOn)
    }

    @Test func `with KEYFOB_NO_INPUT=no, a passphrase is asked for`() throws {
        let home = try TestHome.withPassphrase("open sesame")
        let unlock = try home.keyfob(["unlock"], typing: ["open sesame"], environment: ["KEYFOB_NO_INPUT": "no"])
        #expect(unlock.result.status == 0, "\(unlock.result.error)")
    }

    @Test func `people see times in their zone, and documents have UTC`() throws {
        let home = try TestHome.unattended()
        let zone = ["TZ": "XYZ-05:30"]
        let created = try #require(home.document(["keychain", "show"])["created"] as? String)
        #expect(created.hasSuffix("Z"))
        let date = try #require(ISO8601DateFormatter().date(from: created))
        let shown = try home.keyfob(["keychain", "show"], environment: zone).output
        let local = try #require(shown.firstMatch(of: /created +(\S+)/)?.1)
        #expect(local.hasSuffix("+05:30"), "\(shown)")
        #expect(ISO8601DateFormatter().date(from: String(local)) == date)
        let document = try home.keyfob(["keychain", "show", "--json"], environment: zone).output
        #expect(document.contains("\"created\":\"\(created)\""), "\(document)")
    }
}
