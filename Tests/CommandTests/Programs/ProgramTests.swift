import Foundation
import TestSupport
import Testing

@testable import KeyfobCLI

/// Every program that `--for` knows, started for real, with a key made on the token and one imported.
@Suite("Programs that use a key on the token", .enabled(if: OpenSSLEngine.path != nil, "OpenSSL's pkcs11 engine is not installed"))
struct ProgramTests {
    /// What stands in each proof: the protocol that was spoken, or what was done.
    private static let proofs = [
        "curl": "TLSv1.3", "openssl": "TLSv1.3", "nginx": "TLSv1.3", "httpd": "TLSv1.3", "postgresql": "TLSv1.3",
        "gnutls": "TLSv1.3", "ssh": "client and agent", "java": "listed under its label; signed a request",
        "nss": "TLSv1.3",
    ]

    @Test("each program uses the key, generated or imported", arguments: ["ec", "rsa"])
    func proofs(keyType: String) throws {
        let home = try ServingHome(keyType: keyType)
        for program in Programs.names where program != "haproxy" {
            for name in ["generated", "imported"] {
                let result = try home.run("./keyfob uri \(name) --for \(program) --check --json")
                #expect(result.status == 0, "\(program), \(keyType), \(name): \(result.error)")
                guard result.status == 0 else { continue }
                let document = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
                let proof = document?["check"] as? String
                let wanted = program == "nss" && keyType == "rsa" ? "signed a request" : Self.proofs[program]
                #expect(try proof?.contains(#require(wanted)) == true, "\(program) \(keyType): \(proof ?? "-")")
            }
        }
        // Checks clean up: no server, no agent and no directory is left.
        #expect(try home.shell("pgrep -f '/tmp/keyfob-[A-Za-z0-9]*/(nginx|httpd|sshd).conf' || true") == "")
    }

    @Test("a check fails where the program gets another key than the certificate's")
    func mismatch() throws {
        let home = try ServingHome(keyType: "ec")
        // The recipe of one identity with the other's key: what a copied configuration may look like.
        let other = try home.shell("./keyfob uri imported").trimmingCharacters(in: .newlines)
        let own = try home.shell("./keyfob uri generated").trimmingCharacters(in: .newlines)
        let json = try home.shell("./keyfob uri generated --for nginx --json")
        let document = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
        let commands = try #require(document["commands"] as? [String])
        #expect(commands.contains { $0.contains(own) } && own != other)
        let recipe = Recipe(
            title: "", environment: [], lines: [],
            check: """
                \(Handshake.functions)
                openssl s_server -key root.key -cert root.pem -accept 127.0.0.1:0 -www </dev/null >own.log 2>&1 &
                server=$!
                for attempt in $(seq 50); do
                    port=$(sed -n 's/^ACCEPT .*:\\([0-9][0-9]*\\)$/\\1/p' own.log | head -n 1)
                    if [ -n "$port" ]; then break; fi
                    sleep 0.1
                done
                await "$port" root.pem
                if handshake "$port" imported.pem; then exit 1; fi
                echo told
                """)
        #expect(try home.shell(recipe.check).hasSuffix("told\n"))
    }

    @Test("files are written whole, hold no secret, and the configuration names them")
    func files() throws {
        let home = try ServingHome(keyType: "ec")
        let output = try home.shell("./keyfob uri imported --for nginx --write tls/site")
        let written = try home.shell("ls tls/site").split(separator: "\n").map(String.init)
        #expect(written == ["imported.fullchain.pem", "imported.openssl.cnf", "imported.service.conf"])
        #expect(output.contains("tls/site/imported.fullchain.pem\";"))
        let content = try home.shell("cat tls/site/*")
        #expect(!content.contains("PRIVATE KEY"))
        let pin = try home.shell("cat home/.local/share/keyfob/pins/*.pin")
        #expect(!pin.isEmpty && !content.contains(pin) && !output.contains(pin))
        #expect(try home.shell("openssl x509 -in tls/site/imported.fullchain.pem -noout -subject").contains("imported"))
    }

    @Test(
        "what cannot work says why",
        arguments: [
            ("uri imported --for haproxy", 8), ("uri imported --for caddy", 2), ("uri imported --check", 2),
            ("uri imported --write x", 2),
        ])
    func refusals(arguments: String, status: Int32) throws {
        let home = try ServingHome(keyType: "ec")
        let result = try home.run("./keyfob \(arguments)")
        #expect(result.status == status, "\(result.error)")
        #expect(result.error.contains("keyfob: ") && result.error.contains("\n    "))
    }

    @Test("ssh takes a key that has no certificate")
    func keyAlone() throws {
        let home = try ServingHome(keyType: "ec")
        let result = try home.run(
            "./keyfob key generate git --type ec --curve p384 >/dev/null && ./keyfob uri git --for ssh --check")
        #expect(result.status == 0, "\(result.error)")
        #expect(result.output.contains("# checked: client and agent"))
        #expect(try home.run("./keyfob uri git --for nginx").status == 3)
    }
}
