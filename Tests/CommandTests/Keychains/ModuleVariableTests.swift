import Foundation
import TestSupport
import Testing

/// `KEYFOB_MODULE`: which PKCS#11 module commands look at.
@Suite struct ModuleVariableTests {
    /// A household with a token `card` behind a module that p11-kit does not know.
    private func make() throws -> (household: Household, module: String, environment: [String: String]) {
        let household = try Household()
        let module = household.directory.file("faulty.so")
        try FaultyModule.build(module)
        let environment = try household.makeCard().merging(["FAULTY_TARGET": TestToken.modulePath]) { $1 }
        return (household, module, environment)
    }

    private func output(
        _ arguments: [String], in household: Household, _ environment: [String: String]
    ) throws -> [String: Any] {
        let result = try household.keyfob(arguments + ["--json"], environment: environment)
        try #require(result.status == 0, "\(result.error)")
        return try #require(try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
    }

    @Test func `its tokens are listed, shown and described, and those of no other module`() throws {
        let (household, module, environment) = try make()
        let ours = environment.merging(["KEYFOB_MODULE": module]) { $1 }
        let tokens = try #require(try output(["token", "ls"], in: household, ours)["tokens"] as? [[String: Any]])
        #expect(tokens.map { $0["label"] as? String } == ["card"])
        #expect(tokens.map { $0["module"] as? String } == [module])
        #expect(try output(["token", "show", "card"], in: household, ours)["module"] as? String == module)
        #expect(try output(["token", "mechanisms", "card"], in: household, ours)["token"] as? String == "card")
    }

    @Test func `a URI that names a module goes before it`() throws {
        let (household, module, environment) = try make()
        let other = environment.merging(["KEYFOB_MODULE": "/no/such.so"]) { $1 }
        let uri = "pkcs11:token=card?module-path=" + module
        #expect(try output(["token", "show", uri], in: household, other)["module"] as? String == module)
        let made = try household.keyfob(
            ["init", "--keychain", "card", "--token", uri, "--pin-source", "env:CARD_PIN"], environment: other)
        #expect(made.status == 0, "\(made.error)")
    }

    @Test(arguments: ["/no/such.so", "nobody-knows-it", "/etc/passwd"], [["ls"], ["show", "x"], ["mechanisms", "x"]])
    func `a module that cannot be loaded is named`(module: String, arguments: [String]) throws {
        let household = try Household()
        let result = try household.keyfob(["token"] + arguments, environment: ["KEYFOB_MODULE": module])
        #expect(result.status == 7 && result.output.isEmpty, "\(result.error)")
        #expect(
            result.error.contains("PKCS#11 module \"\(module)\"")
                && result.error.contains("KEYFOB_MODULE"), "\(result.error)")
        let failure = try household.failure(["token"] + arguments, environment: ["KEYFOB_MODULE": module])
        #expect(failure.code == "module.not_loaded")
    }
}
