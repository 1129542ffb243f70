import ArgumentParser
import Foundation
import Keyfob
import Testing

@testable import KeyfobCLI

@Suite struct InvocationTests {
    private struct Root: ParsableCommand {
        static let configuration = CommandConfiguration(commandName: "keyfob", subcommands: [Secret.self, Get.self])
    }

    private struct Secret: ParsableCommand {
        static let configuration = CommandConfiguration(commandName: "secret", subcommands: [Get.self])
    }

    private struct Get: ParsableCommand {
        static let configuration = CommandConfiguration(commandName: "get", aliases: ["read"])
        @Argument var name: String
        @Argument var rest: [String] = []
        @OptionGroup var global: GlobalOptions
    }

    @Test(arguments: [
        ["secret", "get", "x", "-k", "site", "--json"], ["-k", "site", "secret", "--json", "get", "x"],
        ["--json", "--keychain=site", "get", "x"], ["secret", "read", "--json", "-k", "site", "x"],
    ])
    func `global options stand before or after the verb`(arguments: [String]) throws {
        let get = try #require(try Invocation(arguments, root: Root.self).parse(root: Root.self) as? Get)
        #expect(get.name == "x")
        #expect(get.global.keychain == "site")
        #expect(get.global.json)
    }

    @Test func `a value that is named like a verb stays a value`() throws {
        let get = try #require(
            try Invocation(["-k", "get", "get", "--", "secret"], root: Root.self).parse(root: Root.self) as? Get)
        #expect(get.global.keychain == "get")
        #expect(get.name == "secret")
    }

    @Test func `an unknown verb is refused with the nearest known one`() throws {
        let error = try #require(throws: UsageError.self) { try Invocation(["secret", "gte"], root: Root.self) }
        #expect(error.hint?.contains("\"get\"") == true)
        let far = try #require(throws: UsageError.self) { try Invocation(["frobnicate"], root: Root.self) }
        #expect(far.hint?.contains("Did you mean") == false)
    }

    @Test(arguments: [
        ["get", "x", "-khome", "-uh a", "-o/tmp/h"], ["-khome", "secret", "get", "-uh a", "-o/tmp/h", "x"],
        ["secret", "-khome", "get", "-uh a", "-o", "/tmp/h", "--", "x"],
        ["get", "-k=home", "-u", "h a", "-o=/tmp/h", "x"],
    ])
    func `the value of an option of one letter may be attached to it`(arguments: [String]) throws {
        let invocation = try Invocation(arguments, root: KeyfobCommand.self)
        let get = try #require(try invocation.parse(root: KeyfobCommand.self) as? SecretGet)
        #expect(get.name == "x" && get.global.keychain == "home")
        #expect(get.selection.user == "h a" && get.output == "/tmp/h")
    }

    @Test(arguments: [["get", "x", "--", "-kx"], ["identity", "check", "x", "-uroot"], ["get", "-qkx", "x"]])
    func `a word that no option takes as its value is left unchanged`(arguments: [String]) throws {
        let invocation = try Invocation(arguments, root: KeyfobCommand.self)
        #expect((invocation.path + invocation.arguments) == arguments)
    }

    @Test(arguments: [
        (["--keychian", "hunter2", "ls"], "unknown option '--keychian'. Did you mean '--keychain'?"),
        (["secret", "--no-such", "hunter2", "ls"], "unknown option '--no-such'."),
        (["-phunter2", "hunter2"], "unknown option '-p…'."), (["-x", "hunter2"], "unknown option '-x'."),
        (["--help", "nope"], "unknown command \"nope\"."),
        (["-qv", "nope"], "unknown command \"nope\"."),
        (["--user=hunter2", "nope"], "unknown command \"nope\"."),
    ])
    func `an unknown option before the verb is named, and its possible value is not`(
        arguments: [String], message: String
    ) throws {
        let error = try #require(throws: UsageError.self) { try Invocation(arguments, root: KeyfobCommand.self) }
        #expect(error.message == message)
        #expect(error.hint?.contains("All commands: keyfob") == true && !error.description.contains("hunter2"))
    }

    @Test(arguments: [
        ("www.example.org", "www.example.org"), ("10.1.1.1", "10.1.1.1"), ("::1", "::1"), ("[::1]", "::1"),
        ("bücher.example", "bücher.example"), ("localhost", "localhost"), ("*.example.org", "*.example.org"),
        ("x.", "x."),
        ("a_b", "a_b"),
    ]) func `a host is a name or an address`(argument: String, host: String) throws {
        #expect(try HostName(argument).text == host)
    }

    @Test(arguments: [
        ("https://www.example.org/x", "--host www.example.org"), ("www.example.org:443", "--host www.example.org"),
        ("[::1]:443", "--host ::1"), ("https://[::1]:443", "--host ::1"), ("10.1.1.1:80", "--host 10.1.1.1"),
        ("ldap://me@host/", "--host host"), ("fe80::1%eth0", "--host fe80::1"),
        ("www.example.org/", "--host www.example.org"),
        ("10.1.1", "--host www.example.org,"), ("10.1.1.999", "--host www.example.org,"),
        ("a b", "--host www.example.org,"),
        ("1:2:3", "--host www.example.org,"), ("://", "--host www.example.org,"), ("\n", "--host www.example.org,"),
    ]) func `text that is not a host is not accepted as one`(argument: String, hint: String) throws {
        let error = try #require(throws: UsageError.self) { try HostName(argument) }
        #expect(error.hint?.contains(hint) == true, "\(error)")
        #expect(!error.message.contains("\n"))
    }

    @Test(arguments: [
        ("Unknown option '--host'. Did you mean '--yes'?", "Unknown option '--host'."),
        ("Unknown option '--quite'. Did you mean '--quiet'?", "Unknown option '--quite'. Did you mean '--quiet'?"),
        ("Unknown option '-x'", "Unknown option '-x'"),
    ]) func `a suggestion that is too different is not made`(message: String, checked: String) {
        #expect(DidYouMean.checked(message) == checked)
    }

    @Test func `an option of another command is recognised as such`() {
        #expect(DidYouMean.commands(with: "unknown option '--host'.") == ["keyfob cert verify"])
        #expect(DidYouMean.commands(with: "unknown option '--keychain'.").isEmpty)
        #expect(DidYouMean.commands(with: "unknown option '--no-such'.").isEmpty)
    }

    @Test func `the splitting of words knows every global option with a value`() throws {
        let help = KeyfobCommand.helpMessage(for: CompletionCommand.self, columns: 400)
        let names = help.split(separator: "\n").filter {
            $0.hasPrefix("  -") && $0.contains("<") && !$0.contains("--help")
        }
        .flatMap { line in line.prefix { $0 != "<" }.split(whereSeparator: { ", ".contains($0) }).map(String.init) }
        #expect(Set(names) == GlobalOptions.namesTakingValue)
        let flags = help.split(separator: "\n").filter { $0.hasPrefix("  -") && !$0.contains("<") }.flatMap { line in
            line.split(whereSeparator: { ", ".contains($0) }).prefix { $0.hasPrefix("-") }.map(String.init)
        }
        #expect(Set(flags) == GlobalOptions.flags.union(["-h", "--help", "--version"]))
    }

    @Test(arguments: [
        ("10s", Duration.seconds(10)), ("500ms", .milliseconds(500)), ("2m", .seconds(120)), ("8h", .seconds(28_800)),
        ("30d", .seconds(2_592_000)), ("7", .seconds(7)), ("1.5s", .milliseconds(1500)),
    ])
    func `durations are read`(text: String, duration: Duration) {
        #expect(TimeSpan(argument: text)?.duration == duration)
    }

    @Test(arguments: ["", "s", "-1s", "inf", "nan", "10x", "1e99d", "66%", " 1s"])
    func `text that is not a duration is refused`(text: String) {
        #expect(TimeSpan(argument: text) == nil)
    }

    @Test(arguments: [
        (["get", "--json"], true), (["--format", "json"], true), (["--format=json"], true),
        (["--format", "yaml"], false),
        (["run", "--", "--json"], false), ([], false),
    ])
    func `the form of an error is found even in arguments that cannot be parsed`(arguments: [String], isJSON: Bool) {
        #expect(ErrorForm(arguments, environmentFormat: nil).isJSON == isJSON)
        #expect(ErrorForm(["get"], environmentFormat: "json").isJSON)
    }
}

