import Foundation
import Testing

/// The selection of the keychain and the token of a command.
@Suite struct SelectorTests {
    /// A home with the keychains `login` (the default) and `other`, each on its own token. The value of item `name` is
    /// the keychain's name.
    private func household() throws -> TestHome {
        let household = try TestHome.unattended()
        try #require(try household.keyfob(["keychain", "create", "other", "--unattended"]).status == 0)
        for keychain in ["login", "other"] { try household.set("name", keychain, ["-k", keychain]) }
        return household
    }

    @Test func `an option overrides every variable, and a keychain overrides a token`() throws {
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

    @Test(arguments: ["login", "pkcs11:token=login"])
    func `init changes nothing if the keychain is on the named token`(token: String) throws {
        let household = try household()
        let again = try household.keyfob(["init", "--token", token])
        #expect(again.status == 0 && again.output.hasPrefix("Nothing to do"), "\(again.output)\(again.error)")
        #expect(try household.failure(["init", "--token", "pkcs11:token=elsewhere"]).status == 4)
    }

    @Test func `a missing keychain is accepted with the option for it, in any combination`() throws {
        let household = try household()
        for options in [[], ["--token", "other"], ["-k", "nope"]] {
            let result = try household.keyfob(["keychain", "rm", "nope", "--if-exists", "--yes"] + options)
            #expect(result.status == 0, "\(options): \(result.error)")
        }
    }

    @Test func `objects are removed from the named token, in spite of any variable`() throws {
        let household = try household()
        let removed = try household.keyfob(
            ["rm", "name", "--token", "other", "--yes"], environment: ["KEYFOB_KEYCHAIN": "login"])
        #expect(removed.status == 0, "\(removed.error)")
        #expect(try household.keyfob(["get", "name", "-k", "login"]).output == "login\n")
        #expect(try household.keyfob(["get", "name", "-k", "other"]).status == 3)
    }

    @Test(arguments: ["other", "pkcs11:token=other", "pkcs11:token=login;serial=0", "nowhere"])
    func `a keychain on another token than the named one is not changed`(token: String) throws {
        let household = try household()
        for command in [["rm", "name", "--yes"], ["get", "name"], ["lock"], ["status"], ["token", "show"]] {
            let result = try household.keyfob(command + ["--keychain", "login", "--token", token])
            #expect(result.status == 2 && result.output.isEmpty, "\(command) \(result.output)")
            #expect(result.error.contains("\"login\" is not on token \"\(token)\""), "\(command) \(result.error)")
        }
        #expect(try household.keyfob(["get", "name", "-k", "login"]).output == "login\n")
    }

    /// Commands that take their keychain, or their token, as an argument.
    private static let namings = [
        ["keychain", "show"], ["keychain", "check"], ["keychain", "default"], ["keychain", "rm", "--yes"], ["lock"],
        ["unlock"],
    ]

    @Test(arguments: namings + [["keychain", "create", "--if-missing", "--unattended"]])
    func `a name and an option for another keychain are refused`(command: [String]) throws {
        let household = try household()
        let result = try household.keyfob(command + ["login", "-k", "other"])
        #expect(result.status == 2 && result.output.isEmpty, "\(result.output)")
        #expect(result.error.contains("NAME and --keychain name different keychains"), "\(result.error)")
        for name in ["login", "other"] { #expect(try household.keyfob(["get", "name", "-k", name]).status == 0) }
        #expect(try household.keyfob(["keychain", "default"]).output == "login\n")
    }

    @Test(arguments: namings)
    func `a name with an option for the same keychain, or a variable for another, is accepted`(command: [String]) throws {
        let household = try household()
        let refused = try household.keyfob(command + ["login", "--token", "other"])
        #expect(refused.status == 2 && refused.output.isEmpty, "\(refused.output)")
        let one = try household.keyfob(command + ["login", "-k", "login", "--token", "login"])
        #expect(one.status == 0, "\(one.error)")
        let two = try household.keyfob(
            command + ["other"], environment: ["KEYFOB_KEYCHAIN": "nowhere", "KEYFOB_TOKEN": "nowhere"])
        #expect(two.status == 0, "\(two.error)")
    }

    @Test func `options without an effect on a command are refused`() throws {
        let household = try household()
        for more in [["-k", "login"], ["--token", "login"], ["login"]] {
            let result = try household.keyfob(["lock", "--all"] + more)
            #expect(result.status == 2 && result.error.contains("exclude each other"), "\(more) \(result.error)")
        }
        let renewal = try household.keyfob(["identity", "renew", "--all", "web"])
        #expect(renewal.status == 2 && renewal.error.contains("--all and a name exclude"), "\(renewal.error)")
        let token = try household.keyfob(["token", "show", "login", "--token", "other"])
        #expect(token.status == 2 && token.output.isEmpty)
        #expect(token.error.contains("NAME and --token name different tokens"), "\(token.error)")
        #expect(try household.keyfob(["token", "mechanisms", "login", "-k", "other"]).status == 2)
        let same = try household.keyfob(["token", "show", "other", "--token", "other", "-k", "other"])
        #expect(same.output.contains("token=other"), "\(same.error)")
        let uri = try household.keyfob(["uri", "web", "--type", "cert", "--for", "nginx"])
        #expect(uri.status == 2 && uri.error.contains("--type and --for exclude each other"), "\(uri.error)")
    }
}
