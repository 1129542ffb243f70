import Keyfob

/// Words the operations of remedies as command lines of `keyfob`.
///
/// The commands name the keychain if it is not the default one. Without the option they would apply to another
/// keychain, and some of them destroy data.
struct Wording {
    /// The keychain that the commands concern; `nil` for the one that the command line selects.
    private let keychain: String?

    /// Commands for a keychain; `nil` for the one that the command line selects.
    init(keychain: String?) { self.keychain = keychain }

    /// Commands for the keychain that the command line selects.
    static let selected = Wording(keychain: nil)

    /// The remedies of an error, with commands for the keychain that it concerns.
    static func hint(of error: KeychainError) -> String? {
        Wording(keychain: error.details["keychain"]).text(error.remedies)
    }

    /// The remedies of an error as lines for a terminal.
    static func lines(of error: KeychainError) -> [String] {
        Wording(keychain: error.details["keychain"]).lines(error.remedies)
    }

    /// The remedies with their commands, one a line; `nil` if there is none.
    func text(_ remedies: [Remedy]) -> String? {
        remedies.isEmpty ? nil : remedies.map(text).joined(separator: "\n")
    }

    /// The remedies with their commands, as lines for a terminal.
    func lines(_ remedies: [Remedy]) -> [String] { remedies.map { TerminalSafe.text(text($0)) } }

    private func text(_ remedy: Remedy) -> String {
        remedy.operation.map { "\(remedy.text): \(command($0))" } ?? remedy.text
    }

    /// A command that concerns the keychain, such as `keyfob -k site cert ls`.
    ///
    /// - Parameter words: The command and its arguments, quoted for the shell.
    func keyfob(_ words: String) -> String {
        // Before the verb, because the arguments after it may contain "--".
        if let token = SelectedKeychain.tokenWithoutKeychain {
            return "keyfob \(ShellWord.option("--token", token)) \(words)"
        }
        guard let name = keychain ?? SelectedKeychain.name, name != SelectedKeychain.unnamed else {
            return "keyfob \(words)"
        }
        return "keyfob -k \(ShellWord.quoted(name)) \(words)"
    }

    /// The command for an operation. For a setting, the option alone.
    func command(_ operation: Remedy.Operation) -> String {
        switch operation {
        case .change(let setting): option(setting)

        case .createKeychain: "keyfob init"
        case .listKeychains: "keyfob keychain ls"
        case .setDefaultKeychain: "keyfob keychain default NAME"
        case .checkKeychain(let name, let check): command("keychain check", on: name, check.options)
        case .removeKeychain(let name, let part):
            "keyfob keychain rm " + ShellWord.operand(name, with: part.map { " --without-\($0)" } ?? "")
        case .unlock(let name, .usual): command("unlock", on: name)
        case .unlock(let name?, .typing): "keyfob unlock " + ShellWord.operand(name, with: " --pin-source prompt")
        case .unlock(nil, .typing): "the same command with --pin-source prompt"
        case .unlock(let name, .anew): command("lock", on: name) + " && " + command("unlock", on: name)
        case .setPassphrase(let name): "keyfob keychain passphrase " + ShellWord.operand(name)
        case .repointKeychain(let name, let token):
            "keyfob keychain repoint "
                + ShellWord.operand(name ?? "NAME", with: " " + ShellWord.option("--token", token ?? "TOKEN"))

        case .listTokens: "keyfob token ls"
        case .listObjects(let token?): "keyfob token show " + ShellWord.operand(token, with: " --objects")
        case .listObjects(nil): keyfob("token show --objects")
        case .listMechanisms: "keyfob token mechanisms"
        case .changePIN(let token): "keyfob token pin change " + ShellWord.operand(token)
        case .setPIN(let token): "keyfob token pin set " + ShellWord.operand(token)
        case .unblockPIN(let token): "keyfob token pin unblock " + ShellWord.operand(token)
        case .initializeToken(let token): "keyfob token init " + ShellWord.operand(token, with: " --force")
        case .generateKey: keyfob("key generate NAME")

        case .listItems: keyfob("ls")

        case .listKeys(let fingerprint): keyfob("key ls" + (fingerprint.map { " --pub \($0)" } ?? ""))
        case .removeKey(let name): keyfob("key rm " + ShellWord.operand(name))

        case .listIdentities: keyfob("identity ls")
        case .showIdentity(let name): keyfob("identity show " + ShellWord.operand(name))
        case .replaceIdentity(let name):
            keyfob("identity import FILE \(ShellWord.option("--name", name ?? "NAME")) --replace")
        case .installCertificate(let name):
            keyfob("identity install " + ShellWord.operand(name ?? "NAME", with: " --cert FILE"))
        case .renewIdentity(let name, let changes):
            keyfob("identity renew " + ShellWord.operand(name, with: changes.map(\.option).joined()))
        case .useIdentity(let name): keyfob("identity use " + ShellWord.operand(name))
        case .retireIdentity(let name): keyfob("identity retire " + ShellWord.operand(name))
        case .removeIdentity(let name): keyfob("identity rm " + ShellWord.operand(name ?? "NAME"))
        case .showURI(let name): keyfob("uri " + ShellWord.operand(name ?? "NAME"))

        case .listCertificates: keyfob("cert ls")
        case .showCertificate(let name): keyfob("cert show " + ShellWord.operand(name))
        case .importCertificate: keyfob("cert import FILE")
        case .removeCertificate(let name): keyfob("cert rm " + ShellWord.operand(name ?? "NAME"))
        case .showChain(let name): keyfob("cert chain " + ShellWord.operand(name))
        case .fetchChain(let name): keyfob("cert chain " + ShellWord.operand(name ?? "FILE", with: " --fetch"))
        case .exportChain(let name): keyfob("cert export --chain " + ShellWord.operand(name))
        case .trust(let name, let usages, let isForUser):
            keyfob(
                "trust add "
                    + ShellWord.operand(
                        name ?? "FILE",
                        with: usages.map { " --for " + ShellWord.quoted($0) }.joined()
                            + (isForUser ? " --scope user" : "")))
        case .distrust(let name): keyfob("trust rm " + ShellWord.operand(name))
        }
    }

