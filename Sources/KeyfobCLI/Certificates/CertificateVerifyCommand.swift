import ArgumentParser
import Foundation
import Keyfob
import OpenSSL

extension Date {
    /// A day, such as `2026-05-02`, or a moment as RFC 3339 has it, without its fraction of a second; `nil` for other
    /// text, and for days that no month has.
    init?(argument text: String) {
        // Foundation stops reading where it likes, and makes 1 December of 31 November.
        let form = /([0-9-]{10})(?:[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[.][0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2}))?/
        guard let match = text.wholeMatch(of: form)?.output else { return nil }
        let start: Date
        do { start = try Date(String(match.1), strategy: Date.ISO8601FormatStyle().year().month().day()) } catch {
            return nil
        }
        guard RFC3339.day(of: start) == match.1 else { return nil }
        func number(_ digits: Substring?) -> Int { digits.flatMap { Int($0) } ?? 0 }
        let (hour, minute, second) = (number(match.2), number(match.3), number(match.4))
        // Such as +02:00; nothing for UTC.
        let offset = match.5.map { $0.count == 1 ? "+00:00" : $0 } ?? "+00:00"
        let (hours, minutes) = (number(offset.dropFirst().prefix(2)), number(offset.suffix(2)))
        guard hour < 24, minute < 60, second < 60, hours < 24, minutes < 60 else { return nil }
        let ahead = (hours * 3600 + minutes * 60) * (offset.hasPrefix("-") ? -1 : 1)
        self = start + Double(hour * 3600 + minute * 60 + second - ahead)
    }
}

/// A moment on the command line.
struct Moment: ExpressibleByArgument {
    let date: Date

    init?(argument: String) {
        guard let date = Date(argument: argument) else { return nil }
        self.date = date
    }
}

/// `keyfob cert verify`: whether a certificate would be accepted, and why not.
struct CertificateVerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "verify", "Verify a certificate: chain, trust, dates, host and usage.",
        examples: Examples(
            "keyfob cert verify web --host www.example.org --usage server",
            "keyfob cert verify server.pem --untrusted chain.pem --ca corp-root.pem",
            "keyfob cert verify web --at 2026-12-24"),
        discussion: """
            Trusted are the system's authorities, the keychain's anchors (keyfob trust ls) and those of --ca. Without \
            the network: nobody is asked whether it was revoked. Exits with 11 when it is not accepted.
            """)

    @Argument(help: "A file, or name, fingerprint, common name or PKCS#11 URI of a certificate in the keychain.")
    var certificate: CertificateSource

    @Option(help: ArgumentHelp("The host it must be for.", valueName: "name|address"))
    var host: String?

    @Option(help: "What it must be for: server, client, email, code-signing, time-stamping or any.")
    var usage: UsageName = .any

    @Option(help: ArgumentHelp("The moment to verify for, instead of now.", valueName: "date"))
    var at: Moment?

    @Option(help: ArgumentHelp("Files of certificates that may stand in the chain.", valueName: "file"))
    var untrusted: [FileArgument] = []

    @Option(name: .customLong("ca"), help: ArgumentHelp("Files of certificates to trust this time.", valueName: "file"))
    var anchors: [FileArgument] = []

    @Flag(help: "Without the system's authorities.")
    var noSystem = false

    @Flag(help: "Without the keychain's anchors.")
    var noKeychain = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        if host?.isEmpty == true { throw ValidationError("A host has a name or an address.") }
    }

    func run() throws {
        let output = try global.output()
        let host = try host.map(HostName.init)
        let keychain = try global.openKeychain()
        let (leaf, others, name) = try certificate.load(from: keychain)
        func certificates(_ files: [FileArgument]) throws -> [Certificate] {
            try files.flatMap { try KeyFile.certificates($0.read(), fileName: $0.name) }
        }
        let policy = TrustPolicy(
            includesSystem: !noSystem, includesKeychain: !noKeychain, anchors: try certificates(anchors))
        let result = try keychain.verify(
            leaf, intermediates: others + certificates(untrusted), on: at?.date ?? Date(), host: host?.text,
            usage: usage.usage,
            trusting: policy)
        if let error = result.error(name: name, isFile: certificate.isFile) { throw error }
        let chain = result.chain.map { Visible.text(CertificatePhrases.subject($0)) }.joined(separator: " <- ")
        let origin = switch result.origin {
        case .system: "trusted by the system"
        case .keychain: "trusted by the keychain"
        default: "trusted this time"
        }
        try output.emit(
            Document([
                "name": .string(name), "trusted": true, "origin": .optional(result.origin?.rawValue),
                "usage": .string(usage.usage.rawValue), "host": .optional(host?.text), "at": .time(result.date),
                "chain": .array(result.chain.map { .object(CertificatePhrases.members($0, on: result.date)) }),
            ]), sentence: "ok  \(chain) (\(origin))")
    }
}

