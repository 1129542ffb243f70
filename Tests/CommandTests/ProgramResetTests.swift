import Foundation
import TestSupport
import Testing

/// Two programs that use Keychain Services on the command's keychain.
@Suite struct ProgramResetTests {
    private let home: IdentityHome

    init() throws {
        home = try IdentityHome()
        try home.makeSelfSigned("web")
        try home.makeSelfSigned("one")
        try home.makeSelfSigned("two")
        try home.shell("for name in one two; do openssl x509 -in $name.pem -outform DER -out $name.der; done")
        // A copy with its own name: the same code as another program.
        let child = Tool.products.appendingPathComponent("TestChild").path
        try home.shell("cp '\(child)' one; cp '\(child)' two")
    }

    /// Runs one of the programs; they are called `one` and `two`.
    private func run(_ program: String, _ words: String...) throws -> String {
        let result = try Tool(
            home.file(program), ["-", "-", "-", "program"] + words, environment: home.environment
        ).run()
        try #require(result.status == 0, "\(program) \(words): \(result.output)\(result.error)")
        return result.output
    }

    private func names() throws -> Set<String> {
        let items = try IdentityHome.json(try home.keyfob("ls", "--json"))["items"] as? [[String: Any]] ?? []
        let identities = try IdentityHome.json(try home.keyfob("identity", "ls", "--json"))["identities"]
        let all = items + (identities as? [[String: Any]] ?? [])
        return Set(all.compactMap { $0["name"] as? String })
    }

    @Test(arguments: ["classes", "all", "identity"])
    func `a program that resets its items on first launch leaves those of the command and of another program`(
        reset: String
    ) throws {
        try home.shell("printf secret | '\(Tool.keyfob([]).path)' set theirs --stdin --user a")
        let imported = try home.keyfob("identity", "import", home.file("web.key"), home.file("web.pem"), "--name", "web")
        try #require(imported.status == 0, "\(imported.error)")
        // Before it has stored an item.
        _ = try run("one", "reset", reset)
        #expect(try names() == ["theirs", "web"])
        for program in ["one", "two"] {
            _ = try run(program, "store", program, home.file("\(program).der"), home.file("\(program).key"))
        }
        #expect(try names() == ["theirs", "web", "one", "two"])
        _ = try run("one", "reset", reset)
        let left = try names()
        #expect(left.isSuperset(of: ["theirs", "web", "two"]))
        #expect(try run("one", "count", "idnt", "one") == "0\n")
        if reset != "identity" { #expect(!left.contains("one")) }
        // The program sees all items that the command stored, and they work.
        #expect(try run("one", "count", "genp", "theirs") == "1\n")
        #expect(try home.keyfob("identity", "check", "web").status == 0)
        #expect(try home.keyfob("identity", "check", "two").status == 0)
        #expect(try home.keyfob("get", "theirs").output == "secret\n")
    }
}
