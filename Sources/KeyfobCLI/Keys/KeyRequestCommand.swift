import ArgumentParser
import Foundation
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL

/// `keyfob key csr`: writes a certification request that the token signs.
struct KeyRequestCommand: ParsableCommand, ContentWriter {
    static let contentFormats: [ContentFormat] = [.pem, .der]

    static let configuration = CommandConfiguration(
        "csr", "Write a certification request for a key.",
        examples: Examples(
            "keyfob key csr api --cn api.example.org --dns api.example.org --usage server -o api.csr",
            "keyfob key csr api --subject 'CN=api,O=Example' --ip 192.0.2.7 --usage client > api.csr",
            "keyfob key csr web -o web.csr"),
        discussion: """
            The token signs the request; the key stays there. Without names, the request has those of the certificate \
            with the same name. Next: keyfob identity install NAME --cert FILE. If an interrupted renewal has left the \
            key, later renewals neither use nor destroy it. --format also accepts pem and der.
            """)

    /// A digest for the signature.
    enum Hash: String, CaseIterable, ExpressibleByArgument {
        case sha256, sha384, sha512

        fileprivate var digest: Digest {
            switch self {
            case .sha256: .sha256
            case .sha384: .sha384
            case .sha512: .sha512
            }
        }
    }

    @Argument(help: "Name, fingerprint or PKCS#11 URI.", completion: NameCompletion.keys)
    var name: ItemName

    @OptionGroup(title: "Subject and usage") var wishes: CertificateOptions

    @Option(help: "The digest: sha256, sha384 or sha512; the default fits the key.")
    var hash: Hash?

    @Flag(help: "Sign with RSA-PSS instead of PKCS#1 v1.5.")
    var pss = false

    @OptionGroup var file: OutputFileOptions

    @Flag(help: "Write DER to a terminal anyway.")
    var force = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run() throws {
        let (output, form) = try global.output(writing: Self.contentFormats)
        let keychain = try global.openKeychainOrToken()
        let key = try name.key(in: keychain)
        let label = key.label ?? name.text
        let publicKey = try keychain.keys.knownPublicKey(of: key)
        let (subject, extensions) = try asked(for: label, publicKey, in: keychain)
        let scheme = try scheme(for: publicKey)
        let request = try global.dryRun
            ? keychain.keys.trialRequest(for: key, subject: subject, extensions: extensions, scheme: scheme)
            : keychain.keys.certificationRequest(for: key, subject: subject, extensions: extensions, scheme: scheme)
        let members: Members = [
            "name": label, "file": file.path, "subject": request.subject.description,
            "names": request.extensions.subjectAlternativeNames.map(\.description), "signature": scheme.displayName,
            "key_fingerprint": Value.fingerprint(sha256: Digest.sha256(publicKey.subjectPublicKeyInfo)),
            "pem": request.pem,
        ]
        try file.write(
            form == .der ? SecretBytes(request.der) : SecretBytes(utf8: request.pem), members: members,
            sentence: "Wrote \(TerminalSafe.text(file.name)) (\(scheme.displayName)).", force: force,
            isDryRun: global.dryRun, waiting: global.timeout, output)
    }

    private func asked(
        for label: String, _ key: PublicKey, in keychain: Keychain
    ) throws -> (DistinguishedName, CertificateExtensions) {
        guard wishes.isEmpty else { return (try wishes.name(), try wishes.extensions(for: key.algorithm)) }
        guard let certificate = try keychain.find(.identity(label: label)).first?.certificate() else {
            throw UsageError(
                "the certificate needs a subject: give --cn, --dns, --ip, --email, --uri or --subject.", hint: nil)
        }
        return (certificate.subject, certificate.renewableExtensions)
    }

    private func scheme(for key: PublicKey) throws -> SignatureScheme {
        let scheme: SignatureScheme? = switch key.algorithm {
        case .rsa: pss ? .rsaPSS((hash ?? .sha256).digest) : .rsaPKCS1((hash ?? .sha256).digest)
        case .ec: pss ? nil : hash.map { .ecdsa($0.digest) } ?? .preferred(for: key.algorithm)
        default: pss || hash != nil ? nil : .preferred(for: key.algorithm)
        }
        guard let scheme else {
            throw KeychainError(
                .mechanismUnsupported, "a key of kind \(key.algorithm) does not support such signatures.",
                hint: "--pss is for RSA; --hash is for RSA and EC.")
        }
        return scheme
    }
}
