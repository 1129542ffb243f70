import Keyfob

/// HAProxy: reads private keys only from files.
struct HAProxy: Program {
    static let name = "haproxy"
    static let summary = "a load balancer; cannot use tokens"

    static func recipe(for use: TokenUse) throws -> Recipe {
        // `crt` and `key` are read as PEM. `ssl-engine`, if it was built in, cannot name a key.
        throw KeychainError(
            .mechanismUnsupported,
            "haproxy reads private keys only from PEM files; it cannot use a key on a token.",
            hint: "Terminate TLS in nginx or httpd in front of it: "
                + Wording.selected.keyfob("uri " + ShellWord.operand(use.label, with: " --for nginx")))
    }
}
