import Foundation
import TestSupport
import Testing

/// That the commands which hints print do what they are said to do.
@Suite struct HintTests {
    @Test(arguments: [("web$(touch pwned)", "'web$(touch pwned)'"), ("my web", "'my web'"), ("-web", "-- -web")])
    func `a command names what it is about as one word of the shell`(name: String, word: String) throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("old", days: -3)
        let imported = try home.keyfob(
            "identity", "import", home.file("old.key"), home.file("old.pem"), "--name=\(name)", "--allow-expired")
        try #require(imported.status == 0, "\(imported.error)")
        let commands = [
            ["cert", "verify"], ["identity", "check"], ["identity", "create", "--cn", "x", "--self-signed"],
        ]
        for command in commands {
            let result = try Tool.keyfob(command + ["--", name], environment: home.environment).run()
            #expect(result.status != 0, "\(command)")
            let told = result.output + result.error
            #expect(told.contains("keyfob identity renew \(word)\n"), "\(command): \(told)")
        }
    }
}
