import Foundation
import TestSupport
import Testing

/// The reports of changes to programs, and the behaviour if a report cannot be written.
@Suite struct ChangeReportTests {
    /// A home with one object of each kind, for a command that changes it.
    private func home() throws -> IdentityHome {
        let home = try IdentityHome()
        try home.shell("openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -subj /CN=ca -days 9")
        #expect(try home.keyfob("key", "generate", "k").status == 0)
        #expect(try home.keyfob("identity", "create", "web", "--dns", "web.example", "--self-signed").status == 0)
        #expect(try home.keyfob("secret", "generate", "a").status == 0)
        return home
    }

    private static let files = [
        ["cert", "export", "web", "-o", "FILE/web.pem"], ["key", "pub", "k", "-o", "FILE/k.pub"],
        ["trust", "export", "-o", "FILE/anchors.pem"], ["uri", "web", "--for", "gnutls", "--write", "FILE/tls"],
    ]

    private static let commands = files + [
        ["key", "csr", "k", "--cn", "k", "-o", "FILE/k.csr"],
        ["secret", "generate", "b"], ["secret", "copy", "a", "c"], ["rm", "a", "-y"], ["key", "generate", "k2"],
        ["key", "rm", "k", "-y"], ["identity", "create", "api", "--dns", "api.example", "--self-signed"],
        ["identity", "renew", "web", "--force"], ["identity", "use", "web", "--service", "https://web.example"],
        ["identity", "rm", "web", "-y"], ["cert", "import", "FILE/ca.pem"], ["cert", "rm", "web", "-y"],
        ["trust", "add", "FILE/ca.pem"], ["keychain", "create", "site", "--unattended"],
        ["keychain", "rm", "login", "-y"],
    ]

    @Test(arguments: commands)
    func `each document has a member that says if anything was changed`(command: [String]) throws {
        let home = try home()
        let words = command.map { $0.replacing("FILE", with: home.directory.path) } + ["--json"]
        for (options, changed) in [(["--dry-run"], false), ([], true)] {
            let result = try Tool.keyfob(words + options, environment: home.environment).run()
            let document = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
            #expect(document?["changed"] as? Bool == changed, "\(result.output) \(result.error)")
            #expect(document?["dry_run"] as? Bool == !changed, "\(result.output)")
        }
    }

    @Test(arguments: commands)
    func `a change that cannot be reported is not reported as failed`(command: [String]) throws {
        // A renewal and a new keychain report before the change as well, so they do not begin if that fails.
        guard command[1] != "renew", command.prefix(2) != ["keychain", "create"] else { return }
        let home = try home()
        let words = command.map { $0.replacing("FILE", with: home.directory.path) }
        for options in [["--json", "--dry-run"], ["--dry-run"], []] {
            let tool = Tool(
                "/bin/sh", ["-c", "exec \"$@\" >/dev/full", "sh", Tool.keyfob([]).path] + words + options,
                environment: home.environment)
            let result = try tool.run()
            #expect(result.status == 1 && result.error.contains("standard output cannot be written"), "\(result.error)")
            let isDone = result.error.contains("the command succeeded, but standard output")
            #expect(isDone == options.isEmpty, "\(result.error)")
        }
    }

    @Test(arguments: files)
    func `a file that already has its content is not reported as changed`(command: [String]) throws {
        let home = try home()
        let words = command.map { $0.replacing("FILE", with: home.directory.path) } + ["--json"]
        for changed in [true, false] {
            let result = try Tool.keyfob(words, environment: home.environment).run()
            let document = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
            #expect(document?["changed"] as? Bool == changed, "\(result.output) \(result.error)")
        }
    }

    @Test(arguments: [
        (["identity", "create", "web", "--cn", "web", "--self-signed"], 4),
        (["identity", "import", "FILE/ca.pem", "--key", "FILE/ca.key", "--name", "web"], 4),
        (["identity", "install", "web", "--cert", "FILE/ca.pem"], 11),
        (["identity", "install", "none", "--cert", "FILE/ca.pem"], 3), (["key", "generate", "k"], 4),
        (["identity", "import", "FILE/ca.pem", "--key", "FILE/ca.key", "--name", "ca"], 0),
    ] as [([String], Int32)])
    func `a dry run is refused if the run would be`(command: [String], status: Int32) throws {
        let home = try home()
        let words = command.map { $0.replacing("FILE", with: home.directory.path) }
        let dry = try Tool.keyfob(words + ["--dry-run"], environment: home.environment).run()
        let run = try Tool.keyfob(words, environment: home.environment).run()
        #expect(dry.status == status && run.status == status, "\(dry.error) \(run.error)")
        #expect(dry.error == run.error)
    }

    @Test(arguments: [[], ["--force", "--dry-run"], ["--force"]])
    func `the document of a renewal names its schema once, and not in each identity`(options: [String]) throws {
        let home = try home()
        let words = ["identity", "renew", "web", "--json"] + options
        let result = try Tool.keyfob(words, environment: home.environment).run()
        let document = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
        let identities = try #require(document?["identities"] as? [[String: Any]], "\(result)")
        #expect(document?["schema"] is String && identities.map { $0["name"] as? String } == ["web"])
        #expect(identities.allSatisfy { $0["schema"] == nil }, "\(identities)")
    }

    @Test(arguments: [["cert", "rm", "web"], ["identity", "rm", "web"], ["key", "rm", "k"]])
    func `the document of a removal has the same members in every outcome`(command: [String]) throws {
        let home = try home()
        // Planned, done, and with nothing left to do.
        let members = try [["--dry-run"], ["--yes"], ["--yes", "--if-exists"]].map { options in
            let result = try Tool.keyfob(command + options + ["--json"], environment: home.environment).run()
            return try Set(IdentityHome.json(result).keys)
        }
        #expect(Set(members).count == 1, "\(members)")
    }

    @Test func `a repeated removal does not remove the previous version`() throws {
        let home = try IdentityHome()
        let make = ["identity", "create", "web", "--cn", "web", "--self-signed"]
        #expect(try Tool.keyfob(make, environment: home.environment).run().status == 0)
        #expect(try home.keyfob("identity", "renew", "web", "--force").status == 0)
        let names = try home.keyfob("cert", "ls", "--all", "--json").output
        let version = try #require(names.firstMatch(of: /web@[0-9-]+/)).output
        #expect(try home.keyfob("identity", "rm", "web", "-y").status == 0)
        for noun in ["identity", "cert"] {
            let again = try home.keyfob(noun, "rm", "web", "-y")
            #expect(
                again.status == 3
                    && again.error.contains("An earlier version has this common name: \"\(version)\""),
                "\(again.error)")
            #expect(try home.keyfob(noun, "rm", "web", "-y", "--if-exists").output.hasPrefix("Nothing to do"))
        }
        #expect(try home.keyfob("cert", "show", "web").status == 0)
        #expect(try home.keyfob("identity", "rm", String(version), "-y").status == 0)
        #expect(try home.keyfob("cert", "show", "web").status == 3)
    }

    @Test(arguments: [[], ["secret"], ["-k", "login", "keychain"]])
    func `if a verb is missing, the error names the verb`(words: [String]) throws {
        let result = try Tool.keyfob(words + ["--json"], environment: [:]).run()
        #expect(result.status == 2 && result.error.contains("a command is missing after"), "\(result.error)")
        let plain = try Tool.keyfob(words + ["--no-input"], environment: [:]).run()
        #expect(plain.status == 2 && plain.error.contains("SUBCOMMANDS:"), "\(plain.error)")
    }
}
