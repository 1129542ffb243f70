import ArgumentParser
import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL

/// `keyfob key pub`: writes the public key for other programs.
struct KeyPublicCommand: ParsableCommand, ContentWriter {
    static let contentFormats: [ContentFormat] = [.pem, .der, .ssh]

    static let configuration = CommandConfiguration(
        "pub", "Write the public key.",
        examples: Examples(
            "keyfob key pub api > api.pub.pem", "keyfob key pub ci --format ssh >> ~/.ssh/authorized_keys",
            "keyfob key pub api --format der -o api.pub"),
        discussion: "--format also takes pem, der and ssh.")

    @Argument(help: "Name, fingerprint or PKCS#11 URI.", completion: NameCompletion.keys)
    var name: ItemName

    @OptionGroup var file: OutputFileOptions

    @Flag(help: "Write DER to a terminal anyway.")
    var force = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run() throws {
        let (output, form) = try global.output(writing: Self.contentFormats)
        let keychain = try global.openKeychainOrToken()
        let key = try name.key(in: keychain)
        let label = key.label ?? name.text
        let publicKey = try keychain.keys.knownPublicKey(of: key)
        let members: Members = [
            "name": label, "type": publicKey.algorithm.description, "pem": publicKey.pem,
            "ssh": OpenSSHKey.line(publicKey, comment: label),
            "fingerprint": Value.fingerprint(sha256: Digest.sha256(publicKey.subjectPublicKeyInfo)),
            "file": file.path,
        ]
        try file.write(
            content(publicKey, as: form, comment: label), members: members,
            sentence: "Wrote \(TerminalSafe.text(file.name)).", force: force,
            isDryRun: global.dryRun, waiting: global.timeout, output)
    }

    private func content(_ key: PublicKey, as form: ContentFormat, comment: String) throws -> SecretBytes {
        switch form {
        case .der: return SecretBytes(key.subjectPublicKeyInfo)
        case .ssh:
            guard let line = OpenSSHKey.line(key, comment: comment) else {
                throw KeychainError(.unsupportedFormat, "OpenSSH has no format for a \(key.algorithm) key.")
            }
            return SecretBytes(utf8: line + "\n")
        case .pem, .pkcs12, .prometheus: return SecretBytes(utf8: key.pem)
        }
    }
}
