import ArgumentParser
import Keyfob
import Testing

@testable import KeyfobCLI

@Suite struct PlainGetTests {
    private static func unset(_ name: String) -> String? { nil }

    /// The properties of a command and of the groups of options in it, by name.
    private static func properties(_ value: Any, _ prefix: String = "") -> [String] {
        Mirror(reflecting: value).children.flatMap { child -> [String] in
            let label = prefix + (child.label ?? "?")
            // The wrappers of parsed values are recognised by their descriptions.
            let description = String(describing: child.value)
            if ["_selection", "_clipboard", "_global"].contains(child.label) {
                return Mirror(reflecting: child.value).children.flatMap { Self.groups($0.value, label) }
            }
            return ["\(label)=\(description)"]
        }
    }

    private static func groups(_ value: Any, _ label: String) -> [String] {
        Mirror(reflecting: value).children.flatMap { properties($0.value, label + ".") }
    }

    @Test(arguments: [
        ["get", "db/prod"], ["secret", "get", "db/prod"], ["get", "db/prod", "-k", "site"],
        ["get", "-k", "site", "db/prod"], ["secret", "get", "--keychain", "site", "a b"], ["get", "a=b"],
        ["get", "get"],
        ["get", "secret"], ["get", "-k", "get", "\u{E4}"],
    ])
    func `the plain form takes from arguments what ArgumentParser takes`(arguments: [String]) throws {
        let plain = try #require(PlainGet(arguments, environment: Self.unset))
        var parsed = try Self.parsed(arguments)
        #expect(plain.name == parsed.name)
        #expect(plain.keychain == parsed.global.keychain)
        // No other argument was given, so the rest are the defaults.
        parsed.name = "x"
        parsed.global.keychain = nil
        let defaults = Self.properties(try Self.parsed(["get", "x"]))
        #expect(Self.properties(parsed) == defaults)
        #expect(defaults.count > 20, "the groups' properties are compared, too")
        #expect(Self.properties(try Self.parsed(["get", "x", "--raw"])) != defaults)
        #expect(Self.properties(try Self.parsed(["get", "x", "--port", "1"])) != defaults)
    }

    private static func parsed(_ arguments: [String]) throws -> SecretGet {
        try #require(try Invocation(arguments, root: KeyfobCommand.self).parse(root: KeyfobCommand.self) as? SecretGet)
    }

    @Test(arguments: [
        [], ["get"], ["secret"], ["secret", "secret", "get", "x"], ["get", ""], ["get", "help"], ["help", "get"],
        ["get", "x", "y"], ["get", "x", "-k"], ["get", "x", "-k", ""], ["get", "x", "-k", "-y"], ["get", "-x"],
        ["get", "x", "--raw"], ["get", "x", "-n"], ["get", "--", "x"], ["get", "x", "--json"], ["get", "x", "-ksite"],
        ["get", "x", "--keychain=site"], ["get", "x", "-k", "a", "-k", "b"], ["-k", "site", "get", "x"], ["set", "x"],
        ["get", "x", "--user", "y"], ["get", "x", "--token", "y"], ["---completion", "get", "x"],
        ["identity", "get", "x"],
    ])
    func `all other arguments are left to ArgumentParser`(arguments: [String]) {
        #expect(PlainGet(arguments, environment: Self.unset) == nil)
    }

    @Test(arguments: ["KEYFOB_FORMAT", "KEYFOB_TOKEN"])
    func `if a variable replaces an option, the arguments are left to ArgumentParser`(variable: String) {
        #expect(PlainGet(["get", "x"]) { $0 == variable ? "json" : nil } == nil)
        #expect(PlainGet(["get", "x"]) { $0 == "KEYFOB_KEYCHAIN" ? "site" : nil } != nil)
    }

    @Test func `both ways print the same and have the same status`() throws {
        let home = try IdentityHome()
        func run(_ arguments: [String], input: String = "") throws -> Tool.Result {
            try Tool.keyfob(arguments, environment: home.environment, input: .init(input.utf8)).run()
        }
        #expect(try run(["set", "one", "--stdin"], input: "first").status == 0)
        #expect(try run(["set", "two", "--user", "a", "--stdin"], input: "x").status == 0)
        #expect(try run(["set", "two", "--user", "b", "--stdin"], input: "y").status == 0)
        #expect(try run(["set", "bytes", "--stdin"], input: "a\u{1}b").status == 0)
        #expect(try run(["get", "one"]).output == "first\n")
        for arguments in [
            ["get", "one"], ["get", "none"], ["get", "two"], ["get", "bytes"], ["get", "one", "-k", "nowhere"],
            ["get", "one", "-k", "../x"], ["secret", "get", "one", "-k", "login"],
        ] {
            let plain = try run(arguments)
            // An option that changes nothing leads through ArgumentParser.
            let parsed = try run(arguments + ["--color", "auto"])
            #expect(plain.status == parsed.status, "\(arguments)")
            #expect(plain.output == parsed.output, "\(arguments)")
            #expect(plain.error == parsed.error, "\(arguments)")
        }
    }
}
