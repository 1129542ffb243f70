import ArgumentParser
import Foundation
import Keyfob

/// The options that say who issues a certificate.
struct IssuerOptions: ParsableArguments {
    @Flag(help: "The identity's own key signs the certificate.")
    var selfSigned = false

    @Option(
        help: ArgumentHelp(
            """
            Who issues it: an authority of the keychain by its name, exec:COMMAND, or acme:URL of a directory. The \
            command is run without a shell; its words may be quoted.
            """,
            valueName: "issuer"))
    var issuer: String?

    @Option(help: ArgumentHelp("The keychain of an authority that is in another one.", valueName: "name"))
    var issuerKeychain: String?

    @Option(
        help: ArgumentHelp(
            "With acme: the document root of the host's web server, for HTTP-01 challenges.", valueName: "dir"))
    var webRoot: String?

    @Option(help: ArgumentHelp("With acme: an e-mail address for the authority; several times.", valueName: "address"))
    var contact: [String] = []

    @Flag(help: "With acme: agree to the authority's terms of service.")
    var agreeTos = false

    @Option(help: ArgumentHelp("With acme: whom to trust with the directory itself, in PEM.", valueName: "file"))
    var acmeCa: String?

    @Option(help: ArgumentHelp("For how long, such as 90d; an issuer elsewhere may decide.", valueName: "duration"))
    var lifetime: TimeSpan?

    func validate() throws {
        if selfSigned, issuer != nil { throw ValidationError("--self-signed and --issuer exclude each other.") }
        let isACME = issuer?.hasPrefix("acme:") ?? false
        if !isACME, webRoot != nil || !contact.isEmpty || agreeTos || acmeCa != nil {
            throw ValidationError("--web-root, --contact, --agree-tos and --acme-ca are for --issuer acme:URL.")
        }
        if isACME, webRoot == nil {
            throw ValidationError("--issuer acme:URL needs --web-root DIR, where the host's web server finds its files.")
        }
    }

    /// The issuer as it is written down; `nil` where none was named.
    func description() throws -> IssuerDescription? {
        if selfSigned { return .itself }
        guard let issuer else { return nil }
        if let command = issuer.dropping(prefix: "exec:") {
            guard let words = CommandWords.split(command) else {
                throw UsageError(
                    "the command of exec: ends inside of quotes, or with a backslash.",
                    hint: "Such as exec:\"/usr/local/bin/sign --profile 'web servers'\"")
            }
            guard !words.isEmpty else { throw UsageError("exec: needs a command.", hint: "Such as exec:/usr/local/bin/sign") }
            return .command(words)
        }
        if let directory = issuer.dropping(prefix: "acme:") {
            return .acme(
                ACMEIssuer.Settings(
                    directory: directory, contacts: contact, agreesToTerms: agreeTos,
                    webRoot: Self.absolute(webRoot ?? "."), authorityFile: acmeCa.map(Self.absolute)))
        }
        return .authority(issuer, keychain: issuerKeychain)
    }

    /// The lifetime in seconds.
    var seconds: TimeInterval? { lifetime.map { Double($0.duration.components.seconds) } }

    /// A renewal may be started from another directory.
    private static func absolute(_ path: String) -> String { URL(fileURLWithPath: path).path }
}

extension IssuerDescription {
    /// The issuer, ready to issue.
    ///
    /// - Throws: `KeychainError`; `itemNotFound` for an authority that is not there, and what opening its keychain throws.
    func resolved(for keychain: Keychain, _ global: GlobalOptions) throws -> any CertificateIssuer {
        switch self {
        case .itself: return SelfIssuer()
        case .command(let words): return try CommandIssuer(words)
        case .acme(let settings): return try ACMEIssuer(settings, keychain: keychain)
        case .authority(let name, let other):
            let home = try other.map { try Keychain.open($0, options: global.keychainOptions()) } ?? keychain
            return AuthorityIssuer(try ItemName(name).identity(in: home), in: home, isForeign: other != nil)
        }
    }
}

extension String {
    /// The rest behind a prefix, where it has it.
    func dropping(prefix: String) -> String? { hasPrefix(prefix) ? String(dropFirst(prefix.count)) : nil }
}
