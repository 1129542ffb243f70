import Foundation
import TestSupport
import Testing

/// Keychains on tokens of other makers. `Scripts/token` starts them.
@Suite struct OtherTokenTests {
    /// The options that make a keychain, and its suite. A card makes no keys.
    private static func ways(_ kind: TokenKind) -> [(options: [String], suite: String)] {
        guard kind == .piv else { return [([], "RSA-OAEP-256")] }
        return [
            (["--wrapping-key", "pkcs11:id=%03;type=private"], "RSA-OAEP-256"),
            (["--wrapping-key", "pkcs11:id=%05;type=private"], "ECDH-ES+A256KW"),
        ]
    }

    static let installed = [TokenKind.remote, .tpm2, .piv].filter(\.isInstalled)

    @Test(.enabled(if: !installed.isEmpty, "no token but SoftHSM is installed: Scripts/install-dependencies tokens"), arguments: installed)
    func `a keychain on another token keeps passwords`(kind: TokenKind) throws {
        let card = try TokenHome(kind)
        for (options, suite) in Self.ways(kind) {
            let made = try card.makeKeychain(options + ["--json"])
            #expect(made.output.contains("\"wrap_suite\":\"\(suite)\""), "\(made.output)")
            let stored = try card.keyfob(["set", "db/prod", "--stdin", "-k", "card"], input: "first")
            #expect(stored.status == 0, "\(stored.error)")
            #expect(try card.keyfob(["get", "db/prod", "-k", "card"]).output == "first\n")
            let checked = try card.keyfob(["keychain", "check", "card", "--secrets"])
            #expect(checked.status == 0, "\(checked.output)\(checked.error)")
            #expect(try card.keyfob(["keychain", "rm", "card", "--yes"]).status == 0)
        }
    }

    @Test(.enabled(if: TokenKind.tpm2.isInstalled, "Scripts/install-dependencies tpm2"), arguments: ["ec", "rsa"])
    func `a TPM makes an identity that signs`(type: String) throws {
        let card = try TokenHome(.tpm2)
        try card.makeKeychain()
        let words = type == "rsa" ? ["--type", "rsa"] : []
        let made = try card.keyfob(["identity", "create", "web", "--self-signed", "--cn", "web", "-k", "card"] + words)
        #expect(made.status == 0, "\(made.error)")
        let checked = try card.keyfob(["identity", "check", "web", "-k", "card"])
        #expect(checked.output.contains("signed a test challenge"), "\(checked.output)\(checked.error)")
    }

    @Test(.enabled(if: TokenKind.piv.isInstalled, "Scripts/install-dependencies piv"))
    func `a card that makes no keys and was given none gets a keychain without passwords`() throws {
        let card = try TokenHome(.piv)
        let made = try card.makeKeychain(["--json"])
        #expect(made.output.contains("\"wrap_suite\":\"none\""), "\(made.output)")
        let refused = try card.keyfob(["set", "db/prod", "--stdin", "-k", "card"], input: "first")
        #expect(refused.status == 8 && refused.error.contains("takes no passwords"), "\(refused.error)")
        let keys = try card.keyfob(["key", "ls", "-k", "card"])
        #expect(keys.output.contains("EC P-256"), "\(keys.output)\(keys.error)")
        let checked = try card.keyfob(["keychain", "check", "card"])
        #expect(checked.status == 0, "\(checked.output)\(checked.error)")
    }

    @Test(
        .enabled(if: !installed.isEmpty, "no token but SoftHSM is installed: Scripts/install-dependencies tokens"),
        arguments: installed)
    func `commands that need no vault work on another token without a keychain`(kind: TokenKind) throws {
        let card = try TokenHome(kind)
        let listed = try onToken(card, ["key", "ls"])
        #expect(listed.status == 0, "\(listed.error)")
        if kind != .piv {
            let made = try onToken(card, ["key", "generate", "api", "--type", "rsa", "--size", "2048"])
            #expect(made.status == 0, "\(made.error)")
            let request = try onToken(card, ["key", "csr", "api", "--cn", "api"])
            #expect(request.output.contains("BEGIN CERTIFICATE REQUEST"), "\(request.error)")
        }
        let certificates = try onToken(card, ["cert", "ls", "--json"])
        #expect(certificates.output.contains("\"keychain\":null"), "\(certificates.output)\(certificates.error)")
    }

    /// Runs a command on the token, which needs no keychain.
    private func onToken(_ card: TokenHome, _ arguments: [String]) throws -> Tool.Result {
        let words = ["--token", card.token.label, "--pin-source", "file:" + card.pin]
        return try card.keyfob(arguments + words, environment: ["KEYFOB_MODULE": card.token.module])
    }
}
