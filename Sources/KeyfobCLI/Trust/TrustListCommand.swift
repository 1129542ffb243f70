import ArgumentParser
import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL

/// `keyfob trust ls`: lists the trust anchors.
struct TrustListCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "ls", "List the certificates that the keychain trusts.",
        examples: Examples("keyfob trust ls", "keyfob trust ls --json", "keyfob trust ls --keychain site"),
        aliases: ["list"])

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ output: Output) throws {
        let keychain = try global.openKeychain()
        let now = Date()
        let anchors = try keychain.trust.anchors()
        var table = Table([
            .init("NAME", mayShrink: true), .init("SUBJECT", mayShrink: true), .init("FOR"), .init("EXPIRES"),
            .init("STATE"), .init("SHA-256"),
        ])
        for anchor in anchors {
            let state = CertificatePhrases.State(anchor.certificate, on: now)
            table.add([
                .init(anchor.item.label ?? ""), .init(CertificatePhrases.subject(anchor.certificate)),
                .init(anchor.usages.map(\.rawValue).joined(separator: ", ")),
                .init(Plural.relative(anchor.certificate.notAfter, to: now)), .init(state.rawValue, state.style),
                .init(String(anchor.certificate.sha256Fingerprint.hexadecimal.prefix(16))),
            ])
        }
        let document = Document([
            "keychain": keychain.name,
            "anchors": anchors.map { anchor -> Members in
                ["name": anchor.item.label, "usages": anchor.usages.map(\.rawValue)]
                    + CertificatePhrases.members(anchor.certificate, on: now)
            },
        ])
        try output.emit(document, table: table)
    }
}
