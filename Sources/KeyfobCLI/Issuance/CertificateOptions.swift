import ArgumentParser
import Foundation
import Keyfob
import KeyfobOpenSSL

/// A certificate usage on the command line, limited to the usages that this version supports.
struct UsageName: ExpressibleByArgument {
    let usage: CertificateUsage

    /// Any usage.
    static let any = UsageName(.any)

    private init(_ usage: CertificateUsage) { self.usage = usage }

    init?(argument: String) {
        guard let usage = CertificateUsage.known.first(where: { $0.rawValue == argument }) else { return nil }
        self.usage = usage
    }

    /// The values that messages and completion scripts offer.
    static var allValueStrings: [String] { CertificateUsage.known.map(\.rawValue) }

    static var defaultCompletionKind: CompletionKind { .list(allValueStrings) }

    var defaultValueDescription: String { usage.rawValue }
}

/// The options for the names and usages of a certificate.
struct CertificateOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The common name.", valueName: "name"))
    var cn: String?

    @Option(help: ArgumentHelp("The whole subject, such as 'CN=web,O=Example,C=DE'.", valueName: "name"))
    var subject: String?

    @Option(help: ArgumentHelp("A host name; this and the following options may be repeated.", valueName: "host"))
    var dns: [String] = []

    @Option(help: ArgumentHelp("An IP address.", valueName: "address"))
    var ip: [String] = []

    @Option(help: ArgumentHelp("An e-mail address.", valueName: "address"))
    var email: [String] = []

    @Option(help: ArgumentHelp("A URI, such as a SPIFFE id.", valueName: "uri"))
    var uri: [String] = []

    @Option(help: ArgumentHelp("Another name: an object identifier, a colon and text.", valueName: "oid:text"))
    var otherName: [String] = []

    @Option(help: ArgumentHelp("The usage: server (the default), client, email, code-signing, time-stamping or any."))
    var usage: [UsageName] = []

    @Flag(help: "Make an authority, which can issue certificates.")
    var authority = false

    @Option(help: ArgumentHelp("The maximum number of authorities below an authority.", valueName: "number"))
    var pathLength: Int?

    func validate() throws {
        if cn != nil, subject != nil { throw ValidationError("--cn is part of --subject; give one of them.") }
        if pathLength != nil, !authority { throw ValidationError("--path-length requires --authority.") }
        if authority, !usage.isEmpty { throw ValidationError("--authority and --usage exclude each other.") }
        let purposes = Set(usage.map(\.usage))
        if purposes.contains(.timeStamping), purposes.count > 1 {
            throw ValidationError("time-stamping excludes all other usages (RFC 3161).")
        }
        for address in ip where GeneralName(ipAddress: address) == nil {
            throw ValidationError("\"\(TerminalSafe.text(address))\" is not an IP address.")
        }
        // Clients match an address only against the address names of a certificate.
        for host in dns where GeneralName(ipAddress: host) != nil {
            throw ValidationError("\"\(TerminalSafe.text(host))\" is an address, not a host name; give it with --ip.")
        }
        for name in otherName where Self.parts(name) == nil {
            throw ValidationError(
                "--other-name takes an object identifier, a colon and text, "
                    + "such as 1.3.6.1.4.1.311.20.2.3:web@example.org.")
        }
    }

    /// Whether no name is given.
    var isEmpty: Bool {
        cn == nil && subject == nil && dns.isEmpty && ip.isEmpty && email.isEmpty && uri.isEmpty && otherName.isEmpty
    }

    /// The names and usages of the options.
    private var contents: CertificateContents {
        var contents = CertificateContents()
        (contents.commonName, contents.subject) = (cn, subject)
        (contents.hosts, contents.addresses, contents.emails, contents.uris) = (dns, ip, email, uri)
        contents.others = otherName.compactMap(Self.parts).map { .init(type: $0.0, text: $0.1) }
        (contents.usages, contents.isAuthority, contents.pathLength) = (usage.map(\.usage), authority, pathLength)
        return contents
    }

    /// The subject, or an empty name.
    ///
    /// - Throws: `KeychainError.invalidArgument` for a name that cannot be encoded.
    func name() throws -> DistinguishedName {
        do { return try contents.name() } catch let error as CryptoError {
            throw KeychainError(
                .invalidArgument, "invalid subject: \(error.detail).",
                hint: "Example: --subject 'CN=web,O=Example,C=DE'", cause: error)
        }
    }

    /// The extensions for a key of the given algorithm.
    ///
    /// - Throws: `KeychainError.invalidArgument` for a name that cannot be encoded.
    func extensions(for key: KeyAlgorithm) throws -> CertificateExtensions {
        _ = try name()
        do { return try contents.extensions(for: key) } catch let error as CryptoError {
            throw KeychainError(.invalidArgument, "invalid name: \(error.detail).", cause: error)
        }
    }

    private static func parts(_ text: String) -> (String, String)? {
        guard let colon = text.firstIndex(of: ":") else { return nil }
        return (String(text[..<colon]), String(text[text.index(after: colon)...]))
    }
}
