import Keyfob
import KeyfobPrimitives
import PKCS11

/// curl: a client with a certificate whose key is on the token.
struct Curl: Program {
    static let name = "curl"
    static let summary = "a client, with mutual TLS"
    static let usesEngine = true
    static let usage = CertificateUsage.client

    static func recipe(for use: TokenUse) throws -> Recipe {
        let engine = try OpenSSLEngine.required(by: name)
        let chain = use.fullChain
        func command(_ rest: String, chain: String) -> String {
            "curl --engine pkcs11 --cert \(ShellWord.quoted(certificate(chain))) --key-type ENG "
                + "--key \(ShellWord.quoted(use.uri.description)) \(rest)"
        }
        return Recipe(
            title: "curl reaches the token through OpenSSL's engine \(engine)",
            files: [chain], environment: use.environment,
            lines: [command("https://HOST/", chain: use.path(chain))],
            notes: use.pinNotes,
            check: """
                command -v curl >/dev/null || { echo 'curl is not installed'; exit 127; }
                \(Handshake.functions)
                chain=\(ShellWord.quoted(chain.name))
                \(Handshake.mutualServer)
                \(command("--silent --show-error --fail --max-time 10 --noproxy '*' --cacert peer.pem", chain: chain.name)) \\
                    --resolve "localhost:$port:127.0.0.1" --output page "https://localhost:$port/"
                grep -q 'Client certificate' page || { echo 'the server received no client certificate'; exit 1; }
                sed -n 's/^New, \\(TLSv[0-9.]*\\), Cipher is \\(.*\\)/\\1 \\2/p' page | head -n 1

                """)
    }

    /// A file name as `--cert` takes it. The text after an unescaped colon would be a passphrase.
    private static func certificate(_ path: String) -> String {
        path.escaping("\\:")
    }
}
