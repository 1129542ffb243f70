import ArgumentParser
import Foundation
import Keyfob
import KeyfobOpenSSL

/// `keyfob cert expiring`: lists the certificates that need to be renewed soon.
struct CertificateExpiringCommand: ParsableCommand, ContentWriter {
    static let contentFormats: [ContentFormat] = [.prometheus]

    static let configuration = CommandConfiguration(
        "expiring", "List the certificates that have expired or expire soon.",
        examples: Examples(
            "keyfob cert expiring", "keyfob cert expiring --all --within 30d --exit-code",
            "keyfob cert expiring --all --format prometheus"),
        discussion: """
            Expired certificates come first. No PIN is needed. --format prometheus prints when every certificate \
            expires, for a textfile collector.
            """)

    @Option(help: ArgumentHelp("How soon, such as 30d or 12h.", valueName: "duration"))
    var within: TimeSpan?

    @Flag(help: "Exit with 10 if there are any.")
    var exitCode = false

    @Flag(help: "The certificates of all keychains.")
    var all = false

    @Flag(help: "Also older versions of identities, which other certificates have replaced.")
    var replaced = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    private static let standard = 30.0 * 86_400

    /// A certificate of a keychain.
    private struct Entry {
        let keychain: String?
        let item: CertificateItem
        let certificate: Certificate
    }

    func validate() throws { try within?.requireUnit(for: "--within", probably: "d") }

    func run() throws {
        let (output, isMetrics) = try global.outputOrMetrics()
        let (entries, failures, place) = try read()
        let now = Date()
        let span = within.map { Double($0.duration.components.seconds) } ?? Self.standard
        let limit = now.addingTimeInterval(span)
        let due = entries.filter { $0.certificate.notAfter <= limit }
        if isMetrics {
            try StandardOutput.write(Self.metrics(entries, failures).text)
        } else if output.format.isMachineReadable {
            try output.emit(document(due, failures, place, span, now), table: Table([]))
        } else if !due.isEmpty {
            try StandardOutput.write(text(due, now, output))
        } else if failures.isEmpty {
            try output.say("No certificate expires within \(Plural.duration(seconds: span)).")
        }
        // The certificates of the other keychains are listed by now.
        if let first = failures.first, !isMetrics { throw first.error }
        if exitCode, !due.isEmpty || !failures.isEmpty { throw ExitCode(ExitStatus.attention.rawValue) }
    }

    /// The certificates by their end, and the keychains that cannot be read.
    private func read() throws -> (entries: [Entry], failures: [(name: String, error: KeychainError)], place: String?) {
        var entries: [Entry] = []
        var failures: [(name: String, error: KeychainError)] = []
        var place: String?
        func add(_ keychain: Keychain) throws {
            // A token can have a certificate twice.
            var seen: Set<Data> = []
            for item in try keychain.certificates.publicCertificates()
            where (replaced || item.nameOfVersion == nil) && seen.insert(item.der).inserted {
                entries.append(
                    Entry(keychain: keychain.nameInDocuments, item: item, certificate: try item.certificate()))
            }
        }
        if all {
            try global.requireNoKeychain()
            let listing = try Keychains().listing()
            failures = listing.damaged.map { ($0.name, $0.error) }
            for configuration in listing.keychains {
                do { try add(Keychains().open(configuration, options: global.keychainOptions())) } catch {
                    let known = error as? KeychainError
                    failures.append(
                        (
                            configuration.name,
                            known ?? KeychainError(.failed, String(describing: error), cause: error)
                        ))
                }
            }
        } else {
            let keychain = try global.openKeychainOrToken()
            place = keychain.nameInDocuments
            try add(keychain)
        }
        return (entries.sorted { $0.certificate.notAfter < $1.certificate.notAfter }, failures, place)
    }

    private func document(
        _ due: [Entry], _ failures: [(name: String, error: KeychainError)], _ place: String?, _ span: Double,
        _ now: Date
    ) -> Document {
        let listed = due.map {
            ListedCertificate(
                label: $0.item.label, certificate: $0.certificate, isReplaced: $0.item.nameOfVersion != nil,
                keychain: .some($0.keychain))
        }
        let damaged = failures.map { KeychainReport.members(ofDamaged: $0.name, $0.error) }
        return ListedCertificate.document(
            listed, as: "certificates", on: now,
            ["keychain": place, "within_seconds": Int(span), "damaged_keychains": all ? damaged : nil])
    }

    private func text(_ due: [Entry], _ now: Date, _ output: Output) -> String {
        let columns = (all ? [Table.Column("")] : []) + [.init(""), .init(""), .init(""), .init("")]
        var table = Table(columns)
        for entry in due {
            let end = entry.certificate.notAfter
            table.add(
                (all ? [.init(entry.keychain ?? "")] : []) + [
                    .init(entry.item.label ?? ""), .init(CertificatePhrases.subject(entry.certificate)),
                    .init(RFC3339.localDay(of: end)),
                    end < now ? .init("expired", .bad) : .init(Plural.relative(end, to: now), .warning),
                ])
        }
        // No heading, so that cut and awk can process the lines.
        return String(table.rendered(width: nil, colour: output.colour).drop { $0 != "\n" }.dropFirst())
    }

    private static func metrics(
        _ entries: [Entry], _ failures: [(name: String, error: KeychainError)]
    ) -> Metrics {
        var metrics = Metrics()
        for entry in entries {
            metrics.add(
                "certificate_expiry_timestamp_seconds", "When the certificate expires.",
                Int(entry.certificate.notAfter.timeIntervalSince1970),
                [
                    "keychain": entry.keychain ?? "", "name": entry.item.label ?? "",
                    "subject": entry.certificate.subject.description,
                    "fingerprint": entry.certificate.sha256Fingerprint.hexadecimal,
                ])
        }
        for failure in failures { KeychainReport.addProblem(of: failure.name, to: &metrics) }
        return metrics
    }
}
