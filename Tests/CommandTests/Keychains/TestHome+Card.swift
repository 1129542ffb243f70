import Foundation
import TestSupport
import Testing

extension TestHome {
    /// A home whose keychain `card` is on a SoftHSM token with that label, behind the module of `Tests/FaultyModule`.
    ///
    /// - Parameter words: The refusals of the module from the beginning; see `faulty.c`.
    /// - Returns: The home, and the environment for commands; `FAULTY_REFUSE` contains the words.
    static func withCard(refusing words: String = "") throws -> (TestHome, [String: String]) {
        let household = try TestHome()
        let module = household.directory.file("faulty.so")
        try FaultyModule.build(module)
        let environment = try household.makeCard().merging(
            ["FAULTY_TARGET": TestToken.modulePath, "FAULTY_REFUSE": words]) { $1 }
        let created = try household.keyfob(
            ["init", "--keychain", "card", "--token", "card", "--module", module, "--pin-source", "env:CARD_PIN"],
            environment: environment)
        try #require(created.status == 0, "\(created.error)")
        return (household, environment)
    }

    /// Makes a SoftHSM directory with one token, labelled `card`, as a vendor's tool would.
    ///
    /// - Returns: The environment for commands; `CARD_PIN` is the PIN.
    func makeCard() throws -> [String: String] {
        let tokens = directory.file("card-tokens")
        try FileManager.default.createDirectory(atPath: tokens, withIntermediateDirectories: false)
        let configuration = try directory.write(
            Array("directories.tokendir = \(tokens)\nobjectstore.backend = file\nlog.level = ERROR\n".utf8),
            to: "card.conf")
        let environment = ["SOFTHSM2_CONF": configuration, "CARD_PIN": "1234"]
        let made = try Tool(
            "/usr/bin/env",
            [
                "softhsm2-util", "--module", TestToken.modulePath, "--init-token", "--free", "--label", "card",
                "--so-pin",
                "12345678", "--pin", "1234",
            ],
            environment: environment
        ).run()
        try #require(made.status == 0, "\(made.error)")
        return environment
    }
}
