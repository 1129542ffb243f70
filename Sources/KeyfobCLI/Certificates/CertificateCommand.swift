import ArgumentParser
import Foundation
import Keyfob
import KeyfobOpenSSL
import PKCS11

/// `keyfob cert`: certificates, with or without a key.
struct CertificateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "cert", "Certificates, with or without a key.",
        examples: Examples(
            "keyfob cert ls",
            "keyfob cert export web --chain -o fullchain.pem",
            "keyfob cert expiring --within 30d --exit-code"),
        subcommands: [
            CertificateImportCommand.self, CertificateListCommand.self, CertificateShowCommand.self,
            CertificateChainCommand.self, CertificateVerifyCommand.self, CertificateExportCommand.self,
            CertificateSignCommand.self, CertificateExpiringCommand.self, CertificateRemoveCommand.self,
        ])
}

/// `keyfob cert ls`: lists the certificates.
struct CertificateListCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "ls", "List the certificates.",
        examples: Examples("keyfob cert ls", "keyfob cert ls --json", "keyfob cert ls --all"),
        aliases: ["list"])

    @Flag(help: "Also certificates that the token shows only after a login.")
    var all = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ output: Output) throws {
        let keychain = try global.openKeychainOrToken()
        let now = Date()
        let found = all ? try keychain.find(.certificates) : try keychain.certificates.publicCertificates()
        let certificates = try found.map {
            ListedCertificate(
                label: $0.label, certificate: try $0.certificate(), isReplaced: $0.nameOfVersion != nil)
        }.sorted { ($0.label ?? "") < ($1.label ?? "") }
        try output.emit(
            ListedCertificate.document(
                certificates, as: "certificates", on: now, ["keychain": keychain.nameInDocuments]),
            table: ListedCertificate.table(certificates, hasKeys: false, on: now))
    }
}

/// `keyfob cert show`: shows one certificate in full.
struct CertificateShowCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "show", "Show a certificate in full.",
        examples: Examples(
            "keyfob cert show web", "keyfob cert show sha256:9a11 --json", "keyfob cert show 'Example CA'"))

    @Argument(help: "Name, fingerprint, common name or PKCS#11 URI.", completion: NameCompletion.certificateNames)
    var name: ItemName

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ output: Output) throws {
        let keychain = try global.openKeychainOrToken()
        let item = try name.certificate(in: keychain)
        let certificate = try item.certificate()
        let uri = try keychain.objects.uri(of: item).description
        let now = Date()
        try output.emit(
            Document(
                [
                    "name": item.label, "keychain": keychain.nameInDocuments, "uri": uri,
                ] + CertificatePhrases.members(certificate, on: now, isReplaced: item.nameOfVersion != nil)
                    + CertificatePhrases.details(certificate)),
            text: Table.pairs(
                [("name", item.label ?? "")] + CertificatePhrases.lines(certificate, on: now) + [("uri", uri)]))
    }
}

/// `keyfob cert expiring`: lists the certificates that need to be renewed soon.
struct CertificateExpiringCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "expiring", "List the certificates that have expired or expire soon.",
        examples: Examples(
            "keyfob cert expiring", "keyfob cert expiring --within 30d --exit-code",
            "keyfob cert expiring --within 12h --json"))

    @Option(help: ArgumentHelp("How soon, such as 30d or 12h.", valueName: "duration"))
    var within: TimeSpan?

    @Flag(help: "Exit with 10 if there are any.")
    var exitCode = false

    @Flag(help: "Also older versions of identities, which other certificates have replaced.")
    var all = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    private static let standard = 30.0 * 86_400

    func validate() throws { try within?.requireUnit(for: "--within", probably: "d") }

    func run(_ output: Output) throws {
        let keychain = try global.openKeychainOrToken()
        let now = Date()
        let span = within.map { Double($0.duration.components.seconds) } ?? Self.standard
        let limit = now.addingTimeInterval(span)
        let due = try keychain.certificates.publicCertificates().map { ($0, try $0.certificate()) }
            .filter { $0.1.notAfter <= limit && (all || $0.0.nameOfVersion == nil) }
            // Certificates that can still be renewed in time come first.
            .sorted { ($0.1.notAfter < now ? 1 : 0, $0.1.notAfter) < ($1.1.notAfter < now ? 1 : 0, $1.1.notAfter) }
        let listed = due.map {
            ListedCertificate(label: $0.0.label, certificate: $0.1, isReplaced: $0.0.nameOfVersion != nil)
        }
        let document = ListedCertificate.document(
            listed, as: "certificates", on: now,
            ["keychain": keychain.nameInDocuments, "within_seconds": Int(span)])
        if output.format.isMachineReadable {
            try output.emit(document, table: Table([]))
        } else if !due.isEmpty {
            var table = Table([.init(""), .init(""), .init(""), .init("")])
            for (item, certificate) in due {
                let isExpired = certificate.notAfter < now
                table.add([
                    .init(item.label ?? ""), .init(CertificatePhrases.subject(certificate)),
                    .init(RFC3339.day(of: certificate.notAfter)),
                    isExpired
                        ? .init("expired", .bad) : .init(Plural.relative(certificate.notAfter, to: now), .warning),
                ])
            }
            // No heading, so that cut and awk can process the lines.
            let text = table.rendered(width: nil, colour: output.colour)
            try StandardOutput.write(String(text.drop { $0 != "\n" }.dropFirst()))
        } else {
            try output.say("No certificate expires within \(Plural.duration(seconds: span)).")
        }
        if exitCode, !due.isEmpty { throw ExitCode(ExitStatus.attention.rawValue) }
    }
}
