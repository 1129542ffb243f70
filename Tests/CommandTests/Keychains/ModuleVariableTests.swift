import Foundation
import TestSupport
import Testing

/// `KEYFOB_MODULE`, the PKCS#11 module that commands use.
@Suite struct ModuleVariableTests {
    /// A home with a token `card`, and a module for it that p11-kit does not know.
    private func make() throws -> (household: TestHome, module: String, environment: [String: String]) {
        let household = try TestHome()
        let module = household.directory.file("faulty.so")
        try FaultyModule.build(module)
        let environment = try household.makeCard().merging(["FAULTY_TARGET": TestToken.modulePath]) { $1 }
        return (household, module, environment)
    }

    private func output(
        _ arguments: [String], in household: TestHome, _ environment: [String: String]
    ) throws -> [String: Any] {
        let result = try household.keyfob(arguments + ["--json"], environment: environment)
        try #require(result.status == 0, "\(result.error)")
        return try #require(try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
    }

    @Test func `only the tokens of the named module are listed and shown`() throws {
        let (household, module, environment) = try make()
        let ours = environment.merging(["KEYFOB_MODULE": module]) { $1 }
        let tokens = try #require(try output(["token", "ls"], in: household, ours)["tokens"] as? [[String: Any]])
        #expect(tokens.map { $0["label"] as? String } == ["card"])
        #expect(tokens.map { $0["module"] as? String } == [module])
        for member in ["module", "module_path"] {
            #expect(try output(["token", "show", "card"], in: household, ours)[member] as? String == module)
        }
        #expect(try output(["token", "mechanisms", "card"], in: household, ours)["token"] as? String == "card")
    }

    @Test func `the output of other modules does not appear in an error`() throws {
        // The modules of this machine; some print a dozen lines if their device is missing.
        let household = try TestHome()
        let result = try household.keyfob(["init", "-k", "other", "--token", "no such token", "--json"])
        #expect(result.status == 7)
        #expect(result.error.split(separator: "\n").count == 1, "\(result.error)")
        let object = try JSONSerialization.jsonObject(with: Data(result.error.utf8)) as? [String: Any]
        let error = try #require(object?["error"] as? [String: Any])
        #expect(error["code"] as? String == "token.absent")
        #expect((error["details"] as? [String: Any])?["token"] as? String == "no such token")
    }

    @Test func `the module of a URI takes precedence over the variable`() throws {
        let (household, module, environment) = try make()
        let other = environment.merging(["KEYFOB_MODULE": "/no/such.so"]) { $1 }
        let uri = "pkcs11:token=card?module-path=" + module
        #expect(try output(["token", "show", uri], in: household, other)["module"] as? String == module)
        let made = try household.keyfob(
            ["init", "--keychain", "card", "--token", uri, "--pin-source", "env:CARD_PIN"], environment: other)
        #expect(made.status == 0, "\(made.error)")
    }

    @Test(arguments: ["/no/such.so", "unknown-module", "/etc/passwd"], [["ls"], ["show", "x"], ["mechanisms", "x"]])
    func `a module that cannot be loaded is named`(module: String, arguments: [String]) throws {
        let household = try TestHome()
        let result = try household.keyfob(["token"] + arguments, environment: ["KEYFOB_MODULE": module])
        #expect(result.status == 7 && result.output.isEmpty, "\(result.error)")
        #expect(
            result.error.contains("PKCS#11 module \"\(module)\"")
                && result.error.contains("KEYFOB_MODULE"), "\(result.error)")
        let failure = try household.failure(["token"] + arguments, environment: ["KEYFOB_MODULE": module])
        #expect(failure.code == "module.not_loaded")
    }

    @Test func `a command ends by SIGPIPE even if a module ignores the signal`() throws {
        let (household, _, environment) = try make()
        let source = try household.directory.write(
            Array(
                """
                #include <dlfcn.h>
                #include <signal.h>
                unsigned long C_GetFunctionList(void **list) {
                    signal(SIGPIPE, SIG_IGN);
                    void *target = dlopen("\(TestToken.modulePath)", RTLD_NOW);
                    return ((unsigned long (*)(void **))dlsym(target, "C_GetFunctionList"))(list);
                }

                """.utf8), to: "ignoring.c")
        let module = household.directory.file("ignoring.so")
        let built = try Tool("/usr/bin/env", ["cc", "-shared", "-fPIC", source, "-ldl", "-o", module]).run()
        try #require(built.status == 0, "\(built.error)")
        let variables = household.environment.merging(environment) { $1 }.merging(["KEYFOB_MODULE": module]) { $1 }
        let made = try household.keyfob(
            ["init", "--keychain", "card", "--token", "card", "--module", module, "--pin-source", "env:CARD_PIN"],
            environment: variables)
        try #require(made.status == 0, "\(made.error)")
        let status = household.directory.file("status")
        let commands = [
            ["token", "ls"], ["secret", "ls", "--json"], ["cert", "ls", "--json"], ["key", "ls", "--json"],
            ["trust", "ls", "--json"], ["status", "--json"],
        ]
        for words in commands {
            // The reader closes its end before the command writes anything.
            let script = """
                rm -f "$2.closed"
                { until [ -e "$2.closed" ]; do sleep 0.01; done
                "$1" "${@:3}"; echo $? >&3; } 3>"$2" > >(exec <&-; : >"$2.closed")
                """
            let result = try Tool(
                "/bin/bash", ["-c", script, "bash", Tool.keyfob([]).path, status] + words, environment: variables
            ).run()
            #expect(result.error.isEmpty, "\(words) \(result.error)")
            #expect(try String(contentsOfFile: status, encoding: .utf8) == "141\n", "\(words)")
        }
    }

    @Test func `a mechanism without information is listed without sizes and uses`() throws {
        let (household, module, environment) = try make()
        // CKM_SHA256, which is in the middle of the list.
        let ours = environment.merging(["KEYFOB_MODULE": module, "FAULTY_REFUSE": "nameless=592"]) { $1 }
        let document = try output(["token", "mechanisms", "card"], in: household, ours)
        let mechanisms = try #require(document["mechanisms"] as? [[String: Any]])
        let nameless = try #require(mechanisms.first { $0["name"] as? String == "CKM_SHA256" })
        for member in ["minimum", "maximum", "hardware", "uses"] { #expect(nameless[member] is NSNull, "\(member)") }
        #expect(mechanisms.count > 10 && mechanisms.filter { $0["uses"] is NSNull }.count == 1)
        let table = try household.keyfob(["token", "mechanisms", "card"], environment: ours)
        #expect(table.status == 0 && table.output.contains("CKM_SHA256"), "\(table.error)")
    }

    @Test func `a token whose PIN must be changed is shown as such`() throws {
        let (household, module, environment) = try make()
        let ours = environment.merging(["KEYFOB_MODULE": module, "FAULTY_REFUSE": "pin-change"]) { $1 }
        let tokens = try #require(try output(["token", "ls"], in: household, ours)["tokens"] as? [[String: Any]])
        #expect(tokens.map { $0["state"] as? String } == ["PIN must be changed"])
        #expect(try output(["token", "show", "card"], in: household, ours)["pin"] as? String == "set, must be changed")
    }
}
