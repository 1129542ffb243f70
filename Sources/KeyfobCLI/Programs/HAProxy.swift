import Keyfob

/// HAProxy: reads private keys only from files.
struct HAProxy: Program {
    static let name = "haproxy"
    static let summary = "a load balancer; cannot use tokens"

    static func recipe(for use: TokenUse) throws -> Recipe {
        // `crt` and `key` are read as PEM. `ssl-engine`, if it was built in, cannot name a key.
        throw KeychainError(
            .mechanismUnsupported,
            "haproxy reads private keys from PEM files only; through OpenSSL's engine it cannot name one on a token.",
            hint: "Let nginx or httpd end TLS in front of it: "
                + Wording.selected.keyfob("uri " + ShellWord.operand(use.label, with: " --for nginx")))
    }
}
