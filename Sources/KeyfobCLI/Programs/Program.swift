import Glibc
import Keyfob
import KeyfobOpenSSL

/// A program that can use a private key on a token, and its requirements.
///
/// `keyfob uri NAME --for PROGRAM` prints or writes the ``Recipe``. With `--check` it starts the program and checks
/// that it uses the key. To support another program, add a type like the existing ones and list it in `Programs.all`.
protocol Program: Sendable {
    /// The name for `--for`.
    static var name: String { get }
    /// A description for the list in an error.
    static var summary: String { get }
    /// Whether the program also needs the certificate of the key.
    static var needsCertificate: Bool { get }
    /// Whether the program uses the token through OpenSSL's engine.
    static var usesEngine: Bool { get }
    /// Whether the program forks after it has logged in to the token, as servers with workers do.
    static var forksAfterLogin: Bool { get }
    /// The required usage of the certificate; `any` for programs that are client and server, or do not check it.
    static var usage: CertificateUsage { get }
    /// The command that makes a running server reload its files; `nil` for programs that read them at every start.
    static var reload: String? { get }

    /// The user of the workers if root starts the program; `nil` for programs that do not change the user.
    static var workersUser: WorkersUser? { get }

    /// Character sequences that paths must not contain, because the program expands them and they cannot be escaped.
    static var unspeakable: [String] { get }

    /// Returns the configuration with which the program uses the key.
    ///
    /// - Throws: `KeychainError`; `mechanismUnsupported` if the program, as installed here, cannot use the key.
    static func recipe(for use: TokenUse) throws -> Recipe
}

extension Program {
    static var needsCertificate: Bool { true }
    static var usage: CertificateUsage { .any }
    static var usesEngine: Bool { false }
    static var forksAfterLogin: Bool { false }
    static var reload: String? { nil }
    static var workersUser: WorkersUser? { nil }
    static var unspeakable: [String] { [] }

    /// Explains how to update the files after a renewal, because they contain a copy of the certificate.
    ///
    /// - Parameter keychain: The name of the keychain, if it is not the default one. A hook gets no variable that names
    ///   it.
    static func renewal(of label: String, in directory: String, keychain: String?) -> [String] {
        let option = keychain.map { " -k " + ShellWord.quoted($0) } ?? ""
        let options = " --for \(name) \(ShellWord.option("--write", directory))\(option)"
        // Only root may reload a server.
        let isRoot = geteuid() == 0
        let hook = "keyfob uri " + ShellWord.operand(label, with: options)
            + (isRoot ? reload.map { " && " + $0 } ?? "" : "")
        return [
            "the certificate is a copy that a renewal does not change; to have the renewal write it:",
            "  keyfob identity renew --all\(option) --exec \(ShellWord.quoted(hook))",
        ] + (isRoot ? [] : reload.map { ["then, as root: " + $0] } ?? [])
            + (reload == nil ? ["a renewal with --new-key also changes the key's URI: print it again afterwards"] : [])
    }

    /// The error for a certificate that is not valid now, or not for the usage of the program; `nil` for a suitable
    /// one.
    static func unsuitability(of use: TokenUse) -> KeychainError? {
        // Programs that do not need the certificate do not check it.
        if needsCertificate, let outdated = use.outdated { return outdated }
        guard let certificate = use.chain.first, let wanted = usage.extendedKeyUsage,
            !certificate.extendedKeyUsage.isEmpty,
            !certificate.extendedKeyUsage.contains(where: { [wanted, .any].contains($0) })
        else { return nil }
        let names = certificate.extendedKeyUsage.map(\.description).joined(separator: ", ")
        return KeychainError(
            .certificateUsageMismatch,
            "certificate \"\(use.label)\" is not valid for usage \"\(usage)\", which \(name) needs.",
            hint: "It is valid for: \(names). Get another one: --usage \(usage)", details: ["certificate": use.label])
    }
}

/// The programs that `--for` supports.
enum Programs {
    static let all: [any Program.Type] = [
        Curl.self, GnuTLS.self, HAProxy.self, HTTPD.self, Java.self, Nginx.self, NSS.self, OpenSSLTool.self,
        PostgreSQL.self, SSH.self,
    ]

    /// The names, for completion and errors.
    static var names: [String] { all.map { $0.name } }

    /// Returns the program with the given name.
    ///
    /// - Throws: `KeychainError.invalidArgument` for an unknown name.
    static func named(_ name: String) throws -> any Program.Type {
        guard let program = all.first(where: { $0.name == name }) else {
            throw KeychainError(
                .invalidArgument, "this version cannot configure \(name).",
                remedies: [
                    Remedy("Known programs: \(names.joined(separator: ", "))."),
                    Remedy("The URI alone", .showURI(nil)),
                ])
        }
        return program
    }
}
