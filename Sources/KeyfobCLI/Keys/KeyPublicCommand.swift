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
        let keychain = try global.openKeychain()
        let key = try name.key(in: keychain)
        let label = key.label ?? name.text
        let publicKey = try keychain.knownPublicKey(of: key)
        let document = Document(
            members: [
                .init("name", .string(label)), .init("type", .string(publicKey.algorithm.description)),
                .init("pem", .string(publicKey.pem)),
                .init("ssh", .optional(OpenSSHKey.line(publicKey, comment: label))),
                .init("fingerprint", .fingerprint(sha256: Digest.sha256(publicKey.subjectPublicKeyInfo))),
                .init("file", .optional(file.path)), .init("dry_run", .boolean(global.dryRun)),
            ])
        try file.write(
            content(publicKey, as: form, comment: label), document: document,
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
        case .pem, .pkcs12: return SecretBytes(utf8: key.pem)
        }
    }
}

/// Public keys in OpenSSH's format: RFC 4253 6.6, RFC 5656 3.1, RFC 8709 4.
enum OpenSSHKey {
    /// Algorithm, base64 and comment; `nil` for keys that OpenSSH does not support.
    static func line(_ key: PublicKey, comment: String) -> String? {
        guard let (name, blob) = blob(of: key) else { return nil }
        let comment = comment.filter { !$0.isNewline }
        return "\(name) \(blob.base64EncodedString())" + (comment.isEmpty ? "" : " \(comment)")
    }

    private static func blob(of key: PublicKey) -> (name: String, Data)? {
        switch key.algorithm {
        case .rsa:
            guard let modulus = key.rsaModulus, let exponent = key.rsaExponent else { return nil }
            return ("ssh-rsa", string("ssh-rsa") + number(exponent) + number(modulus))
        case .ec(let curve):
            let names: [NamedCurve: String] = [.p256: "nistp256", .p384: "nistp384", .p521: "nistp521"]
            guard let curveName = names[curve], let point = key.ecPoint else { return nil }
            let name = "ecdsa-sha2-" + curveName
            return (name, string(name) + string(curveName) + string(point))
        case .ed25519: return ("ssh-ed25519", string("ssh-ed25519") + string(key.bits))
        case .other: return nil
        }
    }

    /// A string of RFC 4251 5: four bytes of length, then the bytes.
    private static func string(_ bytes: some Collection<UInt8>) -> Data {
        let count = UInt32(truncatingIfNeeded: bytes.count)
        return Data([24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) }) + Data(bytes)
    }

    private static func string(_ text: String) -> Data { string(Array(text.utf8)) }

    /// A positive number of RFC 4251 5: a zero byte precedes a first byte with its high bit set.
    private static func number(_ bytes: Data) -> Data {
        string((bytes.first ?? 0) & 0x80 == 0 ? bytes : Data([0]) + bytes)
    }
}
