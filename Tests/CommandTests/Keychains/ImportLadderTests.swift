import Foundation
import TestSupport
import Testing

/// Import of private keys to tokens that do not accept them in plain form.
@Suite("Ways to import a private key")
struct ImportLadderTests {
    private func makeIdentity(_ type: String, in household: TestHome) throws -> (key: String, certificate: String) {
        let (key, certificate) = (household.directory.file("a.key"), household.directory.file("a.pem"))
        let options = type == "rsa" ? ["rsa:2048"] : ["ec", "-pkeyopt", "ec_paramgen_curve:\(type)"]
        let made = try Tool(
            "/usr/bin/openssl",
            ["req", "-x509", "-newkey"] + options + [
                "-nodes", "-keyout", key, "-out", certificate, "-days", "30", "-subj", "/CN=a",
            ]
        ).run()
        try #require(made.status == 0, "\(made.error)")
        return (key, certificate)
    }

    @Test(
        "if a token refuses plain private keys, they are imported wrapped, and are sensitive",
        arguments: ["rsa", "P-256", "P-521"], ["create-private", "create-private create-secret"])
    func wrapped(type: String, words: String) throws {
        let (household, environment) = try TestHome.withCard(refusing: words)
        let files = try makeIdentity(type, in: household)
        // The refusal is real: another tool gets it too.
        let refused = try Tool(
            "/usr/bin/env",
            [
                "pkcs11-tool", "--module", household.directory.file("faulty.so"), "--token-label", "card", "--login",
                "--pin", "1234", "--write-object", files.key, "--type", "privkey", "--id", "01",
            ],
            environment: environment
        ).run()
        #expect(
            refused.error.contains("CKR_TEMPLATE_INCONSISTENT") || refused.output.contains("CKR_TEMPLATE_INCONSISTENT"))

        let imported = try household.keyfob(
            ["identity", "import", files.key, files.certificate, "--name", "a", "--pin-source", "env:CARD_PIN"],
            environment: environment)
        #expect(imported.status == 0, "\(imported.error)")
        // The check signs with the key and verifies with the certificate.
        let checked = try household.keyfob(
            ["identity", "check", "a", "--pin-source", "env:CARD_PIN"], environment: environment)
        #expect(checked.output.contains("signed a test challenge"), "\(checked.output)\(checked.error)")
        let objects = try Tool(
            "/usr/bin/env",
            [
                "pkcs11-tool", "--module", TestToken.modulePath, "--token-label", "card", "--login", "--pin", "1234",
                "--list-objects", "--type", "privkey",
            ],
            environment: environment
        ).run().output
        #expect(
            objects.components(separatedBy: "Private Key Object").count == 2, "the ephemeral keys are gone: \(objects)")
        #expect(objects.contains("sensitive") && !objects.contains("extractable"))
    }

    @Test("if a token accepts neither way, its first error is reported, and no object stays")
    func refused() throws {
        let (household, environment) = try TestHome.withCard(refusing: "create-private answer=C_UnwrapKey,0x54")
        let files = try makeIdentity("P-256", in: household)
        let failure = try household.failure(
            ["identity", "import", files.key, files.certificate, "--name", "a", "--pin-source", "env:CARD_PIN"],
            environment: environment)
        #expect(failure.status == 8)
        #expect(failure.hint.contains("key generate NAME"), "\(failure.hint)")
        try expectNothing(on: household, environment)
    }

    @Test(arguments: ["answer=C_SignInit,0x70", "answer=C_Sign,0x68", "garbled"])
    func `a key that the token takes and cannot sign with is not kept`(words: String) throws {
        let (household, environment) = try TestHome.withCard(refusing: "")
        let files = try makeIdentity("P-256", in: household)
        let failing = environment.merging(["FAULTY_REFUSE": words]) { $1 }
        for command in [
            ["identity", "import", files.key, files.certificate, "--name", "a"], ["key", "generate", "k"],
            ["identity", "create", "i", "--self-signed", "--cn", "i"],
        ] {
            let result = try household.keyfob(command + ["--pin-source", "env:CARD_PIN"], environment: failing)
            #expect(result.status != 0, "\(result)")
            let reason = words == "garbled" ? "public half does not verify" : "cannot sign with it"
            #expect(result.error.contains(reason), "\(result)")
            try expectNothing(on: household, environment)
        }
    }

    /// Expects no key pair and no certificate on the token.
    private func expectNothing(on household: TestHome, _ environment: [String: String]) throws {
        let objects = try Tool(
            "/usr/bin/env",
            [
                "pkcs11-tool", "--module", TestToken.modulePath, "--token-label", "card", "--login", "--pin", "1234",
                "--list-objects",
            ],
            environment: environment
        ).run().output
        #expect(!objects.contains("Private Key Object") && !objects.contains("Public Key Object"))
        #expect(!objects.contains("Certificate Object"))
    }
}
