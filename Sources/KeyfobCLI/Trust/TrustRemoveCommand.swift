import ArgumentParser
import Keyfob
import KeyfobOpenSSL

/// `keyfob trust rm`: stops trusting a certificate.
struct TrustRemoveCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "rm", "No longer trust a certificate.",
        examples: Examples(
            "keyfob trust rm corp-ca", "keyfob trust rm sha256:9a11 --yes", "keyfob trust rm corp-ca --dry-run"),
        discussion: "The certificate stays in the keychain; keyfob cert rm removes it.",
        aliases: ["remove", "delete"])

    @Argument(help: "A file, or name, fingerprint or PKCS#11 URI.")
    var certificate: CertificateSource

    @Flag(help: "Succeed if it is not trusted, or if there is no such certificate.")
    var ifExists = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ output: Output) throws {
        let keychain = try global.openKeychain()
        let (anchor, name) = try find(in: keychain)
        let isTrusted = try anchor.map { anchor in
            try keychain.trust.anchors().contains { $0.certificate == anchor }
        } ?? false
        guard isTrusted || ifExists else {
            throw KeychainError(
                .itemNotFound,
                "\"\(TerminalSafe.text(name))\" is not trusted in keychain \"\(keychain.name)\".",
                hint: "Trusted certificates: " + Wording(keychain: keychain.name).keyfob("trust ls"),
                details: ["name": name, "keychain": keychain.name])
        }
        if isTrusted, !global.dryRun, let anchor { try keychain.trust.remove(anchor) }
        let shown = TerminalSafe.text(name)
        try output.emit(
            Document(global.effect(isTrusted ? .delete : .none), ["name": name]),
            sentence: !isTrusted
                ? "Nothing to do: \"\(shown)\" is not trusted in keychain \"\(TerminalSafe.text(keychain.name))\"."
                : global.dryRun
                    ? "Would no longer trust \"\(shown)\"." : "No longer trusted: \"\(shown)\". The certificate stays.")
    }

    /// The certificate, or `nil` with `--if-exists` if there is none.
    private func find(in keychain: Keychain) throws -> (certificate: Certificate?, name: String) {
        do {
            let (found, _, name) = try certificate.load(isRemoved: true, waiting: global.timeout) { keychain }
            return (found, name)
        } catch let error as KeychainError where ifExists && error.code == .itemNotFound {
            return (nil, certificate.name)
        }
    }
}
