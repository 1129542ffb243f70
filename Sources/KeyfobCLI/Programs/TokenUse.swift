import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11

/// A key on a token, with the data that other programs need.
struct TokenUse {
    /// The name of the item.
    let label: String
    /// The label of the certificate object on the token, for programs that look for a label. Renewals do not change it.
    let certificateLabel: String
    /// The URI of the private key.
    let uri: PKCS11URI
    /// The path of the PKCS#11 module.
    let module: String
    /// The number of the token's slot, for programs that identify tokens only by slot.
    let slotID: UInt
    let tokenLabel: String
    /// The path of SoftHSM's configuration file, for SoftHSM tokens that Keyfob made.
    let softHSMConfiguration: String?
    /// The file that contains only the PIN; `nil` if the user or another source provides the PIN.
    let pinFile: String?
    let publicKey: PublicKey
    /// The certificate and its issuers without the root; empty for a key without a certificate.
    let chain: [Certificate]
    /// The labels of the token's Ed25519 private keys.
    var edwardsKeys: [String] = []
    /// The labels of older certificates with the same key, left by renewals.
    var olderCertificates: [String] = []
    /// The error for a certificate that is not valid now.
    var outdated: KeychainError?
    /// The root of the chain, if the keychain has it.
    let root: Certificate?
    /// The absolute path of the directory for the recipe's files.
    var directory: String
    /// The quirks of the token and its library.
    var profile = TokenProfile.standard
    /// Whether `module` is p11-kit's proxy.
    var isThroughProxy = false

    /// A prefix for file names, made from `label`. If the label cannot be used unchanged, part of its digest is added,
    /// so that two identities never share files.
    var stem: String {
        let letters = label.map { $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) ? String($0) : "_" }
            .joined()
        let isPlain = !letters.isEmpty && letters.isIdentical(to: label) && letters.count <= Self.longestStem
        if isPlain, !label.hasPrefix("."), !label.hasPrefix("-") { return label }
        let digest = Digest.sha256(Data(label.utf8)).hexadecimal.prefix(8)
        return "_\(letters.prefix(Self.longestStem))-\(digest)"
    }

    /// File names have at most 255 bytes, including the suffix.
    private static let longestStem = 100

    /// The file with the certificate chain in the order that servers send.
    var fullChain: Recipe.File { .init(name: stem + ".fullchain.pem", content: chain.map(\.pem).joined()) }

    /// The chain for a program whose configuration names it together with the key.
    ///
    /// Each chain has its own file, so that the old configuration names the old certificate and key until it is
    /// replaced. Programs do not share files, because the configuration of another program may still name an older one.
    func fullChain(for program: String) -> Recipe.File {
        Recipe.File(series: "\(stem).\(program)-", content: fullChain.content)
    }

    /// The path of a file of the recipe.
    func path(_ file: Recipe.File) -> String { directory + "/" + file.name }

    /// The variables with which programs find the module and the token.
    var environment: [(name: String, value: String)] {
        Self.variables(module: module, softHSMConfiguration: softHSMConfiguration)
    }

    /// The variables with which programs find a module, and SoftHSM its configuration.
    static func variables(module: String?, softHSMConfiguration: String?) -> [(name: String, value: String)] {
        [("SOFTHSM2_CONF", softHSMConfiguration), ("PKCS11_MODULE_PATH", module)].compactMap { name, value in
            value.map { (name, $0) }
        }
    }

    /// Whether the certificate may be used for a purpose: it names that purpose, or none.
    func isFor(_ purpose: ExtendedKeyUsage) -> Bool {
        let named = chain.first?.extendedKeyUsage ?? []
        return named.isEmpty || named.contains(purpose) || named.contains(.any)
    }

    /// The notes for a PIN that is not in a file.
    var pinNotes: [String] {
        guard pinFile == nil else { return [] }
        let asked =
            "the PIN is not in a file: the program will ask for the token's PIN, not for the keychain's passphrase"
        // The PIN of a token made by Keyfob is random and sealed by the passphrase.
        guard softHSMConfiguration != nil else { return [asked] }
        return [
            asked, "  you do not know the PIN of a token that Keyfob made; use a keychain with the PIN in a file:",
            "  keyfob keychain create NAME --unattended",
        ]
    }

    /// The notes for servers whose children use the key and run as another user than the server.
    func ownerNotes(_ user: String) -> [String] {
        [
            "\(user) must be able to read token and PIN file: run keyfob as that user,",
            "  with HOME set to a directory of its own; README.md, \"Behind nginx and httpd\", has the steps",
        ]
    }

    /// Refuses an Ed25519 key, for a program that does not support such keys on tokens.
    ///
    /// - Throws: `KeychainError.mechanismUnsupported`.
    func requireNoEdwardsKey(_ program: String) throws {
        guard case .ed25519 = publicKey.algorithm else { return }
        throw KeychainError(
            .mechanismUnsupported, "\(program) can use RSA and EC keys on tokens, but not Ed25519 keys.",
            hint: "Make a supported key: " + Wording.selected.keyfob("key generate NAME --type ec --curve p256"))
    }

    /// Refuses a token that programs reach through p11-kit's proxy only.
    ///
    /// - Parameter reason: Why the program cannot use the proxy.
    /// - Throws: `KeychainError.mechanismUnsupported`.
    func requireNoProxy(_ program: String, _ reason: String) throws {
        guard isThroughProxy else { return }
        throw KeychainError(
            .mechanismUnsupported,
            "token \"\(tokenLabel)\" is reached through p11-kit's proxy only, and \(program) cannot use that: "
                + "\(reason).",
            remedies: [], details: ["token": tokenLabel])
    }

    /// The PIN file, for programs that cannot ask.
    ///
    /// - Throws: `KeychainError.pinRequired` if there is none.
    func requiredPINFile(_ program: String) throws -> String {
        guard let pinFile else {
            throw KeychainError(
                .pinRequired,
                "\(program) cannot ask for a PIN, and no file contains the PIN of token \"\(tokenLabel)\".",
                hint: "Use a keychain with the PIN in a file: keyfob keychain create NAME --unattended")
        }
        return pinFile
    }

    /// A string in double quotes, for the configuration files of nginx, httpd and OpenSSL.
    static func doubleQuoted(_ text: String) -> String {
        "\"" + text.escaping("\\\"") + "\""
    }
}
