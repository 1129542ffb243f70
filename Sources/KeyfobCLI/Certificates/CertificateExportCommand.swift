import ArgumentParser
import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL

/// `keyfob cert export`: writes a certificate, or its chain in the order that servers send.
struct CertificateExportCommand: ParsableCommand, ContentWriter {
    static let contentFormats: [ContentFormat] = [.pem, .der]

    static let configuration = CommandConfiguration(
        "export", "Write a certificate, or its chain as servers send it.",
        examples: Examples(
            "keyfob cert export web --chain -o fullchain.pem",
            "keyfob cert export web > web.pem",
            "keyfob cert export web --format der -o web.crt"),
        discussion: "Needs no PIN. --format also takes pem and der.")

    @Argument(help: "Name, fingerprint, common name or PKCS#11 URI.", completion: NameCompletion.certificateNames)
    var name: ItemName

    @Flag(help: "Also the certificates above it, without the root.")
    var chain = false

    @Flag(help: "With --chain, the root as well.")
    var root = false

    @Flag(help: "With --chain, without the certificate itself.")
    var noLeaf = false

    @OptionGroup var file: OutputFileOptions

    @Flag(help: "Write DER to a terminal anyway.")
    var force = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run() throws {
        let (output, form) = try global.output(writing: Self.contentFormats)
        guard chain || (!root && !noLeaf) else {
            throw UsageError("--root and --no-leaf require --chain.", hint: "Add --chain.")
        }
        guard form != .der || !chain else {
            throw UsageError("a DER file contains one certificate.", hint: "Leave out --chain, or write PEM.")
        }
        let keychain = try global.openKeychainOrToken()
        let item = try name.certificate(in: keychain)
        let leaf = try item.certificate()
        var certificates = [leaf]
        var isComplete = leaf.isSelfSigned
        if chain || output.format.isMachineReadable {
            let found = CertificateChain.order(leaf: leaf, candidates: try candidates(for: leaf, in: keychain))
            isComplete = found.isComplete
            if chain { certificates = root ? found.certificates : found.withoutRoot }
            if noLeaf { certificates.removeFirst() }
            guard !certificates.isEmpty else {
                throw KeychainError(
                    .itemNotFound, "the keychain has no issuer of certificate \"\(item.label ?? name.text)\".",
                    remedies: [Remedy("Add it", .importCertificate)])
            }
        }
        let bytes = form == .der ? SecretBytes(leaf.der) : SecretBytes(utf8: certificates.map(\.pem).joined())
        try file.write(
            bytes, members: members(item, certificates, isComplete), sentence: sentence(certificates, isComplete),
            force: force, isDryRun: global.dryRun, waiting: global.timeout, output)
    }

    /// The possible issuers, selected by subject, so that the other certificates need not be parsed.
    private func candidates(for leaf: Certificate, in keychain: Keychain) throws -> [Certificate] {
        let all = try keychain.certificates.publicCertificates()
        var wanted: Set<Data> = [leaf.issuer.canonical]
        var found: [Certificate] = []
        var seen: Set<Data> = []
        while !wanted.isEmpty {
            let names = wanted
            wanted = []
            for item in all {
                guard let subject = item.attributes[.subject]?.bytes,
                    let canonical = DistinguishedName.canonical(ofNormalized: subject), names.contains(canonical),
                    seen.insert(item.der).inserted
                else { continue }
                let certificate = try item.certificate()
                found.append(certificate)
                wanted.insert(certificate.issuer.canonical)
            }
            wanted.subtract(found.map(\.subject.canonical))
        }
        return found
    }

    private func members(_ item: CertificateItem, _ certificates: [Certificate], _ isComplete: Bool) -> Members {
        [
            "name": item.label, "file": file.path, "chain_complete": isComplete,
            "certificates": certificates.map { certificate -> Members in
                [
                    "subject": certificate.subject.description,
                    "fingerprint": Value.fingerprint(sha256: certificate.sha256Fingerprint), "pem": certificate.pem,
                ]
            },
        ]
    }

    private func sentence(_ certificates: [Certificate], _ isComplete: Bool) -> String {
        let name = TerminalSafe.text(file.name)
        guard chain else { return "Wrote \(name)." }
        let hasRoot = root && isComplete && certificates.count > 1
        let above = certificates.count - (noLeaf ? 0 : 1) - (hasRoot ? 1 : 0)
        let parts = (noLeaf ? [] : ["leaf"]) + (above > 0 ? [Plural.counted(above, "intermediate")] : [])
        var text = "Wrote \(name): " + parts.joined(separator: " + ")
        text += hasRoot ? " + root." : ", no root."
        // Clients have the roots that the system has. Without a system list, the note is printed.
        guard let last = certificates.last, !isComplete, !last.isSelfSigned,
            !((try? SystemRoots.load()) ?? []).contains(where: { last.isIssued(by: $0) })
        else { return text }
        let issuer = TerminalSafe.text(CertificatePhrases.issuer(last))
        return text
            + (above == 0
                ? " Its issuer is not in the keychain (\(issuer)): keyfob cert import FILE"
                : " The issuer of the last is not in the keychain (\(issuer)): "
                    + "the root, or an intermediate that servers must send.")
    }
}
