import Foundation
import TestSupport
import Testing

/// A keychain whose token has lost the key that seals it.
@Suite struct LostWrappingKeyTests {
    @Test func `the hint is to restore the token, and the key is not reported to stay`() throws {
        let household = try TestHome()
        let environment = try household.makeCard()
        let made = try household.keyfob(
            [
                "init", "--keychain", "card", "--token", "card", "--module", TestToken.modulePath, "--pin-source",
                "env:CARD_PIN",
            ], environment: environment)
        try #require(made.status == 0, "\(made.error)")
        let deleted = try Tool(
            "/usr/bin/env",
            [
                "pkcs11-tool", "--module", TestToken.modulePath, "--token-label", "card", "--login", "--pin",
                "env:CARD_PIN", "--delete-object", "--type", "secrkey", "--label", "keyfob-wrap-1-card",
            ], environment: environment
        ).run()
        try #require(deleted.status == 0, "\(deleted.error)")
        // Monitoring uses this command.
        let status = try household.keyfob(["status", "--exit-code", "-k", "card"], environment: environment)
        #expect(status.status == 10 && status.output.contains("its passwords cannot be opened"), "\(status.output)")
        for options in [[], ["--accept", "--yes"]] {
            let checked = try household.keyfob(["keychain", "check", "card"] + options, environment: environment)
            #expect(checked.status == 9)
            #expect(checked.output.contains("re-initialised or exchanged"), "\(checked.output)")
            #expect(!checked.output.contains("Restore the vault"), "\(checked.output)")
            #expect(!checked.output.contains("--accept") && !checked.output.contains("Accepted"), "\(checked.output)")
        }
        let removed = try household.keyfob(["keychain", "rm", "card", "--yes"], environment: environment)
        #expect(removed.status == 0 && removed.output.contains("no longer exists"), "\(removed.output)")
    }
}
