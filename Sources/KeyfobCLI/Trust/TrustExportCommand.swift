import ArgumentParser
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL

/// `keyfob trust export`: writes the trust anchors as a bundle.
struct TrustExportCommand: ParsableCommand, ContentWriter {
    static let contentFormats: [ContentFormat] = [.pem]

    static let configuration = CommandConfiguration(
        "export", "Write the certificates that the keychain trusts, for other programs.",
        examples: Examples(
            "keyfob trust export > anchors.pem", "keyfob trust export --for server -o anchors.pem",
            "keyfob trust export --json"),
        discussion: "--format also takes pem.")

    @Option(name: .customLong("for"), help: "Only those trusted for this: server, client, email, …")
    var usage: UsageName = .any

    @OptionGroup var file: OutputFileOptions

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run() throws {
        let (output, _) = try global.output(writing: Self.contentFormats)
        let keychain = try global.openKeychain()
        let anchors = try keychain.trust.anchors(for: usage.usage)
        let text = anchors.map(\.certificate.pem).joined()
        try file.write(
            SecretBytes(utf8: text),
            members: ["file": file.path, "count": anchors.count, "pem": text],
            sentence: "Wrote \(TerminalSafe.text(file.name)): \(Plural.counted(anchors.count, "certificate")).",
            isDryRun: global.dryRun, waiting: global.timeout, output)
    }
}
