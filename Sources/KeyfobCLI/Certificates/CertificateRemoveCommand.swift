import ArgumentParser
import Keyfob

/// `keyfob cert rm`: removes a certificate; a key stays.
struct CertificateRemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "rm", "Remove a certificate; its key stays.",
        examples: Examples("keyfob cert rm old", "keyfob cert rm sha256:9a11 --yes", "keyfob cert rm old --dry-run"),
        aliases: ["remove", "delete"])

    @Argument(help: "Name, fingerprint, common name or PKCS#11 URI.")
    var name: ItemName

    @Flag(help: "Succeed where there is no such certificate.")
    var ifExists = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run() throws {
        let output = try global.output()
        let keychain = try global.openKeychain()
        let found: CertificateItem
        do {
            found = try name.certificate(in: keychain)
            try name.requireMeant(found, .certificate, in: keychain)
        } catch let error as KeychainError
            where ifExists && error.code == .itemNotFound
        {
            return try output.emit(
                .removal(of: name.text, isDone: false, isDryRun: global.dryRun),
                sentence: "Nothing to do: there is no such certificate.")
        }
        let label = found.label ?? name.text
        try Confirmation(global).require("Remove certificate \"\(label)\" from token \"\(keychain.tokenLabel)\"?")
        guard !global.dryRun else {
            return try output.emit(
                .removal(of: label, isDone: false, isDryRun: true),
                sentence: "Would remove certificate \"\(Visible.text(label))\".")
        }
        var (items, others): ([CertificateItem], [CertificateItem]) = ([], [])
        // Wherever it is not found any more, another process was faster.
        do { (items, others) = try name.certificates(of: found, in: keychain) } catch let error as KeychainError
            where ifExists && error.code == .itemNotFound {}
        guard try Removal.oneByOne(items, ifExists: ifExists, { try keychain.delete($0) }) else {
            return try output.emit(
                .removal(of: name.text, isDone: false), sentence: "Nothing to do: there is no such certificate.")
        }
        let kept = others.map { $0.label ?? "" }
        let remark = kept.isEmpty
            ? "" : " It stays as \(kept.map { "\"\(Visible.text($0))\"" }.joined(separator: ", "))."
        try output.emit(
            .removal(of: label, isDone: true, further: [.init("kept", .array(kept.map { .string($0) }))]),
            sentence: "Removed certificate \"\(Visible.text(label))\".\(remark)")
    }
}
