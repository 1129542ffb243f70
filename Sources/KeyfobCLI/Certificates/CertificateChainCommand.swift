import ArgumentParser
import Foundation
import Keyfob
import KeyfobOpenSSL

/// `keyfob cert chain`: shows the issuers of a certificate.
struct CertificateChainCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "chain", "Show the chain of a certificate, and fetch missing issuers.",
        examples: Examples(
            "keyfob cert chain web", "keyfob cert chain web --fetch",
            "keyfob cert chain server.pem --untrusted chain.pem"),
        discussion: """
            --fetch downloads issuers from the addresses in the certificates (authority information access) and stores \
            them. Fetched certificates are not trusted. It waits for at most two minutes in total, or for --timeout if \
            that is shorter. If an issuer is missing, prints what was found and exits with 11.
            """)

    @Argument(help: "A file, or name, fingerprint, common name or PKCS#11 URI of a certificate in the keychain.")
    var certificate: CertificateSource

    @Option(help: ArgumentHelp("Files of further certificates.", valueName: "file"))
    var untrusted: [FileArgument] = []

    @Flag(help: "Fetch missing issuers from the addresses in the certificates, and store them.")
    var fetch = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ output: Output) throws {
        let keychain: Keychain? = try fetch ? global.openKeychain() : global.openKeychainIfThere()
        let (leaf, others, name) = try certificate.load(waiting: global.timeout) {
            try keychain ?? global.openKeychain()
        }
        let further = try others + untrusted.flatMap { try $0.certificates(waiting: global.timeout) }
        var fetched: [Certificate] = []
        if fetch, !global.dryRun, let keychain {
            fetched = try keychain.certificates.fetchIssuers(of: leaf, with: further, timeout: global.timeout?.duration)
        }
        let now = Date()
        func verify(_ intermediates: [Certificate]) throws -> CertificateVerification {
            if let keychain { return try keychain.certificates.verify(leaf, intermediates: intermediates) }
            return try CertificateVerification(
                verifying: leaf, intermediates: intermediates, on: now, host: nil, usage: .any, trusting: TrustPolicy())
        }
        var result = try verify(further + fetched)
        // If the fetched certificates leave the leaf without an issuer, the chain is shown without them.
        if !result.isTrusted, result.chain.count < 2 { result = try verify(further) }
        var known: Set<Data> = []
        if let keychain { known = Set(try keychain.find(.certificates).map(\.der)) }
        let rows = result.chain.enumerated().map { index, one -> (Int, Certificate, String) in
            let isAnchor = result.isTrusted && index == result.chain.count - 1
            let place = known.contains(one.der) ? "in the keychain" : isAnchor ? "" : "not in the keychain"
            let trust = isAnchor ? "trusted by the \(result.origin?.rawValue ?? "caller")" : ""
            return (index, one, [place, trust].filter { !$0.isEmpty }.joined(separator: ", "))
        }
        // An expired certificate is reported as expired even if its issuer is missing too.
        let isIssuerMissing = [.issuerNotFound, .leafNotVerified].contains(result.result.failure?.code)
        let isComplete = !isIssuerMissing || result.chain.last?.isSelfSigned == true
        // A dry run fetches nothing, so it reports that issuers are missing.
        let isFetched = global.dryRun ? fetch && !isComplete : !fetched.isEmpty
        let document = Document(
            global.effect(isFetched ? .create : .none),
            [
                "name": name, "trusted": result.isTrusted, "origin": result.origin?.rawValue,
                "fetched": fetched.count, "chain_complete": isComplete,
                "chain": rows.map { index, one, place -> Members in
                    ["depth": index, "place": place] + CertificatePhrases.members(one, on: now)
                },
            ], listName: "chain")
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
        // Whether the chain is trusted is a separate question, answered by `keyfob cert verify`.
        let reason = result.error(name: name, isFile: certificate.isFile, hasFetched: fetch && !global.dryRun)
        try output.emit(document, table: table)
        if let reason, !isComplete { throw reason }
    }
}
