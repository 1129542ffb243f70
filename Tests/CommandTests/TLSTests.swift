import Foundation
import TestSupport
import Testing

@testable import KeyfobCLI

@Suite(
    .enabled(if: OpenSSLEngine.path != nil, "OpenSSL's pkcs11 engine is not installed"))
struct TLSTests {
    @Test func `an Ed25519 key on the token is named as the reason why the engine reaches no key`() throws {
        let home = try IdentityHome()
        #expect(try home.keyfob("identity", "create", "web", "--dns", "web.example", "--self-signed").status == 0)
        #expect(try !home.keyfob("uri", "web", "--for", "openssl").output.contains("Ed25519"))
        #expect(try home.keyfob("key", "generate", "odd", "--type", "ed25519", "--allow-mixed-keys").status == 0)
        let recipe = try home.keyfob("uri", "web", "--for", "openssl")
        #expect(recipe.status == 0 && recipe.output.contains("Ed25519 private key, \"odd\""), "\(recipe.error)")
        #expect(recipe.output.contains("keyfob keychain create"))
        let check = try home.keyfob("uri", "web", "--for", "openssl", "--check", "--json")
        #expect(check.status == 8)
        #expect(try IdentityHome.code(check) == "mechanism.unsupported")
        // Programs that do not use the engine are not affected.
        #expect(try !home.keyfob("uri", "web", "--for", "gnutls").output.contains("Ed25519"))
    }

    @Test(arguments: ["java", "nss", "ssh"])
    func `a program that cannot use Ed25519 keys of tokens gets no configuration for one`(program: String) throws {
        let home = try IdentityHome()
        let made = try home.keyfob(
            "identity", "create", "odd", "--dns", "web.example", "--self-signed", "--key", "ed25519")
        #expect(made.status == 0, "\(made.error)")
        let recipe = try home.keyfob("uri", "odd", "--for", program, "--json")
        #expect(recipe.status == 8)
        #expect(try IdentityHome.code(recipe) == "mechanism.unsupported" && recipe.error.contains("Ed25519"))
    }

    @Test func `openssl serves TLS with a key on the token, and curl verifies it`() throws {
        let home = try IdentityHome()
        try home.makeWeb()
        #expect(
            try home.keyfob(
                "identity", "import", home.file("web.p12"), "--name", "web", "--pass-source",
                "file:" + home.file("pass")
            ).status == 0)
        // From here on the token has the only copy.
        try home.shell("rm web.key web.p12")
        let output = try home.shell(
            """
            "$KEYFOB" cert export web --chain -o web.fullchain.pem >/dev/null
            "$KEYFOB" cert export web --chain --no-leaf -o web.above.pem >/dev/null
            eval "$("$KEYFOB" uri web --env)"
            : > server.log
            openssl s_server -engine pkcs11 -keyform engine -key "$("$KEYFOB" uri web)" -cert web.fullchain.pem \
                -cert_chain web.above.pem -www -accept 127.0.0.1:0 </dev/null >server.log 2>&1 &
            server=$!
            trap 'kill $server 2>/dev/null || true' EXIT
            for attempt in $(seq 1200); do
                port=$(sed -n 's/^ACCEPT .*:\\([0-9][0-9]*\\)$/\\1/p' server.log)
                if [ -n "$port" ]; then break; fi
                sleep 0.1
            done
            [ -n "$port" ] || { cat server.log; exit 1; }
            curl --silent --show-error --fail --max-time 120 --cacert root.pem --noproxy '*' \
                --resolve "localhost:$port:127.0.0.1" --output page --write-out '%{http_code} %{ssl_verify_result}' \
                "https://localhost:$port/"
            """, environment: ["KEYFOB": Tool.keyfob([]).path])
        #expect(output == "200 0")
    }

    @Test func `a URI names token, key, id and PIN file, and nothing secret`() throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("a")
        #expect(
            try home.keyfob("identity", "import", home.file("a.key"), home.file("a.pem"), "--name", "a").status == 0)
        let uri = try home.keyfob("uri", "a").output
        #expect(uri.hasPrefix("pkcs11:"))
        for part in ["token=login", "object=a", "id=%", "type=private", "pin-source=file%3A"] {
            #expect(uri.contains(part))
        }
        let pin = try home.shell("cat home/.local/share/keyfob/keychains/*/pin")
        #expect(!pin.isEmpty && !pin.contains("\n") && !uri.contains(pin))
        #expect(pin.utf8.count < 32, "libp11 cuts longer ones")
        let curl = try home.keyfob("uri", "a", "--for", "curl")
        #expect(curl.output.contains("curl --engine pkcs11 "))
        #expect(try home.keyfob("uri", "a", "--for", "caddy").status == 2)
        #expect(try home.keyfob("uri", "none").status == 3)
    }

    @Test func `a certificate is exported without the token`() throws {
        let home = try IdentityHome()
        try home.makeSelfSigned("a")
        #expect(
            try home.keyfob("identity", "import", home.file("a.key"), home.file("a.pem"), "--name", "a").status == 0)
        // The linker's own log says which libraries are loaded.
        func loads(_ arguments: [String]) throws -> Bool {
            let environment = home.environment.merging(["LD_DEBUG": "files"]) { $1 }
            return try run(
                Tool.keyfob([]).path, arguments, environment: environment, isWhole: true
            ).stderr.contains("libsofthsm2")
        }
        #expect(try !loads(["cert", "export", "a"]))
        #expect(try !loads(["cert", "ls"]))
        #expect(try loads(["identity", "check", "a"]))
    }
}
