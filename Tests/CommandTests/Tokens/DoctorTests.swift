import Foundation
import TestSupport
import Testing

/// `keyfob doctor`, and the profiles of the tokens that it meets.
@Suite struct DoctorTests {
    /// Results by capability.
    private func results(_ document: [String: Any]) throws -> [String: String] {
        let list = try #require(document["capabilities"] as? [[String: Any]])
        return Dictionary(
            uniqueKeysWithValues: list.compactMap { entry in
                guard let name = entry["capability"] as? String, let result = entry["result"] as? String else {
                    return nil
                }
                return (name, result)
            })
    }

    private static let profiles: [TokenKind: [String]] = [
        .softhsm: ["SoftHSM library", "SoftHSM token"], .nss: ["NSS softokn"],
        .remote: ["SoftHSM token", "remote protocol of p11-kit"],
        .tpm2: ["tpm2-pkcs11"], .piv: ["OpenSC"],
    ]

    /// What each token does, as measured; the other capabilities work.
    private static let failures: [TokenKind: Set<String>] = [
        .softhsm: ["rsa-oaep-sha256"], .nss: [],
        .remote: ["rsa-oaep-sha256", "key-agreement", "wrap-A256GCMKW", "wrap-A256KW", "wrap-ECDH-ES+A256KW"],
        .tpm2: ["key-import", "key-agreement", "wrap-A256GCMKW", "wrap-A256KW", "wrap-ECDH-ES+A256KW"],
    ]

    @Test(.enabled(if: !TokenKind.forCommands.isEmpty, "Scripts/install-dependencies tokens"), arguments: TokenKind.forCommands)
    func `a token is recognised, tried, and left as it was`(kind: TokenKind) throws {
        let token = try TokenHome(kind)
        let show = ["token", "show", "--objects", "--pin-source", "file:" + token.pin] + token.selection
        let before = try token.document(show).members["objects"] as? [[String: Any]]
        let (status, members) = try token.document(["doctor", "--pin-source", "file:" + token.pin] + token.selection)
        #expect(status == 0)
        #expect(members["profiles"] as? [String] == Self.profiles[kind])
        #expect(members["ok"] as? Bool == true)
        #expect(members["leftovers"] as? Int == 0)
        let results = try results(members)
        #expect(results["login"] == "works")
        if let failures = Self.failures[kind] {
            #expect(Set(results.filter { $0.value != "works" }.keys) == failures)
        } else {
            #expect(results["present-key"] == "works")
            #expect(results["random-numbers"] == "fails")
        }
        let after = try token.document(show).members["objects"] as? [[String: Any]]
        #expect(before?.count == after?.count)
    }

    @Test func `without a PIN it tries what needs no login, says so, and exits with 6`() throws {
        let home = try TestHome()
        let environment = try home.makeCard()
        let options = ["doctor", "--token", "card", "--module", TestToken.modulePath]
        let result = try home.keyfob(options + ["--json"], environment: environment)
        #expect(result.status == 6, "\(result.error)")
        let members = try #require(
            try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
        let results = try results(members)
        #expect(results["random-numbers"] == "works")
        #expect(results["ec-keys"] == "untried")
        let advice = try #require(members["advice"] as? [String])
        #expect(advice.contains { $0.contains("--pin-source") }, "\(advice)")
        let text = try home.keyfob(options, environment: environment)
        #expect(text.output.contains("needs a login"), "\(text.output)")
    }

    @Test func `the keychain on the token is checked, and a damaged one exits with 9`() throws {
        let home = try TestHome.unattended()
        try home.set("a", "secret")
        #expect(try home.document(["doctor"])["findings"] as? [[String: String]] == [])
        let damaged = try Tool("/usr/bin/env", [
            "python3", "-c",
            """
            import sqlite3, sys
            vault = sqlite3.connect(sys.argv[1])
            vault.execute("delete from item")
            vault.commit()
            """, home.vault(),
        ]).run()
        try #require(damaged.status == 0, "\(damaged.error)")
        let result = try home.keyfob(["doctor"])
        #expect(result.status == 9, "\(result.error)")
        #expect(result.output.contains("keyfob keychain check login"), "\(result.output)")
    }

    @Test func `a dry run makes nothing on the token`() throws {
        let home = try TestHome.unattended()
        let result = try home.keyfob(["doctor", "--dry-run"])
        #expect(result.status == 6, "\(result.error)")
        #expect(result.output.contains("untried"), "\(result.output)")
    }

    @Test func `a wrong PIN ends with the status of wrong PINs`() throws {
        let home = try TestHome()
        let environment = try home.makeCard()
        let result = try home.keyfob(
            ["doctor", "--token", "card", "--module", TestToken.modulePath],
            environment: environment.merging(["KEYFOB_PIN_SOURCE": "env:WRONG", "WRONG": "9999"]) { $1 })
        #expect(result.status == 5, "\(result.output)\(result.error)")
    }

    @Test func `status shows the suite that wraps`() throws {
        let home = try TestHome.unattended()
        #expect(try home.document(["status"])["wrap_suite"] as? String == "A256GCMKW")
        #expect(try home.keyfob(["status"]).output.contains("wrapping    A256GCMKW"))
    }
}