    /// A command that takes the keychain's name as its operand.
    private func command(_ verb: String, on name: String?, _ options: String = "") -> String {
        guard let name else { return keyfob(verb + options) }
        return "keyfob \(verb) " + ShellWord.operand(name, with: options)
    }

    private func option(_ setting: Remedy.Setting) -> String {
        let sources = "file:… | credential:… | env:…"
        return switch setting {
        case .timeout: "--timeout 60s"
        case .pinSource: "--pin-source \(sources)"
        case .newPINSource: "--new-pin-source \(sources)"
        case .securityOfficerPINSource: "--so-pin-source \(sources)"
        case .passphraseSource: "--pass-source \(sources)"
        case .noPassphrase: "leave out --pass-source"
        case .weakPassphrase: "--allow-weak"
        case .insecureFile: "--insecure-file"
        case .legacyEncryption: "--allow-legacy"
        case .keychain: "--keychain NAME"
        case .token: "--token NAME"
        case .module: "--module PATH, KEYFOB_MODULE"
        case .moduleParameters(let example): "--module PATH --module-parameters \(example)"
        case .wrappingKey: "--wrapping-key URI"
        case .noPasswords: "--no-passwords"
        case .finalTry: "the same command with --allow-final-try"
        case .name: "--name OTHER"
        case .replacing: "add --replace"
        case .keeping: "--if-missing"
        case .overwriting: "--force"
        case .unprotecting: "--unprotect"
        case .issuer(let description): "--issuer " + ShellWord.quoted(description)
        case .alternativeNames: "--dns NAME, --ip ADDRESS"
        case .authority: "--authority"
        case .usage: "--usage server | client | …"
        case .noCommonName: "leave out --cn, and CN of --subject"
        case .authorityFile: "--acme-ca FILE"
        case .profile: "--acme-profile NAME"
        case .terms: "--agree-tos"
        case .externalAccount: "--eab-kid ID --eab-key-source file:PATH"
        case .externalAccountKeySource: "--eab-key-source \(sources)"
        case .httpChallenge: "--web-root DIR, or --listen 80"
        case .webRoot: "--web-root DIR"
        case .dnsChallenge: "--dns-hook COMMAND"
        }
    }
}

extension Remedy.Check {
    fileprivate var options: String {
        switch self {
        case .quick: ""
        case .secrets: " --secrets"
        case .removingDamage: " --remove-damaged"
        }
    }
}

extension Remedy.Renewal {
    fileprivate var option: String {
        switch self {
        case .early: " --force"
        case .newKey: " --new-key"
        case .rsaKey: " --key rsa"
        case .selfSigned: " --self-signed"
        case .namedIssuer: " --issuer ISSUER"
        }
    }
}
