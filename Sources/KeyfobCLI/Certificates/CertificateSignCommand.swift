import ArgumentParser
import Foundation
import Keyfob
import KeyfobOpenSSL
import KeyfobPrimitives

/// `keyfob cert sign`: an authority of the keychain signs a request of another machine.
struct CertificateSignCommand: ParsableCommand, ContentWriter {
    static let contentFormats: [ContentFormat] = [.pem, .der]

    static let configuration = CommandConfiguration(
        "sign", "Sign the certification request of another machine.",
        examples: Examples(
            "keyfob cert sign web.csr --issuer root -o web.pem",
            "keyfob cert sign - --issuer root --usage server --usage client --lifetime 30d < web.csr",
            "keyfob identity create web --dns web.example.org --issuer 'exec:ssh ca keyfob cert sign - --issuer root'"),
        discussion: """
            The request, PKCS#10, must be signed with its own key. Its subject, names and usages are granted, unless \
            options state others: then only those of the options are. A request without a usage gets that of a server. \
            The request of an authority needs --authority; all other extensions are left out. What the authority and \
            those above it do not allow is refused. The result is the certificate, and with PEM those above it. \
            --format also accepts pem and der.
            """)

    @Argument(help: "The file with the request, in PEM or DER; - is standard input.")
    var request: FileArgument

    @Option(help: ArgumentHelp("The authority: its name, fingerprint or PKCS#11 URI.", valueName: "name"))
    var issuer: ItemName

    @Option(
        help: ArgumentHelp("The lifetime; 90d by default, 5y for an authority.", valueName: "duration"))
    var lifetime: TimeSpan?

    @OptionGroup(title: "Subject and usage") var wishes: CertificateOptions

    @OptionGroup var file: OutputFileOptions

    @Flag(help: "Write DER to a terminal anyway.")
    var force = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        try lifetime?.requireUnit(for: "--lifetime", probably: "d")
        if let lifetime, lifetime.duration <= .zero { throw ValidationError("The lifetime must be greater than zero.") }
    }

    func run() throws {
        let (output, form) = try global.output(writing: Self.contentFormats)
        let request = try KeyFile.request(self.request.read(waiting: global.timeout), fileName: self.request.name)
        let keychain = try global.openKeychain()
        let authority = AuthorityIssuer(try issuer.identity(in: keychain), in: keychain)
        let terms = try terms(for: request)
        guard !global.dryRun else {
            try authority.requireSignable(request, terms: terms)
            return try file.plan(members: members(nil, request, keychain), output)
        }
        let issued = try authority.sign(request, terms: terms) { output.warn("the lifetime is \($0).") }
        let certificate = issued.certificate
        let pem = ([certificate] + issued.chain).map(\.pem).joined()
        try file.write(
            form == .der ? SecretBytes(certificate.der) : SecretBytes(utf8: pem),
            members: members(issued, request, keychain),
            sentence: "Wrote \(TerminalSafe.text(file.name)): "
                + "\(TerminalSafe.text(CertificatePhrases.subject(certificate))), "
                + "\(CertificatePhrases.validity(certificate, on: Date())).",
            force: force, isDryRun: false, waiting: global.timeout, output)
    }

    private func terms(for request: CertificationRequest) throws -> SigningTerms {
        let hasSubject = wishes.cn != nil || wishes.subject != nil
        let names = try wishes.isEmpty
            ? nil : wishes.extensions(for: request.publicKey.algorithm).subjectAlternativeNames
        return SigningTerms(
            subject: hasSubject ? try wishes.name() : nil, names: names,
            usages: wishes.usage.isEmpty ? nil : wishes.usage.map(\.usage),
            authority: wishes.authority ? BasicConstraints(isAuthority: true, pathLength: wishes.pathLength) : nil,
            lifetime: lifetime.map { Double($0.duration.components.seconds) })
    }

    private func members(
        _ issued: IssuedCertificate?, _ request: CertificationRequest, _ keychain: Keychain
    ) -> Members {
        [
            "keychain": keychain.name, "authority": issuer.text, "file": file.path,
            "pem": issued.map { ([$0.certificate] + $0.chain).map(\.pem).joined() },
        ] + CertificatePhrases.members(issued?.certificate, on: Date())
    }
}
