import Foundation
import TestSupport
import Testing

/// What a TPM does differently.
@Suite(.enabled(if: TokenKind.tpm2.isInstalled, "Scripts/install-dependencies tpm2"))
struct TPMTests {
    /// One more than the TPM holds keys in one login.
    private static let tooMany = 29

    @Test func `more keys are used in one process than the TPM holds at a time, without losing a PIN try`() throws {
        let token = try TokenHome(.tpm2)
        try token.makeKeychain()
        for number in 1...Self.tooMany {
            let made = try token.keyfob(
                ["identity", "create", "web\(number)", "--self-signed", "--cn", "web", "-k", "card"])
            try #require(made.status == 0, "\(made.error)")
        }
        let renewed = try token.keyfob(["identity", "renew", "--all", "--force", "-k", "card"])
        #expect(renewed.status == 0, "\(renewed.output)\(renewed.error)")
        #expect(renewed.output.components(separatedBy: "installed;").count - 1 == Self.tooMany)
        // Each new key takes a second place.
        let anew = try token.keyfob(["identity", "renew", "--all", "--force", "--new-key", "-k", "card"])
        #expect(anew.status == 0, "\(anew.output)\(anew.error)")
        #expect(try token.keyfob(["token", "show"] + token.selection).output.contains("0 of 3 are used"))
    }

    @Test func `the lines of the library do not stand before those of the command`() throws {
        let token = try TokenHome(.tpm2)
        try token.makeKeychain()
        // The library fails to read such a key, and says so.
        let failed = try token.keyfob(["key", "generate", "k", "--type", "ec", "--curve", "p521", "-k", "card"])
        #expect(failed.status == 8)
        #expect(failed.error.hasPrefix("keyfob: "), "\(failed.error)")
        #expect(!failed.error.contains("ERROR"), "\(failed.error)")
        try token.token.act("drop")
        for arguments in [["key", "ls", "-k", "card"], ["token", "show"] + token.selection] {
            let result = try token.keyfob(arguments)
            #expect(result.status != 0)
            #expect(result.error.hasPrefix("keyfob: "), "\(result.error)")
            #expect(!result.error.contains("WARNING"), "\(result.error)")
        }
    }

    @Test func `a program that the command starts keeps its standard error`() throws {
        let token = try TokenHome(.tpm2)
        try token.makeKeychain()
        let made = try token.keyfob(["identity", "create", "web", "--self-signed", "--cn", "web", "-k", "card"])
        try #require(made.status == 0, "\(made.error)")
        let renewed = try token.keyfob(
            ["identity", "renew", "web", "--force", "-k", "card", "--exec", "echo from the hook >&2"])
        #expect(renewed.status == 0)
        #expect(renewed.error.contains("from the hook"), "\(renewed.error)")
    }

    @Test func `wrong PINs are counted, the last try is guarded, and a login starts the count anew`() throws {
        let token = try TokenHome(.tpm2)
        let show = ["token", "show", "--objects"] + token.selection
        for number in 1...2 {
            let wrong = try token.home.directory.write(Array("wrong\(number)".utf8), to: "wrong\(number)")
            let refused = try token.keyfob(show + ["--pin-source", "file:" + wrong])
            #expect(refused.status == 5)
            #expect(refused.error.contains("does not report its tries; \(number) of 3"), "\(refused.error)")
        }
        #expect(try token.keyfob(["token", "show"] + token.selection).output.contains("2 of 3 are used"))
        let guarded = try token.keyfob(show + ["--pin-source", "file:" + token.pin])
        #expect(guarded.status == 5)
        #expect(guarded.error.contains("the PIN was not sent"), "\(guarded.error)")
        try token.makeKeychain(["--allow-final-try"])
        #expect(try token.keyfob(["token", "show"] + token.selection).output.contains("0 of 3 are used"))
    }

    @Test func `a locked PIN is not to be unblocked with the SO PIN, which is locked too`() throws {
        let token = try TokenHome(.tpm2)
        var last = ""
        for number in 1...4 {
            let wrong = try token.home.directory.write(Array("wrong\(number)".utf8), to: "wrong\(number)")
            last = try token.keyfob(
                ["doctor", "--allow-final-try", "--pin-source", "file:" + wrong] + token.selection).error
        }
        #expect(last.contains("is blocked"), "\(last)")
        #expect(last.contains("tpm2_dictionarylockout"), "\(last)")
        #expect(!last.contains("--init-pin"), "\(last)")
    }

    @Test func `programs that work on a TPM are configured for it, and servers that fork are refused`() throws {
        let token = try TokenHome(.tpm2)
        try token.makeKeychain()
        let made = try token.keyfob(["identity", "create", "web", "--self-signed", "--cn", "web", "-k", "card"])
        try #require(made.status == 0, "\(made.error)")
        let openssl = try token.keyfob(["uri", "web", "--for", "openssl", "-k", "card", "--check"])
        #expect(openssl.status == 0, "\(openssl.error)")
        #expect(openssl.output.contains("-key 'org.openssl.engine:pkcs11:pkcs11:"), "\(openssl.output)")
        #expect(!openssl.output.contains("-engine"), "\(openssl.output)")
        for program in ["nginx", "httpd"] {
            let refused = try token.keyfob(["uri", "web", "--for", program, "-k", "card", "--check"])
            #expect(refused.status == 8)
            #expect(refused.error.contains("p11-kit server --provider"), "\(refused.error)")
        }
        #expect(try token.keyfob(["token", "show"] + token.selection).output.contains("0 of 3 are used"))
    }
}
