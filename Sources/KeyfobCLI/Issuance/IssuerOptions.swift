import ArgumentParser
import Foundation
import Keyfob
import KeyfobACME

/// The options for the issuer of a certificate.
struct IssuerOptions: ParsableArguments {
    @Flag(help: "The identity's own key signs the certificate.")
    var selfSigned = false

    @Option(
        help: ArgumentHelp(
            """
            The issuer: the name of an authority in the keychain, exec:COMMAND, or acme:URL of a directory. The \
            command runs without a shell; its words may be quoted.
            """,
            valueName: "issuer"))
    var issuer: String?

    @Option(help: ArgumentHelp("The keychain of the authority, if it is another one.", valueName: "name"))
    var issuerKeychain: String?

    @Option(
        help: ArgumentHelp(
            "With acme: the document root of the host's web server, for HTTP-01 challenges.", valueName: "dir"))
    var webRoot: String?

    @Option(
        help: ArgumentHelp(
            "With acme, without a web server: where to answer HTTP-01 challenges, a port or address and port.",
            valueName: "address"))
    var listen: String?

    @Option(
        help: ArgumentHelp(
            "With acme: where to answer TLS-ALPN-01 challenges, at port 443 of the host; a port or address and port.",
            valueName: "address"))
    var listenTls: String?

    @Option(
        help: ArgumentHelp(
            """
            With acme: a command for DNS-01 challenges, which wildcards need. Its arguments are add or remove, the \
            record's name, and the content of the TXT record. If add fails, remove follows, even if there is no \
            record. Runs without a shell.
            """,
            valueName: "command"))
    var dnsHook: String?

    @Option(
        help: ArgumentHelp(
            "With acme: the key identifier of an existing account with the authority.", valueName: "id"))
    var eabKid: String?

    @Option(
        help: ArgumentHelp(
            "The source of that account's HMAC key, in base64url: env:NAME, file:PATH, …; needed once.",
            valueName: "source"))
    var eabKeySource: String?

    @Option(
        help: ArgumentHelp("With acme: an e-mail address for the authority; may be repeated.", valueName: "address"))
    var contact: [String] = []

    @Flag(help: "With acme: agree to the authority's terms of service.")
    var agreeTos = false

    @Option(
        help: ArgumentHelp("With acme: the authority of the directory's own certificate, in PEM.", valueName: "file"))
    var acmeCa: String?

    @Option(
        help: ArgumentHelp(
            "With acme: the kind of certificate, by the authority's name for it; addresses may need one.",
            valueName: "name"))
    var acmeProfile: String?

    @Option(
        help: ArgumentHelp(
            """
            The lifetime, such as 90d, which is the default; 10y for a root and 5y for another authority. An external \
            issuer may choose another.
            """,
            valueName: "duration"))
    var lifetime: TimeSpan?

    func validate() throws {
        // The variable is read later or not at all; programs started before must not inherit it.
        EnvironmentVariable.withhold(namedBy: eabKeySource)
        if selfSigned, issuer != nil { throw ValidationError("--self-signed and --issuer exclude each other.") }
        let isACME = issuer?.hasPrefix("acme:") ?? false
        let ways = [webRoot, listen, listenTls, dnsHook].compactMap(\.self)
        let isForACME = !ways.isEmpty || !contact.isEmpty || agreeTos || acmeCa != nil || acmeProfile != nil
            || eabKid != nil || eabKeySource != nil
        guard isACME || !isForACME else {
            throw ValidationError(
                "--web-root, --listen, --listen-tls, --dns-hook, --contact, --agree-tos, --acme-… and --eab-… are "
                    + "for --issuer acme:URL.")
        }
        guard !isACME || ways.count == 1 else {
            throw ValidationError(
                """
                --issuer acme:URL needs one way to answer challenges: --web-root DIR, the files of the host's web server, \
                --listen 80 or --listen-tls 443 without a web server, or --dns-hook COMMAND.
                """)
        }
        try lifetime?.requireUnit(for: "--lifetime", probably: "d")
        if let lifetime, lifetime.duration <= .zero { throw ValidationError("The lifetime must be greater than zero.") }
        guard (eabKid == nil) == (eabKeySource == nil) else {
            throw ValidationError("Give --eab-kid and --eab-key-source together.")
        }
    }

