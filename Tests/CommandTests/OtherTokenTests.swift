import Foundation
import TestSupport
import Testing

/// Keychains on tokens of other makers. `Scripts/token` starts them.
@Suite struct OtherTokenTests {
    /// A running token, and a home for commands that use it.
    private final class Card {
        let home: TestHome
        let kind: Kind
        let environment: [String: String]
        private let exports: [String: Any]

        init(_ kind: Kind) throws {
            home = try TestHome()
            self.kind = kind
            let started = try Tool(
                Machine.script("token"), [kind.rawValue, "start", home.directory.file("token"), "--json"],
                environment: ["HOME": home.directory.file("home")]
            ).run()
            try #require(started.status == 0, "\(started.error)")
            exports = try #require(
                try JSONSerialization.jsonObject(with: Data(started.output.utf8)) as? [String: Any])
            var environment = try #require(exports["environment"] as? [String: String])
            environment["CARD_PIN"] = try #require(exports["pin"] as? String)
            self.environment = environment
        }

        deinit {
            do { _ = try Tool(Machine.script("token"), [kind.rawValue, "stop", home.directory.file("token")]).run() } catch {
                print("note: \(kind.rawValue) was not stopped: \(error)")
            }
        }

        func keyfob(_ arguments: String..., input: String = "") throws -> Tool.Result {
            try home.keyfob(arguments, input: Data(input.utf8), environment: environment)
        }

        /// Runs a command on the token, which needs no keychain.
        func onToken(_ arguments: String...) throws -> Tool.Result {
            let words = try ["--token", #require(exports["label"] as? String), "--pin-source", "env:CARD_PIN"]
            let module = try ["KEYFOB_MODULE": #require(exports["module"] as? String)]
            return try home.keyfob(arguments + words, environment: environment.merging(module) { $1 })
        }

        /// Makes a keychain whose PIN comes from a file.
        func makeKeychain(_ options: [String] = []) throws -> Tool.Result {
            let pin = try home.directory.write(Array(environment["CARD_PIN", default: ""].utf8), to: "card.pin")
            let words = try [
                "init", "--keychain", "card", "--token", #require(exports["label"] as? String), "--module",
                #require(exports["module"] as? String), "--pin-source", "file:" + pin, "--json",
            ]
            return try home.keyfob(words + options, environment: environment)
        }
    }

    enum Kind: String, CaseIterable {
        case remote, tpm2, piv

        /// Whether all packages of the kind are installed. The tests install none of them.
        var isInstalled: Bool {
            let script = Machine.script("install-dependencies")
            // Without apt, Scripts/token cannot start the token either.
            return (try? Tool(script, ["--dry-run", rawValue]).run().output.hasPrefix("Nothing to install")) == true
        }

        /// The options that make a keychain, and its suite. A card makes no keys.
        var ways: [(options: [String], suite: String)] {
            switch self {
            case .remote, .tpm2: [([], "RSA-OAEP-256")]
            case .piv:
                [
                    (["--wrapping-key", "pkcs11:id=%03;type=private"], "RSA-OAEP-256"),
                    (["--wrapping-key", "pkcs11:id=%05;type=private"], "ECDH-ES+A256KW"),
                ]
            }
        }
    }

    static let installed = Kind.allCases.filter(\.isInstalled)

    @Test(.enabled(if: !installed.isEmpty, "no token but SoftHSM is installed: Scripts/install-dependencies tokens"), arguments: installed)
    func `a keychain on another token keeps passwords`(kind: Kind) throws {
        let card = try Card(kind)
        for (options, suite) in kind.ways {
            let made = try card.makeKeychain(options)
            #expect(made.status == 0, "\(made.error)")
            #expect(made.output.contains("\"wrap_suite\":\"\(suite)\""), "\(made.output)")
            let stored = try card.keyfob("set", "db/prod", "--stdin", "-k", "card", input: "first")
            #expect(stored.status == 0, "\(stored.error)")
            #expect(try card.keyfob("get", "db/prod", "-k", "card").output == "first\n")
            let checked = try card.keyfob("keychain", "check", "card", "--secrets")
            #expect(checked.status == 0, "\(checked.output)\(checked.error)")
            #expect(try card.keyfob("keychain", "rm", "card", "--yes").status == 0)
        }
    }

    @Test(.enabled(if: Kind.tpm2.isInstalled, "Scripts/install-dependencies tpm2"), arguments: ["ec", "rsa"])
    func `a TPM makes an identity that signs`(type: String) throws {
        let card = try Card(.tpm2)
        try #require(card.makeKeychain().status == 0)
        let words = type == "rsa" ? ["--type", "rsa"] : []
        let made = try card.home.keyfob(
            ["identity", "create", "web", "--self-signed", "--cn", "web", "-k", "card"] + words,
            environment: card.environment)
        #expect(made.status == 0, "\(made.error)")
        let checked = try card.keyfob("identity", "check", "web", "-k", "card")
        #expect(checked.output.contains("signed a test challenge"), "\(checked.output)\(checked.error)")
    }

    @Test(.enabled(if: Kind.piv.isInstalled, "Scripts/install-dependencies piv"))
    func `a card that makes no keys and was given none gets a keychain without passwords`() throws {
        let card = try Card(.piv)
        let made = try card.makeKeychain()
        #expect(made.status == 0, "\(made.error)")
        #expect(made.output.contains("\"wrap_suite\":\"none\""), "\(made.output)")
        let refused = try card.keyfob("set", "db/prod", "--stdin", "-k", "card", input: "first")
        #expect(refused.status == 8 && refused.error.contains("takes no passwords"), "\(refused.error)")
        let keys = try card.keyfob("key", "ls", "-k", "card")
        #expect(keys.output.contains("EC P-256"), "\(keys.output)\(keys.error)")
        let checked = try card.keyfob("keychain", "check", "card")
        #expect(checked.status == 0, "\(checked.output)\(checked.error)")
    }

    @Test(
        .enabled(if: !installed.isEmpty, "no token but SoftHSM is installed: Scripts/install-dependencies tokens"),
        arguments: installed)
    func `commands that need no vault work on another token without a keychain`(kind: Kind) throws {
        let card = try Card(kind)
        let listed = try card.onToken("key", "ls")
        #expect(listed.status == 0, "\(listed.error)")
        if kind != .piv {
            let made = try card.onToken("key", "generate", "api", "--type", "rsa", "--size", "2048")
            #expect(made.status == 0, "\(made.error)")
            let request = try card.onToken("key", "csr", "api", "--cn", "api")
            #expect(request.output.contains("BEGIN CERTIFICATE REQUEST"), "\(request.error)")
        }
        let certificates = try card.onToken("cert", "ls", "--json")
        #expect(certificates.output.contains("\"keychain\":null"), "\(certificates.output)\(certificates.error)")
    }
}