/// `keyfob cert chain`: what stands above a certificate.
struct CertificateChainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "chain", "Show what stands above a certificate, and fetch what is missing.",
        examples: Examples(
            "keyfob cert chain web", "keyfob cert chain web --fetch",
            "keyfob cert chain server.pem --untrusted chain.pem"),
        discussion: """
            --fetch asks the places that the certificates themselves name (authority information access) and stores \
            what it gets; that an issuer was fetched makes nobody trust it. Exits with 11 when an issuer is missing.
            """)

    @Argument(help: "A file, or name, fingerprint, common name or PKCS#11 URI of a certificate in the keychain.")
    var certificate: CertificateSource

    @Option(help: ArgumentHelp("Files of further certificates.", valueName: "file"))
    var untrusted: [FileArgument] = []

    @Flag(help: "Fetch missing issuers from where the certificates say, and store them.")
    var fetch = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run() throws {
        let output = try global.output()
        let keychain = try global.openKeychain()
        let (leaf, others, name) = try certificate.load(from: keychain)
        let further = others + (try untrusted.flatMap { try KeyFile.certificates($0.read(), fileName: $0.name) })
        var fetched: [Certificate] = []
        if fetch, !global.dryRun { fetched = try keychain.fetchIssuers(of: leaf, with: further) }
        var result = try keychain.verify(leaf, intermediates: further + fetched)
        // The certificate of an authority that may not be asked for is no reason to hide the chain.
        if !result.isTrusted, result.chain.count < 2 { result = try keychain.verify(leaf, intermediates: further) }
        let now = Date()
        let known = Set(try keychain.find(.certificates).map(\.der))
        let rows = result.chain.enumerated().map { index, one -> (Int, Certificate, String) in
            let isAnchor = result.isTrusted && index == result.chain.count - 1
            let place = known.contains(one.der) ? "in the keychain" : isAnchor ? "" : "not in the keychain"
            let trust = isAnchor ? "trusted by the \(result.origin?.rawValue ?? "caller")" : ""
            return (index, one, [place, trust].filter { !$0.isEmpty }.joined(separator: ", "))
        }
        let document = Document([
            "name": .string(name), "trusted": .boolean(result.isTrusted), "origin": .optional(result.origin?.rawValue),
            "fetched": .count(fetched.count),
            "chain": .array(
                rows.map { index, one, place in
                    .object(
                        [.init("depth", .count(index)), .init("place", .string(place))]
                            + CertificatePhrases.members(one, on: now))
                }),
        ])
        var table = Table([
            .init("DEPTH"), .init("SUBJECT", mayShrink: true), .init("ISSUER", mayShrink: true), .init("STATE"),
            .init("WHERE"),
        ])
        for (index, one, place) in rows {
            let state = CertificatePhrases.State(one, on: now)
            table.add([
                .init(String(index)), .init(CertificatePhrases.subject(one)), .init(CertificatePhrases.issuer(one)),
                .init(state.rawValue, state.style), .init(place),
            ])
        }
        // That nobody trusts it is another question: keyfob cert verify.
        let error = result.error(name: name).flatMap { $0.code == .chainIncomplete ? $0 : nil }
        // A program reads one document: the result, or the error.
        if let error, output.format.isMachineReadable { throw error }
        try output.emit(document, table: table)
        if let error { throw error }
    }
}
