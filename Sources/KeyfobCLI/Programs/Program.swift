import Glibc
import Keyfob
import OpenSSL

/// A program that can use a private key on a token, and what it needs for that.
///
/// `keyfob uri NAME --for PROGRAM` prints or writes the ``Recipe``; with `--check` it starts the program and proves
/// it. To teach keyfob another program, write one type like the ones beside this and name it in `all`.
protocol Program: Sendable {
    /// What `--for` calls it.
    static var name: String { get }
    /// What it is, for the list in an error.
    static var summary: String { get }
    /// Whether it needs the key's certificate as well.
    static var needsCertificate: Bool { get }
    /// Whether it reaches the token through OpenSSL's engine.
    static var usesEngine: Bool { get }
    /// What the certificate must be for; `any` for programs that are clients and servers, or do not care.
    static var usage: CertificateUsage { get }
    /// The command that has a running server read its files anew; `nil` for programs that read them at every start.
    static var reload: String? { get }

    /// The user as whom the workers run that root starts; `nil` for programs that keep the user who starts them.
    static var workersUser: WorkersUser? { get }

    /// What the path of no file may hold: the program puts something else in its place, and knows no way around that.
    static var unspeakable: [String] { get }

    /// How the program reaches the key.
    ///
    /// - Throws: `KeychainError`; `mechanismUnsupported` where this program, as it is installed here, cannot.
    static func recipe(for use: TokenUse) throws -> Recipe
}

extension Program {
    static var needsCertificate: Bool { true }
    static var usage: CertificateUsage { .any }
    static var usesEngine: Bool { false }
    static var reload: String? { nil }
    static var workersUser: WorkersUser? { nil }
    static var unspeakable: [String] { [] }

    /// How a renewal reaches the files, which hold the certificate of the day on which they were written.
    ///
    /// - Parameter keychain: The keychain's name where it is not the default one: no variable tells a hook.
    static func renewal(of label: String, in directory: String, keychain: String?) -> [String] {
        let option = keychain.map { " -k " + ShellWord.quoted($0) } ?? ""
        let options = " --for \(name) \(ShellWord.option("--write", directory))\(option)"
        // Only root may reload a server.
        let isRoot = geteuid() == 0
        let hook = "keyfob uri " + ShellWord.operand(label, with: options)
            + (isRoot ? reload.map { " && " + $0 } ?? "" : "")
        return [
            "the certificate is a copy, which a renewal does not change; let the renewal write it again:",
            "  keyfob identity renew --all\(option) --exec \(ShellWord.quoted(hook))",
        ] + (isRoot ? [] : reload.map { ["then, as root: " + $0] } ?? [])
            + (reload == nil ? ["a renewal with --new-key changes the key's URI too: ask for it again after one"] : [])
    }

    /// The error for a certificate that is not valid now, or not for what the program does with it; `nil` where it is
    /// both.
    static func unsuitability(of use: TokenUse) -> KeychainError? {
        // Who needs none looks at none.
        if needsCertificate, let outdated = use.outdated { return outdated }
        guard let certificate = use.chain.first, let wanted = usage.extendedKeyUsage,
            !certificate.extendedKeyUsage.isEmpty,
            !certificate.extendedKeyUsage.contains(where: { [wanted, .any].contains($0) })
        else { return nil }
        let names = certificate.extendedKeyUsage.map(\.description).joined(separator: ", ")
        return KeychainError(
            .certificateUsageMismatch,
            "certificate \"\(use.label)\" is not for usage \"\(usage)\", which \(name) has for it.",
            hint: "It is for: \(names). Get another one: --usage \(usage)", details: ["certificate": use.label])
    }
}

/// The programs that `--for` knows.
enum Programs {
    static let all: [any Program.Type] = [
        Curl.self, GnuTLS.self, HAProxy.self, HTTPD.self, Java.self, Nginx.self, NSS.self, OpenSSLTool.self,
        PostgreSQL.self, SSH.self,
    ]

    /// The names, for completion and errors.
    static var names: [String] { all.map { $0.name } }

    /// The program of a name. - Throws: `KeychainError.invalidArgument` for one that is not known.
    static func named(_ name: String) throws -> any Program.Type {
        guard let program = all.first(where: { $0.name == name }) else {
            throw KeychainError(
                .invalidArgument, "how to use a token in \(name) is not in this version.",
                hint: "Known: \(names.joined(separator: ", ")). The URI alone: keyfob uri NAME")
        }
        return program
    }
}
