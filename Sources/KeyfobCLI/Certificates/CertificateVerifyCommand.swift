import ArgumentParser
import Foundation
import Keyfob
import KeyfobOpenSSL

/// `keyfob cert verify`: verifies a certificate, and reports why it is not accepted.
struct CertificateVerifyCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "verify", "Verify a certificate: chain, trust, dates, host and usage.",
        examples: Examples(
            "keyfob cert verify web --host www.example.org --usage server",
            "keyfob cert verify server.pem --untrusted chain.pem --ca corp-root.pem",
            "keyfob cert verify web --at 2026-12-24"),
        discussion: """
            Trusts the system's authorities, the keychain's anchors (keyfob trust ls) and those of --ca. Does not use \
            the network, and so does not check for revocation. Exits with 11 if the certificate is not accepted.
            """)

    @Argument(help: "A file, or name, fingerprint, common name or PKCS#11 URI of a certificate in the keychain.")
    var certificate: CertificateSource

    @Option(help: ArgumentHelp("The host that the certificate must be for.", valueName: "name|address"))
    var host: String?

    @Option(help: "The usage that it must allow: server, client, email, code-signing, time-stamping or any.")
    var usage: UsageName = .any

    @Option(help: ArgumentHelp("The time to verify for, instead of now.", valueName: "date"))
    var at: Moment?

    @Option(help: ArgumentHelp("Files of certificates that may be part of the chain.", valueName: "file"))
    var untrusted: [FileArgument] = []

    @Option(
        name: .customLong("ca"),
        help: ArgumentHelp("Files of certificates to trust in this command.", valueName: "file"))
    var anchors: [FileArgument] = []

    @Flag(help: "Without the system's authorities.")
    var noSystem = false

    @Flag(help: "Without the keychain's anchors.")
    var noKeychain = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        if host?.isEmpty == true { throw ValidationError("A host must not be empty.") }
    }

    func run(_ output: Output) throws {
        let host = try host.map(HostName.init)
        let keychain = try global.openKeychainIfThere()
        let (leaf, others, name) = try certificate.load(waiting: global.timeout) {
            try keychain ?? global.openKeychain()
        }
        let policy = TrustPolicy(
            includesSystem: !noSystem, includesKeychain: !noKeychain,
            anchors: try anchors.flatMap { try $0.certificates(waiting: global.timeout) })
        let intermediates = try others + untrusted.flatMap { try $0.certificates(waiting: global.timeout) }
        let date = at?.date ?? Date()
        let result: CertificateVerification
        if let keychain {
            result = try keychain.certificates.verify(
                leaf, intermediates: intermediates, on: date, host: host?.text, usage: usage.usage, trusting: policy)
        } else {
            result = try CertificateVerification(
                verifying: leaf, intermediates: intermediates, on: date, host: host?.text, usage: usage.usage,
                trusting: policy)
        }
        let root = try result.result.failure?.certificate.flatMap { try keychain?.identities.rootWord(of: $0) }
        let successor = try noKeychain ? nil : keychain?.trust.successor(in: result)
        let error = result.error(
            name: name, isFile: certificate.isFile, root: root, successor: successor,
            renewal: keychain?.identities.renewalAdvice(in: result))
        if let error { throw error }
        let chain = result.chain.map { TerminalSafe.text(CertificatePhrases.subject($0)) }.joined(separator: " <- ")
        let origin = switch result.origin {
        case .system: "trusted by the system"
        case .keychain: "trusted by the keychain"
        default: "trusted in this command"
        }
        try output.emit(
            Document([
                "name": name, "trusted": true, "origin": result.origin?.rawValue, "usage": usage.usage.rawValue,
                "host": host?.text, "at": result.date,
                "chain": result.chain.map { CertificatePhrases.members($0, on: result.date) },
            ]), sentence: "ok  \(chain) (\(origin))")
    }
}
