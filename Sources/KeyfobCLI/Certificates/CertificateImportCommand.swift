import ArgumentParser
import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL

/// `keyfob cert import`: stores certificates from files on the token.
struct CertificateImportCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "import", "Store certificates, such as those of intermediate authorities.",
        examples: Examples(
            "keyfob cert import r10.pem", "keyfob cert import corp-ca.crt --name corp-ca",
            "keyfob cert import - < chain.pem"),
        discussion: """
            Files are PEM with any number of certificates, DER, or PKCS#12, whose private key is ignored. Importing the \
            same again changes nothing. A --name that another certificate has is refused.
            """)

    @Argument(help: "PEM, DER or PKCS#12 files; - is standard input.")
    var files: [FileArgument]

    @Option(
        name: [.customLong("name")], help: "The name; by default the certificate's own. For one certificate only.")
    var label: String?

    @OptionGroup var passphrase: PassphraseOptions

    @OptionGroup var legacy: LegacyOptions

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws { if let label { try NewName.check(label) } }

    func run(_ output: Output) throws {
        try passphrase.check(reading: files)
        let read = passphrase.reading(global)
        var contents = IdentityFiles(
            allowsLegacy: legacy.allowsLegacy, hasPassphraseSource: passphrase.passSource != nil,
            showsProgress: global.showsProgress, waiting: global.timeout
        ) { try read(.file($0)) }
        try passphrase.naming { for file in files { try contents.addCertificates(file) } }
        let certificates = contents.certificates.map(\.certificate)
        guard label == nil || certificates.count == 1 else {
            throw UsageError(
                "--name requires a single certificate, but there are \(certificates.count).",
                hint: "Import them without --name.")
        }
        let keychain = try global.openKeychainOrToken()
        // Logs in, so that certificates that need a login are found too.
        func stored() throws -> [CertificateItem] { try keychain.find(.certificates) }
        func known(_ stored: [CertificateItem]) -> [Data: String?] {
            Dictionary(stored.map { ($0.der, $0.label) }, uniquingKeysWith: { first, _ in first })
        }
        let before = try stored()
        if let label, let one = certificates.first {
            try NewName.requireFree(label, for: one, among: before, in: keychain)
        }
        var labels = known(before)
        if let label, let one = certificates.first, let known = labels[one.der] ?? nil, known != label {
            throw KeychainError(
                .duplicateItem,
                "the certificate is \(keychain.place) already, as \"\(known)\"; nothing was stored.",
                remedies: [Remedy("Use that name, or remove it first", .removeCertificate(known))],
                details: keychain.details(["name": known]))
        }
        func judged() -> [(certificate: Certificate, isNew: Bool)] {
            var seen = Set(labels.keys)
            return certificates.map { (certificate: $0, isNew: seen.insert($0.der).inserted) }
        }
        var results = judged()
        if !global.dryRun {
            func add() throws {
                let added = try keychain.certificates.add(
                    contentsOf: results.filter(\.isNew).map { CertificateItem($0.certificate, label: label) })
                for item in added { labels[item.der] = item.label }
            }
            do { try add() } catch let error as KeychainError where error.code == .duplicateItem {
                // Another process may have added the certificates. They then count as existing before the import.
                labels = known(try stored())
                let rest = judged()
                guard rest.count(where: \.isNew) < results.count(where: \.isNew) else { throw error }
                results = rest
                try add()
            }
        }
        let now = Date()
        func name(_ certificate: Certificate) -> String {
            labels[certificate.der].flatMap { $0 } ?? label ?? certificate.ownName
                ?? "sha256:" + certificate.sha256Fingerprint.hexadecimal.prefix(16)
        }
        let document = Document(
            global.effect(results.contains { $0.isNew } ? .create : .none),
            [
                "keychain": keychain.nameInDocuments,
                "certificates": results.map { result -> Members in
                    ["new": result.isNew, "name": name(result.certificate)]
                        + CertificatePhrases.members(result.certificate, on: now)
                },
            ])
        var lines = results.map { result in
            let verb = !result.isNew ? "Unchanged:" : global.dryRun ? "Would store" : "Stored"
            return "\(verb) certificate \"\(TerminalSafe.text(name(result.certificate)))\", "
                + "\(CertificatePhrases.validity(result.certificate, on: now))."
        }
        if !contents.keys.isEmpty || !contents.unreadableKeys.isEmpty {
            lines.append(
                "Its private key was ignored. To import both: "
                    + Wording(keychain: keychain.name).keyfob("identity import FILE"))
        }
        try output.emit(document, sentence: lines.joined(separator: "\n"))
    }
}
