import Foundation
import TestSupport
import Testing

/// Keys that OpenSSL's engine would no longer reach.
@Suite struct MixedKeysTests {
    private static let generate = ["key", "generate", "new", "--type"]
    private static let create = ["identity", "create", "new", "--cn", "new", "--self-signed", "--key"]

    /// Makes `new.key` and `new.pem`.
    private func makeFiles(_ kind: String, in home: IdentityHome) throws {
        let algorithm = kind == "ed25519" ? "ed25519" : "ec -pkeyopt ec_paramgen_curve:P-256"
        try home.shell(
            """
            openssl genpkey -algorithm \(algorithm) -out new.key
            openssl req -x509 -key new.key -subj /CN=new -days 90 -out new.pem
            """)
    }

    private func run(_ words: [String], in home: IdentityHome) throws -> Tool.Result {
        try Tool.keyfob(words, environment: home.environment).run()
    }

    @Test(arguments: [("ec", "ed25519"), ("rsa", "ed25519"), ("ed25519", "ec"), ("ed25519", "rsa")])
    func `an Ed25519 key is stored beside others, and others beside it, only if that is allowed`(
        first: String, second: String
    ) throws {
        let home = try IdentityHome()
        try #require(home.keyfob("key", "generate", "old", "--type", first).status == 0)
        try makeFiles(second, in: home)
        let commands = [
            Self.generate + [second], Self.create + [second],
            ["identity", "import", home.file("new.key"), home.file("new.pem"), "--name", "new"],
        ]
        let before = try home.keyfob("key", "ls", "--format", "tsv").output
        for command in commands {
            for options in [[], ["--dry-run"], ["-q"], ["--json"], ["-q", "--dry-run"]] {
                let refused = try run(command + options, in: home)
                #expect(refused.status == 12, "\(command + options): \(refused)")
                #expect(refused.output.isEmpty)
                #expect(refused.error.contains("Ed25519 private key"), "\(refused.error)")
                #expect(refused.error.contains("cannot use any key on the token"), "\(refused.error)")
                #expect(refused.error.contains("--allow-mixed-keys"), "\(refused.error)")
            }
            #expect(try home.keyfob("key", "ls", "--format", "tsv").output == before)
        }
        for command in commands {
            #expect(try run(command + ["--allow-mixed-keys", "--dry-run"], in: home).status == 0)
            let made = try run(command + ["--allow-mixed-keys"], in: home)
            #expect(made.status == 0, "\(command): \(made.error)")
            let noun = command[0]
            // Otherwise the key of the name stays for the next command.
            #expect(try home.keyfob(noun, "rm", "new", "--yes").status == 0)
        }
    }

    @Test(arguments: ["ec", "ed25519"])
    func `keys of one kind, AES keys and existing keys are always accepted`(kind: String) throws {
        let home = try IdentityHome()
        try #require(home.keyfob("key", "generate", "old", "--type", kind).status == 0)
        #expect(try run(Self.generate + [kind], in: home).status == 0)
        #expect(try home.keyfob("key", "generate", "secret", "--type", "aes").status == 0)
        // The key of the name is used, with any others beside it.
        let other = kind == "ec" ? "ed25519" : "ec"
        try #require(home.keyfob("key", "generate", "odd", "--type", other, "--allow-mixed-keys").status == 0)
        let created = try home.keyfob("identity", "create", "odd", "--cn", "odd", "--self-signed", "--key", other)
        #expect(created.status == 0, "\(created.error)")
        #expect(try run(Self.generate + [kind, "--if-missing"], in: home).status == 0)
    }

    @Test func `files with an Ed25519 key and another go onto an empty token only if that is allowed`() throws {
        let home = try IdentityHome()
        try makeFiles("ed25519", in: home)
        try home.makeSelfSigned("web")
        let files = ["new.key", "new.pem", "web.key", "web.pem"].map(home.file)
        let refused = try run(["identity", "import"] + files, in: home)
        #expect(refused.status == 12, "\(refused)")
        #expect(try home.keyfob("key", "ls", "--format", "tsv").output.isEmpty)
        #expect(try run(["identity", "import"] + files + ["--allow-mixed-keys"], in: home).status == 0)
        // Existing keys are imported again without a message.
        #expect(try run(["identity", "import"] + files, in: home).status == 0)
    }

    @Test func `a renewal with a key of the other kind is refused, and one of the same kind is not`() throws {
        let home = try IdentityHome()
        try #require(home.keyfob("identity", "create", "web", "--cn", "web", "--self-signed").status == 0)
        let renew = ["identity", "renew", "web", "--force", "--new-key"]
        let refused = try run(renew + ["--key", "ed25519"], in: home)
        #expect(refused.status == 12, "\(refused)")
        #expect(try run(renew + ["--key", "ed25519", "--dry-run"], in: home).status == 12)
        #expect(try run(renew, in: home).status == 0)
        #expect(try run(renew + ["--key", "ed25519", "--allow-mixed-keys"], in: home).status == 0)
        #expect(try run(renew, in: home).status == 0)
    }
}
