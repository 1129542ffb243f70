import Foundation
import Keyfob
import KeyfobPrimitives
import OpenSSL
import PKCS11

/// A key on a token with all that other programs ask for.
struct TokenUse {
    /// The item's name, as people know it.
    let label: String
    /// The private key's URI.
    let uri: PKCS11URI
    /// The PKCS#11 module's path.
    let module: String
    /// The number of the token's slot, for programs that know tokens by nothing better.
    let slotID: UInt
    let tokenLabel: String
    /// SoftHSM's configuration file, where the token is a SoftHSM token of Keyfob's own.
    let softHSMConfiguration: String?
    /// The file that holds the PIN and nothing else; `nil` where a person or another source gives it.
    let pinFile: String?
    let publicKey: PublicKey
    /// The certificate and those above it without the root; empty for a key alone.
    let chain: [Certificate]
    /// The names of the token's Ed25519 private keys.
    var edwardsKeys: [String] = []
    /// The names of older certificates of the key, which a renewal that kept it has left.
    var olderCertificates: [String] = []
    /// The error for a certificate that is not valid now.
    var outdated: KeychainError?
    /// The root above it, where the keychain has it.
    let root: Certificate?
    /// Where the recipe's files are, an absolute path.
    var directory: String

    /// `label` as the beginning of a file's name; with a part of its digest where it is not that name itself, for two
    /// identities must not share their files.
    var stem: String {
        let letters = label.map { $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) ? String($0) : "_" }
            .joined()
        let isPlain = !letters.isEmpty && letters.isIdentical(to: label) && letters.count <= Self.longestStem
        if isPlain, !label.hasPrefix("."), !label.hasPrefix("-") { return label }
        let digest = Digest.sha256(Data(label.utf8)).hexadecimal.prefix(8)
        return "_\(letters.prefix(Self.longestStem))-\(digest)"
    }

    /// Names of files have at most 255 bytes, with what follows the stem.
    private static let longestStem = 100

    /// The certificate chain as servers send it, and its file.
    var fullChain: Recipe.File { .init(name: stem + ".fullchain.pem", content: chain.map(\.pem).joined()) }

    /// The same for the configuration of a program, which names it beside the key: each chain has a file of its own, so
    /// that the configuration of before names certificate and key of before until it is replaced.
    ///
    /// Not shared with another program, whose configuration may still name an older one.
    func fullChain(for program: String) -> Recipe.File {
        Recipe.File(series: "\(stem).\(program)-", content: fullChain.content)
    }

    /// The path of a file of the recipe.
    func path(_ file: Recipe.File) -> String { directory + "/" + file.name }

    /// The variables by which any program finds module and token.
    var environment: [(name: String, value: String)] {
        (softHSMConfiguration.map { [("SOFTHSM2_CONF", $0)] } ?? []) + [("PKCS11_MODULE_PATH", module)]
    }

    /// Whether the certificate may be used for a purpose: it names that, or none.
    func isFor(_ purpose: ExtendedKeyUsage) -> Bool {
        let named = chain.first?.extendedKeyUsage ?? []
        return named.isEmpty || named.contains(purpose) || named.contains(.any)
    }

    /// What to say where no file holds the PIN.
    var pinNotes: [String] {
        guard pinFile == nil else { return [] }
        let asked =
            "the PIN is not in a file: the program will ask for the token's PIN, not for the keychain's passphrase"
        // Of a token of ours the PIN was made at random, and the passphrase seals it.
        guard softHSMConfiguration != nil else { return [asked] }
        return [
            asked, "  nobody knows the PIN of a token that Keyfob made; a keychain whose PIN lies in a file:",
            "  keyfob keychain create NAME --unattended",
        ]
    }

    /// What to say of servers whose children sign, and run as another user than the one who starts them.
    func ownerNotes(_ user: String) -> [String] {
        [
            "\(user) must be able to read token and PIN file: run keyfob as that user,",
            "  with HOME set to a directory of its own; README.md, \"Behind nginx and httpd\", has the steps",
        ]
    }

    /// Refuses an Ed25519 key, for a program that knows none on tokens.
    ///
    /// - Throws: `KeychainError.mechanismUnsupported`.
    func requireNoEdwardsKey(_ program: String) throws {
        guard case .ed25519 = publicKey.algorithm else { return }
        throw KeychainError(
            .mechanismUnsupported, "\(program) uses RSA and EC keys of tokens, and no Ed25519 keys.",
            hint: "Make one that it takes: keyfob key generate NAME --type ec --curve p256")
    }

    /// The PIN's file, for programs that cannot ask.
    ///
    /// - Throws: `KeychainError.pinRequired` where there is none.
    func requiredPINFile(_ program: String) throws -> String {
        guard let pinFile else {
            throw KeychainError(
                .pinRequired, "\(program) cannot ask for a PIN, and no file holds the PIN of token \"\(tokenLabel)\".",
                hint: "Use a keychain whose PIN lies in a file: keyfob keychain create NAME --unattended")
        }
        return pinFile
    }

    /// A string in double quotes, as nginx, httpd and OpenSSL's configuration files read it.
    static func doubleQuoted(_ text: String) -> String {
        "\"" + text.escaping("\\\"") + "\""
    }
}
