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
