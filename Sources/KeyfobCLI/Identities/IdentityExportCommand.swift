import ArgumentParser
import Foundation
import Keyfob
import KeyfobPrimitives

/// `keyfob identity export`: writes key and certificates as a PKCS#12 file, if the key is extractable.
struct IdentityExportCommand: ParsableCommand, ContentWriter {
    static let contentFormats: [ContentFormat] = [.pkcs12]

    static let configuration = CommandConfiguration(
        "export", "Write key and certificates to a PKCS#12 file, if the key may leave the token.",
        examples: Examples(
            "keyfob identity export web -o web.p12 --pass-source file:/run/keys/web.pass",
            "keyfob identity export web --format pkcs12 -o web.p12",
            "keyfob identity export web --pass-source env:P12_PASS > web.p12"),
        discussion: "A key may leave only if it was imported or generated with --extractable. --format also takes "
            + "pkcs12.")

    @Argument(help: "Name, fingerprint, common name or PKCS#11 URI.", completion: NameCompletion.identities)
    var name: ItemName

    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp("The file to write, mode 0600.", valueName: "file"),
        completion: .file())
    var destination: String?

    @Flag(help: "Write to a terminal anyway.")
    var force = false

    @OptionGroup var passphrase: PassphraseOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run() throws {
        let (output, _) = try global.output(writing: Self.contentFormats)
        let keychain = try global.openKeychain()
        let identity = try name.identity(in: keychain)
        let label = identity.label ?? name.text
        // Checked before asking for a passphrase that could not be used.
        guard identity.key.isExtractable else {
            throw KeychainError(
                .keyNotExtractable,
                "key \"\(label)\" cannot leave token \"\(keychain.tokenLabel)\": it is marked not extractable.",
                remedies: [Remedy("Use it in place", .showURI(label)), Remedy("Public parts", .exportChain(label))],
                details: ["key": label, "token": keychain.tokenLabel])
        }
        /// The document about the file. It has the content only if no file is written.
        func document(_ action: Effect.Action, bytes: Int? = nil, content: Data? = nil) -> Document {
            Document(
                global.effect(action),
                [
                    "name": label, "file": destination, "format": "pkcs12", "bytes": bytes,
                    "pkcs12_b64": content.map { Value.base64($0) },
                ])
        }
        let target = FileDestination(path: destination, mode: 0o600, timeout: global.timeout)
        let hasFile = try !target.isStandardOutput
        if global.dryRun {
            // Each export is encrypted with a new salt, so it changes the file.
            let action = try target.action(of: nil)
            return try output.emit(document(action), sentence: "Dry run: no file was written.")
        }
        let isDocument = !hasFile && output.format.isMachineReadable
        if isDocument { try SensitiveOutput.refuseTerminal(force: force) }
        let fileName = destination.flatMap { FileArgument(argument: $0)?.name } ?? "the new file"
        let secret = try passphrase.read(.file(fileName, isNew: true), global)
        let data = try keychain.identities.export(identity, passphrase: secret)
        if isDocument {
            return try output.emit(document(.none, bytes: data.count, content: data), sentence: "")
        }
        let action = try target.write(SecretBytes(data), isPrivateKey: true, force: force)
        guard hasFile else { return }
        try output.emit(
            document(action, bytes: data.count),
            sentence: "Wrote \(TerminalSafe.text(fileName)): key, certificate and chain, encrypted with the "
                + "passphrase.")
    }
}
