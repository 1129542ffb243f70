import Foundation
import TestSupport
import Testing

/// Lists of keychains and of tokens, restricted by options.
@Suite struct ListChoiceTests {
    private func names(_ arguments: [String], _ member: String, in household: TestHome) throws -> [String] {
        let list = try household.document(arguments)[member] as? [[String: Any]] ?? []
        return list.compactMap { ($0["name"] ?? $0["label"]) as? String }
    }

    @Test func `a list contains the keychain or token that an option names, and all without options`() throws {
        let household = try TestHome.unattended()
        try #require(household.keyfob(["keychain", "create", "site", "--unattended"]).status == 0)
        for (command, member) in [("keychain", "keychains"), ("token", "tokens")] {
            for option in [["-k", "site"], ["--token", "site"], ["--token", "pkcs11:token=site"]] {
                #expect(try names([command, "ls"] + option, member, in: household) == ["site"], "\(command) \(option)")
            }
            let both = try names([command, "ls", "-k", "login", "--token", "login"], member, in: household)
            #expect(both == ["login"])
            // Variables select the keychain of other commands, and do not restrict lists.
            for variable in ["KEYFOB_KEYCHAIN", "KEYFOB_TOKEN"] {
                let all = try household.keyfob([command, "ls"], environment: [variable: "site"])
                #expect(all.status == 0 && all.output.contains("login") && all.output.contains("site"), "\(all)")
            }
        }
    }

    @Test func `an option for a missing keychain or token is an error`() throws {
        let household = try TestHome.unattended()
        for (arguments, code, status) in [
            (["keychain", "ls", "-k", "none"], "keychain.not_found", 3),
            (["keychain", "ls", "--token", "none"], "keychain.not_found", 3),
            (["token", "ls", "-k", "none"], "keychain.not_found", 3),
            (["token", "ls", "--token", "none"], "token.absent", 7),
            (["keychain", "ls", "-k", "login", "--token", "none"], "usage", 2),
            (["token", "ls", "-k", "login", "--token", "none"], "usage", 2),
        ] as [([String], String, Int32)] {
            let failure = try household.failure(arguments)
            #expect(failure.code == code && failure.status == status, "\(arguments): \(failure)")
        }
    }
}
