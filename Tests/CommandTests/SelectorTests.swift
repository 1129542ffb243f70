import Foundation
import Testing

/// Which keychain and which token a command works on.
@Suite struct SelectorTests {
    /// A household with the keychains `login`, the default, and `other`, each on its own token, whose item `name` has
    /// the keychain's name for its value.
    private func household() throws -> Household {
        let household = try Household.unattended()
        try #require(try household.keyfob(["keychain", "create", "other", "--unattended"]).status == 0)
        for keychain in ["login", "other"] { try household.set("name", keychain, ["-k", keychain]) }
        return household
    }

    @Test func `an option goes before every variable, and a keychain before a token`() throws {
        let household = try household()
        let rows: [(options: [String], environment: [String: String], keychain: String)] = [
            ([], [:], "login"),
            (["--token", "other"], ["KEYFOB_KEYCHAIN": "login"], "other"),
            (["--token", "login"], ["KEYFOB_KEYCHAIN": "other", "KEYFOB_TOKEN": "other"], "login"),
            (["-k", "other"], ["KEYFOB_KEYCHAIN": "login", "KEYFOB_TOKEN": "login"], "other"),
            ([], ["KEYFOB_KEYCHAIN": "other", "KEYFOB_TOKEN": "login"], "other"),
            ([], ["KEYFOB_KEYCHAIN": "other"], "other"), ([], ["KEYFOB_TOKEN": "other"], "other"),
            (["-k", "other", "--token", "other"], ["KEYFOB_KEYCHAIN": "login"], "other"),
            (["--token", "pkcs11:token=other", "-k", "other"], [:], "other"),
        ]
        for row in rows {
            let got = try household.keyfob(["get", "name"] + row.options, environment: row.environment)
            #expect(got.output == row.keychain + "\n", "\(row) \(got.error)")
            let token = try household.keyfob(["token", "show"] + row.options, environment: row.environment)
            #expect(token.output.contains("token=\(row.keychain)"), "\(row) \(token.output)\(token.error)")
        }
    }

    @Test func `what is removed from a token lies on that token, whatever a variable says`() throws {
        let household = try household()
        let removed = try household.keyfob(
            ["rm", "name", "--token", "other", "--yes"], environment: ["KEYFOB_KEYCHAIN": "login"])
        #expect(removed.status == 0, "\(removed.error)")
        #expect(try household.keyfob(["get", "name", "-k", "login"]).output == "login\n")
        #expect(try household.keyfob(["get", "name", "-k", "other"]).status == 3)
    }

    @Test(arguments: ["other", "pkcs11:token=other", "pkcs11:token=login;serial=0", "nowhere"])
    func `a keychain on another token than the one that was named is left alone`(token: String) throws {
        let household = try household()
        for command in [["rm", "name", "--yes"], ["get", "name"], ["lock"], ["status"], ["token", "show"]] {
            let result = try household.keyfob(command + ["--keychain", "login", "--token", token])
            #expect(result.status == 2 && result.output.isEmpty, "\(command) \(result.output)")
            #expect(result.error.contains("\"login\" is not on token \"\(token)\""), "\(command) \(result.error)")
        }
        #expect(try household.keyfob(["get", "name", "-k", "login"]).output == "login\n")
    }
}
