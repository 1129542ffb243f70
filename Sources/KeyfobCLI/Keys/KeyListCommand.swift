import ArgumentParser
import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11

/// `keyfob key ls`: lists the keys.
struct KeyListCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "ls", "List the keys; those that seal the keychain are not shown.",
        examples: Examples("keyfob key ls", "keyfob key ls --pub sha256:77be", "keyfob key ls --json"),
        discussion: """
            The key of an identity is listed under the identity's name. Its label on the token may differ after a \
            renewal: keyfob token show --objects.
            """,
        aliases: ["list"])

    @Option(
        help: ArgumentHelp(
            "Only keys whose public key's fingerprint begins with this.", valueName: "fingerprint"))
    var pub: String?

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ output: Output) throws {
        let wanted = try pub.map { text -> ItemName.Fingerprint in
            // An empty prefix would match every fingerprint.
            guard let fingerprint = ItemName.Fingerprint(text, shortest: 1) else {
                throw UsageError(
                    "\"\(TerminalSafe.text(text))\" is not a fingerprint.", hint: "Examples: sha256:77be, sha1:1c02")
            }
            return fingerprint
        }
        let keychain = try global.openKeychainOrToken()
        let listed = try ListedKeys(in: keychain)
        let found = try ItemName.keys(in: keychain).filter { key in
            guard let wanted else { return true }
            return try key.fingerprints(in: keychain).contains { $0.begins(as: wanted) }
        }.map { listed.named($0) }
        let keys = try found.sorted { ($0.label ?? "") < ($1.label ?? "") }.map {
            ($0, try keychain.keys.publicKey(of: $0))
        }
        let document = Document([
            "keychain": keychain.nameInDocuments, "token": keychain.tokenLabel,
            "keys": try keys.map { key, publicKey in
                KeyPhrases.members(key, publicKey, uri: try keychain.objects.uri(of: key).description)
            },
        ])
        var table = Table([
            .init("NAME", mayShrink: true), .init("CLASS"), .init("TYPE"), .init("USES"), .init("EXTRACTABLE"),
            .init("PUBLIC KEY"),
        ])
        for (key, publicKey) in keys {
            let fingerprint = publicKey.map {
                "sha256:" + Digest.sha256($0.subjectPublicKeyInfo).hexadecimal.prefix(16)
            }
            table.add([
                .init(key.label ?? ""), .init(KeyPhrases.half(key)), .init(KeyPhrases.kind(key, publicKey)),
                .init(KeyPhrases.uses(key).joined(separator: ", ")), .init(key.isExtractable ? "yes" : "no"),
                .init(fingerprint ?? ""),
            ])
        }
        try output.emit(document, table: table)
    }
}

/// `keyfob key show`: shows one key, without its value.
struct KeyShowCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "show", "Show a key in full; never its value.",
        examples: Examples("keyfob key show api", "keyfob key show api --json", "keyfob key show sha256:77be"))

    @Argument(help: "Name, fingerprint or PKCS#11 URI.", completion: NameCompletion.keys)
    var name: ItemName

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ output: Output) throws {
        let keychain = try global.openKeychainOrToken()
        let key = try ListedKeys(in: keychain).named(name.key(in: keychain))
        let publicKey = try keychain.keys.publicKey(of: key)
        let uri = try keychain.objects.uri(of: key).description
        var lines = [
            ("name", key.label ?? ""), ("token", keychain.tokenLabel),
            ("type", "\(KeyPhrases.kind(key, publicKey)), \(KeyPhrases.half(key))"),
            ("uses", KeyPhrases.uses(key).joined(separator: ", ")), ("extractable", key.isExtractable ? "yes" : "no"),
        ]
        if let id = key.publicKeyHash { lines.append(("id", id.hexadecimal)) }
        if let publicKey {
            lines.append(("public key", "sha256:" + Digest.sha256(publicKey.subjectPublicKeyInfo).hexadecimal))
        }
        lines.append(("uri", uri))
        let document = Document(["keychain": keychain.nameInDocuments] + KeyPhrases.members(key, publicKey, uri: uri))
        try output.emit(document, text: Table.pairs(lines))
    }
}
