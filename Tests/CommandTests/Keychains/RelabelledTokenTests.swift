import Foundation
import TestSupport
import Testing

/// Keychains whose token has another label than before, or has a namesake.
@Suite struct RelabelledTokenTests {
    private let home: TestHome
    private let environment: [String: String]

    /// A keychain `card` with a password on the token `card`, behind the module that can show another label.
    init() throws {
        (home, environment) = try TestHome.withCard()
        let stored = try home.keyfob(["set", "a", "--stdin"], input: Data("value".utf8), environment: environment)
        try #require(stored.status == 0, "\(stored.error)")
    }

    private func keyfob(_ arguments: String..., showing words: String = "") throws -> Tool.Result {
        try home.keyfob(
            arguments,
            environment: environment.merging(["FAULTY_REFUSE": words, "KEYFOB_PIN_SOURCE": "env:CARD_PIN"]) { $1 })
    }

    private func configuration() throws -> String {
        try String(contentsOfFile: home.keychain("card") + "/keychain.json", encoding: .utf8)
    }

    @Test func `a token with another label is found by its serial number, and the label is recorded`() throws {
        _ = try keyfob("lock")
        let read = try keyfob("get", "a", showing: "label=karte")
        #expect(read.output == "value\n", "\(read.error)")
        #expect(try configuration().contains("token=karte"))
        #expect(try keyfob("token", "show", showing: "label=karte").output.contains("keychain  card"))
        #expect(try keyfob("get", "a", "--token", "karte", showing: "label=karte").output == "value\n")
        #expect(try keyfob("get", "a", showing: "label=card").output == "value\n")
    }

    @Test func `a URI names the label that the token has now`() throws {
        try #require(keyfob("key", "generate", "k").status == 0)
        let uri = try keyfob("uri", "k", showing: "label=karte")
        #expect(uri.output.contains("token=karte"), "\(uri.output)\(uri.error)")
    }

    @Test func `without a serial number, a changed label is reported, and the keychain is repointed`() throws {
        try useZeroSerial()
        _ = try keyfob("lock")
        let lost = try keyfob("get", "a", showing: "no-serial label=karte")
        #expect(lost.status == 7, "\(lost.error)")
        #expect(lost.error.contains("Token \"karte\" of the same model is present"), "\(lost.error)")
        #expect(lost.error.contains("keyfob keychain repoint card --token karte"), "\(lost.error)")
        let trial = try keyfob(
            "keychain", "repoint", "card", "--token", "karte", "--dry-run", showing: "no-serial label=karte")
        #expect(trial.status == 0 && trial.output.contains("Would"), "\(trial.error)")
        #expect(try !configuration().contains("token=karte"))
        let repointed = try keyfob(
            "keychain", "repoint", "card", "--token", "karte", "--json", showing: "no-serial label=karte")
        #expect(repointed.output.contains("\"action\":\"update\""), "\(repointed.error)")
        #expect(try keyfob("get", "a", showing: "no-serial label=karte").output == "value\n")
    }

    @Test func `a keychain is not pointed at a token without its wrapping key`() throws {
        try makeToken("other")
        // The keys of the unlocked state prove nothing about another token.
        try #require(keyfob("unlock").status == 0)
        let refused = try keyfob("keychain", "repoint", "card", "--token", "other")
        #expect(refused.status == 7 && refused.error.contains("does not have it"), "\(refused.error)")
        #expect(try configuration().contains("token=card"))
        #expect(try keyfob("get", "a").output == "value\n")
    }

    @Test func `of two tokens with one label, the serial number tells the right one`() throws {
        try makeToken("card")
        _ = try keyfob("lock")
        #expect(try keyfob("get", "a").output == "value\n")
    }

    @Test func `two tokens with one label and no serial number are reported as ambiguous`() throws {
        try useZeroSerial()
        try makeToken("card")
        _ = try keyfob("lock")
        let refused = try keyfob("get", "a", showing: "no-serial")
        #expect(refused.status == 4 && refused.error.contains("2 tokens fit"), "\(refused.error)")
    }

    /// Makes the keychain one on a token whose serial number consists of zeros.
    private func useZeroSerial() throws {
        let changed = try configuration().replacing(/serial=[0-9a-f]{16}/, with: "serial=0000000000000000")
        try home.directory.write(
            Array(changed.utf8), to: "home/.local/share/keyfob/keychains/card/keychain.json")
    }

    /// Makes a second token with the PIN of the first.
    private func makeToken(_ label: String) throws {
        let made = try Tool(
            "/usr/bin/env",
            [
                "softhsm2-util", "--module", TestToken.modulePath, "--init-token", "--free", "--label", label,
                "--so-pin", "12345678", "--pin", "1234",
            ],
            environment: environment
        ).run()
        try #require(made.status == 0, "\(made.error)")
    }
}