@Suite struct FailureTests {
    private struct Cause: Error, CustomStringConvertible {
        let description = "C_Login: CKR_PIN_INCORRECT (0xa0)"
    }

    @Test func `every code of KeychainError has an exit status`() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Sources/KeyfobSystem/Errors/KeychainError.swift")
        let source = try String(contentsOf: file, encoding: .utf8)
        let codes = source.matches(of: /static let \w+ = Self\(rawValue: "([^"]+)"\)/).map { String($0.output.1) }
        #expect(codes.count > 40)
        #expect(Set(codes) == Set(ExitStatus.table.keys.map(\.rawValue)))
    }

    @Test func `a code of a later version is a plain failure`() {
        #expect(ExitStatus(KeychainError.Code(rawValue: "moon.phase")) == .failure)
    }

    @Test func `an error is two lines, and names its CKR only on request`() {
        let error = KeychainError(.pinIncorrect, "wrong PIN for token \"t\".", hint: "Check it.", cause: Cause())
        let failure = Failure(KeychainError(.pinIncorrect, error.message, hint: error.hint, cause: error))
        #expect(failure.text(verbose: false) == "keyfob: wrong PIN for token \"t\".\n    Check it.\n")
        #expect(
            failure.text(verbose: true) == "keyfob: wrong PIN for token \"t\". (CKR_PIN_INCORRECT)\n    Check it.\n")
    }

    @Test func `a name with a newline does not make a second line of a message`() {
        let failure = Failure(KeychainError(.itemNotFound, "no item \"a\nkeyfob: all is well.\"", hint: "one\ntwo"))
        #expect(failure.text(verbose: false) == "keyfob: no item \"a\\nkeyfob: all is well.\"\n    one\n    two\n")
    }

    @Test func `the JSON form of an error is one line`() {
        let failure = Failure(
            KeychainError(.pinIncorrect, "wrong PIN.", hint: "h", details: ["token": "t"], cause: Cause()))
        let expected =
            #"{"schema":"keyfob/v1","error":{"code":"pin.incorrect","exit":5,"message":"wrong PIN.","hint":"h","details":{"token":"t","ckr":"CKR_PIN_INCORRECT"}}}"#
        #expect(failure.json == expected + "\n")
    }

    @Test func `names from outside cannot control the terminal through an error`() {
        let text = Failure(KeychainError(.itemNotFound, "no item \"\u{1B}[2J\".")).text(verbose: false)
        #expect(!text.contains("\u{1B}"))
    }

    @Test func `a secret on the command line is refused without being repeated`() {
        let failure = Failure(UsageError.secretOnCommandLine(item: "db/prod"))
        #expect(failure.status == .usage)
        #expect(
            failure.text(verbose: false) == """
                keyfob: secret values are not accepted on the command line, where other users can read them.
                    Pipe it:  printf %s "$VALUE" | keyfob set db/prod --stdin     or just: keyfob set db/prod

                """)
    }

    @Test(arguments: ["get", "set", "init", "key generate", "identity create", "uri", "keychain create"])
    func `the help of a command has its own options before those of every command`(command: String) throws {
        for words in [command + " --help", "help " + command, "-h " + command] {
            let help = try Tool.keyfob(words.split(separator: " ").map(String.init)).run()
            #expect(help.status == 0)
            let sections = help.output.split(separator: "\n").filter { $0.hasSuffix(":") && !$0.hasPrefix(" ") }
            #expect(sections.last == "GLOBAL OPTIONS:", "\(words): \(sections)")
            #expect(sections.contains("OPTIONS:"), "\(words): \(sections)")
            #expect(sections.count { $0 == "GLOBAL OPTIONS:" } == 1)
        }
    }

    @Test func `the article Scripting explains each exit status`() throws {
        let top = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../..")
        let article = top.appendingPathComponent("Sources/Keyfob/Documentation.docc/Scripting.md")
        let text = try String(contentsOf: article, encoding: .utf8)
        for status in Set(ExitStatus.table.values.map(\.rawValue)) {
            #expect(text.contains("\n| \(status) | "), "\(status)")
        }
    }
}
