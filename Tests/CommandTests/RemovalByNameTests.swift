import Foundation
import TestSupport
import Testing

@testable import KeyfobCLI

/// Removals go by an item's own name: a repeated removal must not find a similar item.
@Suite struct RemovalByNameTests {
    @Test(arguments: [["identity", "rm"], ["cert", "rm"], ["trust", "rm"]])
    func `an item whose common name is the removed name stays`(verb: [String]) throws {
        let home = try IdentityHome()
        let create = ["identity", "create", "prod", "--cn", "web", "--self-signed"]
        try #require(Tool.keyfob(create, environment: home.environment).run().status == 0)
        try #require(home.keyfob("trust", "add", "prod", "--yes").status == 0)
        // Also if there are several.
        let second = ["identity", "create", "staging", "--cn", "web", "--self-signed"]
        try #require(Tool.keyfob(second, environment: home.environment).run().status == 0)
        let before = try home.keyfob("cert", "ls", "--json").output
        let trusted = try home.keyfob("trust", "ls", "--json").output
        let options = verb[0] == "trust" ? [] : ["--yes"]
        let refused = try Tool.keyfob(verb + ["web"] + options, environment: home.environment).run()
        #expect(refused.status == 3 && refused.error.contains("has this common name: \""), "\(refused.error)")
        let again = try Tool.keyfob(verb + ["web", "--if-exists"] + options, environment: home.environment).run()
        #expect(again.status == 0 && again.output.hasPrefix("Nothing to do"), "\(again.output)\(again.error)")
        #expect(try home.keyfob("cert", "ls", "--json").output == before)
        #expect(try home.keyfob("trust", "ls", "--json").output == trusted)
        let named = try Tool.keyfob(verb + ["prod"] + options, environment: home.environment).run()
        #expect(named.status == 0, "\(named.error)")
    }

    @Test func `a secret whose label is the removed name stays`() throws {
        let home = try IdentityHome()
        try home.shell("printf prod | \"$0\" set app/key --label api -q".replacing("\"$0\"", with: Tool.keyfob([]).path))
        let refused = try home.keyfob("rm", "api", "--yes")
        #expect(refused.status == 3 && refused.error.contains("keyfob rm app/key --user=''"), "\(refused.error)")
        try home.shell("printf x | '\(Tool.keyfob([]).path)' set app/key --user me --label api -q")
        let again = try home.keyfob("rm", "api", "--yes", "--if-exists")
        #expect(again.status == 0 && again.output.hasPrefix("Nothing to do"), "\(again.output)\(again.error)")
        #expect(try home.keyfob("get", "app/key", "--user=").output == "prod\n")
        #expect(try home.keyfob("rm", "app/key", "--user=", "--yes").status == 0)
    }

    @Test func `a file of the default keychain without a name is reported as such, and chosen again`() throws {
        let home = try IdentityHome()
        let file = home.file("home/.config/keyfob/default-keychain")
        try Data("\u{FEFF}login\n".utf8).write(to: URL(filePath: file))
        let refused = try home.keyfob("get", "a")
        #expect(refused.status == 9 && refused.error.contains(file), "\(refused.error)")
        #expect(try home.keyfob("keychain", "default", "login").status == 0)
        #expect(try home.keyfob("get", "a").status == 3)
    }

    @Test func `advice about a name that begins like an option can be typed`() throws {
        let home = try IdentityHome()
        let refused = try home.keyfob("set", "--user", "me", "--", "-tok", "value")
        #expect(refused.status == 2 && refused.error.contains("keyfob set --user=me --stdin -- -tok"), "\(refused.error)")
        try home.shell("printf x | '\(Tool.keyfob([]).path)' set --user=me --stdin -- -tok")
        #expect(try home.keyfob("get", "--", "-tok").output == "x\n")
    }
}
