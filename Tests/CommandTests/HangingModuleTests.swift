import Foundation
import TestSupport
import Testing

/// Commands whose token is behind a module with a call that does not return, or whose daemon is gone.
@Suite struct HangingModuleTests {
    /// A home with a password `a`, an identity `i` and a keychain on a token behind the module of `faulty.c`.
    private func make() throws -> (household: TestHome, environment: [String: String]) {
        let household = try TestHome()
        let module = household.directory.file("faulty.so")
        try FaultyModule.build(module)
        let environment = try household.makeCard().merging(["FAULTY_TARGET": TestToken.modulePath]) { $1 }
        let pin = household.directory.file("pin")
        try household.directory.write("1234".utf8, to: "pin")
        try #require(unsafe chmod(pin, 0o600) == 0)
        for words in [
            ["init", "--keychain", "card", "--token", "card", "--module", module, "--pin-source", "file:" + pin],
            ["set", "a", "--stdin"], ["identity", "create", "i", "--self-signed", "--cn", "i"],
        ] {
            let made = try household.keyfob(words, input: Data("value".utf8), environment: environment)
            try #require(made.status == 0, "\(made.error)")
        }
        return (household, environment)
    }

    /// Words that make a command call each function, and whether it must first log in again.
    static let calls: [(function: String, words: [String])] = [
        ("C_Initialize", ["get", "a"]), ("C_GetSlotList", ["get", "a"]), ("C_GetTokenInfo", ["status"]),
        ("C_OpenSession", ["get", "a"]), ("C_Login", ["set", "b", "--stdin"]),
        ("C_FindObjectsInit", ["keychain", "check"]), ("C_FindObjects", ["identity", "ls"]),
        ("C_GetAttributeValue", ["keychain", "check"]), ("C_DecryptInit", ["get", "a"]), ("C_Decrypt", ["get", "a"]),
        ("C_SignInit", ["identity", "check", "i"]), ("C_Sign", ["identity", "check", "i"]),
        ("C_GenerateKeyPair", ["identity", "create", "n", "--self-signed", "--cn", "n"]),
        ("C_CreateObject", ["identity", "create", "n", "--self-signed", "--cn", "n"]),
        ("C_DestroyObject", ["identity", "rm", "i", "--yes"]), ("C_GetInfo", ["token", "ls"]),
        ("C_GetMechanismList", ["token", "mechanisms", "card"]),
    ]

    @Test(arguments: calls)
    func `a call that does not return ends the command at the deadline, and the error names it`(
        function: String, words: [String]
    ) throws {
        let (household, environment) = try make()
        try #require(try household.keyfob(["lock"], environment: environment).status == 0)
        let variables = environment.merging(["FAULTY_REFUSE": "hang=" + function]) { $1 }
            .merging(words[0] == "token" ? ["KEYFOB_MODULE": household.directory.file("faulty.so")] : [:]) { $1 }
        let result = try household.keyfob(
            words + ["--timeout", "1"], input: Data("value".utf8), environment: variables)
        #expect(result.status == 13, "\(result)")
        #expect(result.error.contains("\(function) of the module "), "\(result)")
        #expect(result.error.contains("faulty.so has not returned for"), "\(result)")
        // All existing items are there, and no incomplete one is in the way.
        #expect(try household.keyfob(["get", "a"], environment: environment).output == "value\n")
    }

    @Test func `a call that computes without end is ended, too`() throws {
        let (household, environment) = try make()
        let result = try household.keyfob(
            ["get", "a", "--timeout", "1", "--json"],
            environment: environment.merging(["FAULTY_REFUSE": "spin=C_Decrypt"]) { $1 })
        #expect(result.status == 13, "\(result)")
        #expect(result.error.contains(#""code":"timeout""#), "\(result)")
        #expect(result.error.contains(#""function":"C_Decrypt""#), "\(result)")
    }

    @Test(arguments: ["INT", "TERM", "HUP"], [["get", "a"], ["identity", "renew", "i", "--force"]])
    func `a signal ends a command that hangs in a module`(signal: String, words: [String]) throws {
        let (household, environment) = try make()
        let script = """
            env --default-signal "$@" </dev/null & command=$!
            until [ -e "$MARK" ]; do sleep 0.01; done
            kill -\(signal) $command
            wait $command
            """
        let function = words[0] == "get" ? "C_Decrypt" : "C_Sign"
        let variables = household.environment.merging(environment) { $1 }.merging([
            "FAULTY_REFUSE": "hang=" + function, "MARK": household.directory.file("faulty.so." + function),
            "KEYFOB_NO_INPUT": "1",
        ]) { $1 }
        // A shell makes its background processes ignore SIGINT.
        let result = try Tool(
            "/bin/bash", ["-c", script, "bash", Tool.keyfob([]).path] + words + ["--timeout", "60"],
            environment: variables
        ).run()
        #expect(result.status == ["INT": 130, "TERM": 143, "HUP": 129][signal], "\(result)")
    }

    @Test(arguments: ["C_Initialize", "C_GetTokenInfo", "C_Login", "C_Decrypt"])
    func `a module that writes to a closed socket does not end the command`(function: String) throws {
        let (household, environment) = try make()
        try #require(try household.keyfob(["lock"], environment: environment).status == 0)
        let variables = environment.merging(["FAULTY_REFUSE": "write=" + function]) { $1 }
        let result = try household.keyfob(["get", "a"], environment: variables)
        #expect(result.status == 0, "\(result)")
        #expect(result.output == "value\n")
    }

    @Test func `a program that the command starts is ended by SIGPIPE as usual`() throws {
        let household = try TestHome.unattended()
        try household.set("x", "old")
        let editor = try household.directory.writeProgram("kill -PIPE $$\n", to: "editor")
        let result = try household.keyfob(["secret", "edit", "x"], environment: ["EDITOR": editor])
        #expect(result.error.contains("ended with status 141"), "\(result)")
    }
}
