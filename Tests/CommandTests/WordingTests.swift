import Keyfob
import Testing

@testable import KeyfobCLI

/// The command lines that the command writes for the operations of remedies.
@Suite struct WordingTests {
    private static let sources = "file:… | credential:… | env:…"

    @Test(arguments: [
        (.createKeychain, "keyfob init"), (.listKeychains, "keyfob keychain ls"),
        (.setDefaultKeychain, "keyfob keychain default NAME"),
        (.checkKeychain("my site"), "keyfob keychain check 'my site'"),
        (.checkKeychain("site", .removingDamage), "keyfob keychain check site --remove-damaged"),
        (.removeKeychain("site"), "keyfob keychain rm site"),
        (.removeKeychain("site", lacking: .token), "keyfob keychain rm site --without-token"),
        (.removeKeychain("site", lacking: .vault), "keyfob keychain rm site --without-vault"),
        (.unlock(keychain: "site"), "keyfob unlock site"),
        (.unlock(keychain: "site", .typing), "keyfob unlock site --pin-source prompt"),
        (.unlock(keychain: nil, .typing), "the same command with --pin-source prompt"),
        (.unlock(keychain: "site", .anew), "keyfob lock site && keyfob unlock site"),
        (.change(.finalTry), "the same command with --allow-final-try"),
        (.repointKeychain("site", token: "-card"), "keyfob keychain repoint site --token=-card"),
        (.repointKeychain(nil, token: nil), "keyfob keychain repoint NAME --token TOKEN"),
        (.changePIN(token: "card"), "keyfob token pin change card"),
        (.setPIN(token: "-card"), "keyfob token pin set -- -card"),
        (.unblockPIN(token: "my card"), "keyfob token pin unblock 'my card'"),
        (.initializeToken("-card"), "keyfob token init --force -- -card"),
        (.listTokens, "keyfob token ls"), (.listObjects(token: "card"), "keyfob token show card --objects"),
        (.listObjects(token: "-card"), "keyfob token show --objects -- -card"),
        (.listMechanisms, "keyfob token mechanisms"),
    ] as [(Remedy.Operation, String)])
    func `an operation that names its keychain or token is worded alike for every keychain`(
        operation: Remedy.Operation, command: String
    ) {
        #expect(Wording(keychain: "other one").command(operation) == command)
        #expect(Wording(keychain: SelectedKeychain.unnamed).command(operation) == command)
    }

    @Test(arguments: [
        (.checkKeychain(nil, .secrets), "keychain check --secrets"), (.unlock(), "unlock"),
        (.listObjects(), "token show --objects"), (.listItems, "ls"), (.listKeys(), "key ls"),
        (.listKeys(fingerprint: "sha256:77be"), "key ls --pub sha256:77be"), (.removeKey("my web"), "key rm 'my web'"),
        (.generateKey, "key generate NAME"),
        (.listIdentities, "identity ls"), (.showIdentity("-web"), "identity show -- -web"),
        (.replaceIdentity("-web"), "identity import FILE --name=-web --replace"),
        (.replaceIdentity(nil), "identity import FILE --name NAME --replace"),
        (.installCertificate(identity: "web"), "identity install web --cert FILE"),
        (.installCertificate(identity: nil), "identity install NAME --cert FILE"),
        (.renewIdentity("web"), "identity renew web"),
        (.renewIdentity("web", [.early, .rsaKey, .selfSigned]), "identity renew web --force --key rsa --self-signed"),
        (.renewIdentity("-web", [.newKey, .namedIssuer]), "identity renew --new-key --issuer ISSUER -- -web"),
        (.useIdentity("web@2026-05-02"), "identity use web@2026-05-02"), (.retireIdentity("web"), "identity retire web"),
        (.removeIdentity("web$(reboot)"), "identity rm 'web$(reboot)'"), (.removeIdentity(nil), "identity rm NAME"),
        (.showURI(nil), "uri NAME"), (.listCertificates, "cert ls"), (.showCertificate("Root CA"), "cert show 'Root CA'"),
        (.importCertificate, "cert import FILE"), (.removeCertificate(nil), "cert rm NAME"),
        (.showChain("web"), "cert chain web"), (.fetchChain("web"), "cert chain web --fetch"),
        (.fetchChain(nil), "cert chain FILE --fetch"), (.exportChain("web"), "cert export --chain web"),
        (.trust(nil), "trust add FILE"),
        (.trust("ca", usages: ["client", "server"]), "trust add ca --for client --for server"),
        (.trust("ca", usages: ["server"], isForUser: true), "trust add ca --for server --scope user"),
        (.distrust("ca"), "trust rm ca"),
    ] as [(Remedy.Operation, String)])
    func `a command names the keychain unless it is the default one`(operation: Remedy.Operation, words: String) {
        #expect(Wording(keychain: "other one").command(operation) == "keyfob -k 'other one' \(words)")
        #expect(Wording(keychain: SelectedKeychain.unnamed).command(operation) == "keyfob \(words)")
    }

    @Test(arguments: [
        (.timeout, "--timeout 60s"), (.pinSource, "--pin-source \(sources)"),
        (.securityOfficerPINSource, "--so-pin-source \(sources)"), (.passphraseSource, "--pass-source \(sources)"),
        (.noPassphrase, "leave out --pass-source"), (.insecureFile, "--insecure-file"),
        (.legacyEncryption, "--allow-legacy"), (.keychain, "--keychain NAME"), (.token, "--token NAME"),
        (.name, "--name OTHER"), (.replacing, "add --replace"), (.keeping, "--if-missing"), (.overwriting, "--force"),
        (.issuer("exec:a b"), "--issuer 'exec:a b'"), (.alternativeNames, "--dns NAME, --ip ADDRESS"),
        (.noCommonName, "leave out --cn, and CN of --subject"), (.authorityFile, "--acme-ca FILE"), (.terms, "--agree-tos"),
        (.profile, "--acme-profile NAME"),
        (.externalAccount, "--eab-kid ID --eab-key-source file:PATH"),
        (.externalAccountKeySource, "--eab-key-source \(sources)"),
        (.httpChallenge, "--web-root DIR, or --listen 80"), (.webRoot, "--web-root DIR"),
        (.dnsChallenge, "--dns-hook COMMAND"),
    ] as [(Remedy.Setting, String)])
    func `a setting is worded as its option`(setting: Remedy.Setting, option: String) {
        #expect(Wording(keychain: "other one").command(.change(setting)) == option)
    }

    @Test func `an error is told with the commands of its remedies, for its keychain, one a line`() {
        let error = KeychainError(
            .locked, "it is locked.", remedies: ["Wait.", Remedy("Unlock it", .unlock()), Remedy("Look", .listItems)],
            details: ["keychain": "site"])
        let hint = "Wait.\nUnlock it: keyfob -k site unlock\nLook: keyfob -k site ls"
        #expect(Failure(error).hint == hint)
        #expect(Failure(error).text(verbose: false) == "keyfob: it is locked.\n    \(hint.replacing("\n", with: "\n    "))\n")
        #expect(error.hint == "Wait.\nUnlock it\nLook")
        #expect(error.description == "it is locked.\n    Wait.\n    Unlock it\n    Look")
    }

    @Test func `a name with control characters cannot control the terminal through a remedy`() {
        let lines = Wording(keychain: "site").lines([Remedy("Remove \u{1B}[2J", .removeKey("\u{1B}[2J"))])
        #expect(lines.count == 1 && !lines[0].contains("\u{1B}"), "\(lines)")
    }
}
