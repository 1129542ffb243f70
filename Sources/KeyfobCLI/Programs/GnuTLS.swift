import Keyfob
import KeyfobOpenSSL
import PKCS11

/// GnuTLS: its tools and programs built on it accept the URI in place of a file.
struct GnuTLS: Program {
    static let name = "gnutls"
    static let summary = "gnutls-cli, gnutls-serv and programs built on GnuTLS"

    static func recipe(for use: TokenUse) throws -> Recipe {
        // It loads modules through p11-kit itself, but not the proxy, and none that needs parameters (GnuTLS 3.7).
        try use.requireNoProxy("GnuTLS", "it finds no token of a module that needs parameters")
        let chain = use.fullChain
        var uri = use.uri
        uri.pinSource = nil
        let pin = use.pinFile.map { "GNUTLS_PIN=\"$(head -n 1 \(ShellWord.quoted($0)))\" " } ?? ""
        func options(_ chain: String) -> String {
            "--provider \(ShellWord.quoted(use.module)) --x509keyfile \(ShellWord.quoted(uri.description)) "
                + "--x509certfile \(ShellWord.quoted(chain))"
        }
        return Recipe(
            title: "GnuTLS reaches the token through its PKCS#11 module",
            files: [chain], environment: use.softHSMConfiguration.map { [("SOFTHSM2_CONF", $0)] } ?? [],
            lines: [
                "\(pin)gnutls-cli \(options(use.path(chain))) HOST",
                "\(pin)gnutls-serv \(options(use.path(chain))) --port 4433 --http",
            ],
            notes: use.pinFile == nil
                ? use.pinNotes
                : ["GnuTLS reads the PIN from its environment, which its own user and root can read"],
            check: """
                command -v gnutls-serv >/dev/null || { echo 'gnutls-serv is not installed'; exit 127; }
                \(use.isFor(.serverAuth) || use.isFor(.clientAuth)
                    ? "" : "echo 'the certificate is for neither servers nor clients'; exit 77")
                \(use.pinFile == nil ? "echo 'the PIN is not in a file, and the check cannot ask for it'; exit 77" : "")
                \(Handshake.functions)
                chain=\(ShellWord.quoted(chain.name))
                \(use.isFor(.serverAuth) ? serverCheck(pin, options(chain.name)) : clientCheck(pin, options(chain.name)))
                """)
    }

    private static func serverCheck(_ pin: String, _ options: String) -> String {
        """
        port=$(port)
        \(pin)gnutls-serv \(options) --port "$port" --http --quiet </dev/null >server.log 2>&1 &
        server=$!
        await "$port" "$chain" || { cat server.log handshake.log; exit 1; }
        \(Handshake.report)
        """
    }

    /// The check for a certificate that is only for clients.
    private static func clientCheck(_ pin: String, _ options: String) -> String {
        """
        \(Handshake.mutualServer)
        { printf 'GET / HTTP/1.0\\r\\n\\r\\n'; sleep 1; } | \(pin)timeout 20 gnutls-cli \(options) \\
            --x509cafile peer.pem --verify-hostname localhost --port "$port" 127.0.0.1 >client.log 2>&1 || true
        grep -q 'Client certificate' client.log ||
            { cat client.log; echo 'the server received no client certificate'; exit 1; }
        sed -n 's/^New, \\(TLSv[0-9.]*\\), Cipher is \\(.*\\)/\\1 \\2/p' client.log | head -n 1

        """
    }
}
