import Foundation
import TestSupport
import Testing

extension Household {
    /// A household whose keychain `card` is on a SoftHSM token of that label, behind the module of `Tests/FaultyModule`.
    ///
    /// - Parameter words: What the module refuses from the beginning; see `faulty.c`.
    /// - Returns: With the environment that its commands need; `FAULTY_REFUSE` has the words.
    static func withCard(refusing words: String = "") throws -> (Household, [String: String]) {
        let household = try Household()
        let tokens = household.directory.file("card-tokens")
        try FileManager.default.createDirectory(atPath: tokens, withIntermediateDirectories: false)
        let configuration = try household.directory.write(
            Array("directories.tokendir = \(tokens)\nobjectstore.backend = file\nlog.level = ERROR\n".utf8), to: "card.conf")
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../FaultyModule/faulty.c").standardized.path
        let module = household.directory.file("faulty.so")
        let built = try Tool(
            "/bin/sh",
            ["-c", "cc -shared -fPIC $(pkg-config --cflags p11-kit-1) \"$1\" -ldl -o \"$2\"", "sh", source, module]
        ).run()
        try #require(built.status == 0, "\(built.error)")
        let environment = [
            "SOFTHSM2_CONF": configuration, "CARD_PIN": "1234", "FAULTY_TARGET": TestToken.modulePath, "FAULTY_REFUSE": words,
        ]
        let made = try Tool(
            "/usr/bin/env",
            [
                "softhsm2-util", "--module", TestToken.modulePath, "--init-token", "--free", "--label", "card", "--so-pin",
                "12345678", "--pin", "1234",
            ],
            environment: environment
        ).run()
        try #require(made.status == 0, "\(made.error)")
        let created = try household.keyfob(
            ["init", "--keychain", "card", "--token", "card", "--module", module, "--pin-source", "env:CARD_PIN"],
            environment: environment)
        try #require(created.status == 0, "\(created.error)")
        return (household, environment)
    }
}