    /// The issuer in the form that is stored with the identity; `nil` if none was given.
    ///
    /// - Throws: `UsageError` for a command that is empty or has an unterminated quote.
    func description() throws -> IssuerDescription? {
        if selfSigned { return .itself }
        guard let issuer else { return nil }
        if let command = issuer.dropping(prefix: "exec:") {
            return .command(try Self.words(command, of: "exec:"))
        }
        if let directory = issuer.dropping(prefix: "acme:") {
            return .acme(
                ACMEIssuer.Settings(
                    directory: directory, contacts: contact, agreesToTerms: agreeTos,
                    webRoot: webRoot.map(Self.absolute), listener: listen, tlsListener: listenTls,
                    dnsCommand: try dnsHook.map { try Self.words($0, of: "--dns-hook") },
                    authorityFile: acmeCa.map(Self.absolute), profile: acmeProfile))
        }
        return .authority(issuer, keychain: issuerKeychain)
    }

    /// Reads the key of the external account that a new ACME account is bound to; `nil` if none was given.
    ///
    /// - Throws: `KeychainError` of the source; `invalidArgument` for an invalid key.
    func externalAccount(_ global: GlobalOptions) throws -> ACMEIssuer.ExternalAccount? {
        guard let eabKid, let eabKeySource else { return nil }
        let source = try PINSource(parsing: eabKeySource)
        // A dry run does not ask for a key that it will not use.
        guard !global.dryRun || !source.isInteractive else { return nil }
        let key = try source.read(
            .externalAccount(eabKid), from: global.pinEnvironment(noInput: false))
        return try ACMEIssuer.ExternalAccount(keyIdentifier: eabKid, key: key)
    }

    private static func words(_ command: String, of option: String) throws -> [String] {
        guard let words = CommandWords.split(command) else {
            throw UsageError(
                "the command of \(option) ends inside quotes or with a backslash.",
                hint: "Example: \"/usr/local/bin/sign --profile 'web servers'\"")
        }
        guard !words.isEmpty else {
            throw UsageError("\(option) needs a command.", hint: "Example: /usr/local/bin/sign")
        }
        return words
    }

    /// The lifetime in seconds.
    var seconds: TimeInterval? { lifetime.map { Double($0.duration.components.seconds) } }

    /// Stored as an absolute path, because a renewal may run in another directory.
    private static func absolute(_ path: String) -> String { URL(fileURLWithPath: path).path }
}

extension IssuerDescription {
    /// Returns the issuer, ready to issue.
    ///
    /// - Throws: `KeychainError.itemNotFound` if the authority does not exist, and the errors of opening its keychain.
    func resolved(
        for keychain: Keychain, _ global: GlobalOptions, _ options: IssuerOptions
    ) throws -> any CertificateIssuer {
        switch self {
        case .itself: return SelfIssuer()
        case .command(let words): return try CommandIssuer(words)
        case .external:
            guard let settings = acmeSettings else {
                throw KeychainError(
                    .invalidArgument, "this version does not know the stored issuer \"\(self)\".",
                    hint: "Give --self-signed or --issuer once; it is kept.", details: ["issuer": description])
            }
            return StoppableIssuer(
                try ACMEIssuer(
                    settings, keychain: keychain, externalAccount: options.externalAccount(global),
                    isStopped: { Interruption.isRequested }))
        case .authority(let name, let other):
            let home = try other.map { try Keychain.open($0, options: global.keychainOptions()) } ?? keychain
            return AuthorityIssuer(try ItemName(name).identity(in: home), in: home, isForeign: other != nil)
        }
    }
}
