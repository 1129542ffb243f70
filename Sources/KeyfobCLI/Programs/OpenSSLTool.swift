import Keyfob
import KeyfobOpenSSL
import PKCS11

/// The `openssl` command, as client and as server.
struct OpenSSLTool: Program {
    static let name = "openssl"
    static let summary = "s_client and s_server"
    static let usesEngine = true

    static func recipe(for use: TokenUse) throws -> Recipe {
        let engine = try OpenSSLEngine.required(by: name)
        let chain = use.fullChain
        // OpenSSL uses only the first certificate of -cert; the others need a separate file.
        let above = Recipe.File(
            name: use.stem + ".above.pem", content: use.chain.dropFirst().map(\.pem).joined())
        let hasAuthorities = use.chain.count > 1
        func options(_ path: (Recipe.File) -> String) -> String {
            let chainOption = hasAuthorities ? " -cert_chain \(ShellWord.quoted(path(above)))" : ""
            // -engine makes the engine the default for all operations, also for those of a module that uses OpenSSL.
            let key = use.profile.has(.refusesDefaultEngine)
                ? "-key \(ShellWord.quoted("org.openssl.engine:pkcs11:" + use.uri.description))"
                : "-engine pkcs11 -keyform engine -key \(ShellWord.quoted(use.uri.description))"
            return key + " -cert \(ShellWord.quoted(path(chain)))\(chainOption)"
        }
        let (serves, asks) = (use.isFor(.serverAuth), use.isFor(.clientAuth))
        return Recipe(
            title: "openssl reaches the token through its engine \(engine)",
            files: hasAuthorities ? [chain, above] : [chain], environment: use.environment,
            lines: [
                "openssl s_client \(options(use.path)) -connect HOST:443",
                "openssl s_server \(options(use.path)) -accept 4433 -www",
            ],
            notes: use.pinNotes,
            check: """
                \(Handshake.functions)
                chain=\(ShellWord.quoted(chain.name))
                \(serves || asks ? "" : "echo 'the certificate is for neither servers nor clients'; exit 77")
                \(serves ? serverCheck(options(\.name)) : "")
                \(asks ? clientCheck(options(\.name)) : "")
                \(Handshake.report)
                """)
    }

    /// Serves with the key.
    private static func serverCheck(_ options: String) -> String {
        """
        openssl s_server \(options) -accept 127.0.0.1:0 -www </dev/null >own.log 2>&1 &
        server=$!
        listening own.log || exit 1
        await "$port" "$chain" || { cat own.log handshake.log; exit 1; }
        stop

        """
    }

    /// Connects to a server with the certificate, and checks that the server received it.
    ///
    /// With TLS 1.3 the client finishes the handshake before the server has checked the certificate.
    private static func clientCheck(_ options: String) -> String {
        """
        \(Handshake.mutualServer)
        printf 'GET / HTTP/1.0\\r\\n\\r\\n' | timeout 10 openssl s_client \(options) -CAfile peer.pem \\
            -verify_return_error -ign_eof -connect "127.0.0.1:$port" >client.log 2>&1 || { cat client.log; exit 1; }
        grep -q 'Client certificate' client.log ||
            { cat client.log; echo 'the server saw no client certificate'; exit 1; }
        cp client.log handshake.log

        """
    }
}
