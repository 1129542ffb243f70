import TestSupport
import Testing

@testable import KeyfobCLI

@Suite struct URITests {
    @Test(arguments: Programs.all.filter { $0.usesEngine }.map { $0.name } + ["java", "nss", "ssh"])
    func `a program that knows no Ed25519 keys says so of the key itself`(program: String) throws {
        let home = try IdentityHome()
        let made = try home.keyfob("identity", "create", "ed", "--cn", "ed", "--self-signed", "--key", "ed25519")
        try #require(made.status == 0, "\(made.error)")
        let told = try home.keyfob("uri", "ed", "--for", program)
        #expect(told.status == 8 && told.error.contains("no Ed25519 keys"), "\(told.output)\(told.error)")
        #expect(told.error.contains("keyfob key generate NAME --type ec"), "\(told.error)")
    }

    @Test func `no URI is printed of an object that is not there`() throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("own")
        let commands = [
            ["key", "generate", "pair"], ["key", "generate", "secret", "--type", "aes"],
            ["identity", "create", "web", "--cn", "web", "--self-signed"],
            ["cert", "import", home.file("own.pem"), "--name", "alone"],
        ]
        for command in commands {
            let made = try Tool.keyfob(command, environment: home.environment).run()
            try #require(made.status == 0, "\(command): \(made.error)")
        }
        let rows = [
            ("pair", "cert", false), ("pair", "public", true), ("pair", "private", true),
            ("secret", "cert", false), ("secret", "public", false), ("secret", "private", false),
            ("alone", "cert", true), ("alone", "public", false), ("alone", "private", false),
            ("web", "cert", true), ("web", "public", true), ("web", "private", true),
        ]
        for (name, type, isThere) in rows {
            let told = try home.keyfob("uri", name, "--type", type)
            #expect(told.status == (isThere ? 0 : 3), "\(name) \(type): \(told.output)\(told.error)")
            #expect(told.output.contains("type=\(type)") == isThere, "\(name) \(type): \(told.output)")
        }
    }
}
