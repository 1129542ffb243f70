import Keyfob
import OpenSSL
import PKCS11

/// OpenSSL's own command, as client and as server.
struct OpenSSLTool: Program {
    static let name = "openssl"
    static let summary = "s_client and s_server"
    static let usesEngine = true

    static func recipe(for use: TokenUse) throws -> Recipe {
        let engine = try OpenSSLEngine.required(by: name)
        let chain = use.fullChain
        // OpenSSL takes only the first certificate of -cert; the others come from a file of their own.
        let above = Recipe.File(
            name: use.stem + ".above.pem", content: use.chain.dropFirst().map(\.pem).joined())
        let hasAuthorities = use.chain.count > 1
        func options(_ path: (Recipe.File) -> String) -> String {
            let chainOption = hasAuthorities ? " -cert_chain \(TokenUse.quoted(path(above)))" : ""
            return "-engine pkcs11 -keyform engine -key \(TokenUse.quoted(use.uri.description)) "
                + "-cert \(TokenUse.quoted(path(chain)))\(chainOption)"
        }
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
                chain=\(TokenUse.quoted(chain.name))
                openssl s_server \(options(\.name)) -accept 127.0.0.1:0 -www </dev/null >own.log 2>&1 &
                server=$!
                for attempt in $(seq 300); do
                    port=$(sed -n 's/^ACCEPT .*:\\([0-9][0-9]*\\)$/\\1/p' own.log | head -n 1)
                    if [ -n "$port" ]; then break; fi
                    sleep 0.1
                done
                [ -n "$port" ] || { cat own.log; exit 1; }
                await "$port" "$chain" || { cat own.log handshake.log; exit 1; }
                stop
                \(Handshake.mutualServer)
                echo Q | timeout 10 openssl s_client \(options(\.name)) -CAfile peer.pem -verify_return_error \\
                    -connect "127.0.0.1:$port" >client.log 2>&1 || { cat client.log; exit 1; }
                \(Handshake.report)
                """)
    }
}
