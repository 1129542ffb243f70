import ArgumentParser
import Foundation
import Glibc
import Keyfob
import OpenSSL
import PKCS11

/// `keyfob uri`: how other programs reach a key or certificate.
struct URICommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "uri", "Print the PKCS#11 URI by which other programs reach a key or certificate.",
        examples: Examples(
            "keyfob uri web", "keyfob uri web --for openssl", "keyfob uri web --env      # in a shell: eval \"$(…)\""),
        discussion: """
            Of an identity it is the private key's. The URI never holds the PIN; where the PIN lies in a file, it names \
            the file. --env prints the variables that programs need to find the token.
            """)

    /// Programs whose use is known.
    enum Program: String, CaseIterable { case curl, openssl }

    /// Which object is meant.
    enum ObjectType: String, CaseIterable, ExpressibleByArgument { case `private`, `public`, cert }

    @Argument(help: "Name, fingerprint, common name or PKCS#11 URI of an identity, key or certificate.")
    var name: ItemName?

    @Option(help: "Another object of the same identity: private, public or cert.")
    var type: ObjectType?

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("Print the commands for a program: curl or openssl.", valueName: "program"))
    var program: String?

    @Flag(name: .customLong("env"), help: "Print the variables that programs need, for eval in a shell.")
    var environment = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        guard name != nil || environment else { throw ValidationError("Name an identity, key or certificate.") }
        guard !environment || program == nil else { throw ValidationError("--env and --for exclude each other.") }
    }

    func run() throws {
        let output = try global.output()
        let program = try program.map { text -> Program in
            guard let program = Program(rawValue: text) else {
                throw KeychainError(
                    .invalidArgument, "how to use a token in \(text) is not in this version.",
                    hint:
                        "Known: \(Program.allCases.map(\.rawValue).joined(separator: ", ")). The URI alone: keyfob uri NAME"
                )
            }
            return program
        }
        let keychain = try global.openKeychain()
        if environment {
            if let name { _ = try find(name, keychain) }
            return try printEnvironment(keychain, output)
        }
        guard let name else { return }
        let (uri, label, identity) = try find(name, keychain)
        guard let program else {
            let document = Document([
                "name": .string(label), "keychain": .string(keychain.name), "token": .string(keychain.tokenLabel),
                "uri": .string(uri.description),
            ])
            guard output.format.isMachineReadable else { return try StandardOutput.write(uri.description + "\n") }
            return try output.emit(document, sentence: "")
        }
        guard let identity else {
            throw KeychainError(
                .itemNotFound,
                "key \"\(label)\" has no certificate in the keychain, and \(program.rawValue) needs one.",
                hint: "Add it: keyfob cert import FILE")
        }
        guard let engine = OpenSSLEngine.path else {
            throw KeychainError(
                .moduleNotLoaded,
                "OpenSSL's pkcs11 engine is not installed, by which \(program.rawValue) reaches tokens here.",
                hint: "Install it: apt install libengine-pkcs11-openssl")
        }
        let hasAuthorities = try keychain.chain(of: identity.certificate()).withoutRoot.count > 1
        let lines = try commands(program, uri, label, hasAuthorities: hasAuthorities, engine: engine, keychain)
        let document = Document([
            "program": .string(program.rawValue), "uri": .string(uri.description), "engine": .string(engine),
            "commands": .array(lines.map { .string($0) }),
        ])
        guard output.format.isMachineReadable else {
            return try StandardOutput.write(lines.map { $0 + "\n" }.joined())
        }
        try output.emit(document, sentence: "")
    }

    /// The object that is meant: an identity's before a key's before a certificate's.
    private func find(_ name: ItemName, _ keychain: Keychain) throws -> (
        uri: PKCS11URI, label: String, identity: Identity?
    ) {
        var found: Identity?
        var uri: PKCS11URI
        let label: String
        do {
            let identity = try name.identity(in: keychain)
            uri = try keychain.uri(of: identity)
            label = identity.label ?? name.text
            found = identity
        } catch let error as KeychainError where error.code == .itemNotFound {
            do {
                let key = try name.key(in: keychain)
                (uri, label) = (try keychain.uri(of: key), key.label ?? name.text)
            } catch let keyError as KeychainError where keyError.code == .itemNotFound {
                do {
                    let certificate = try name.certificate(in: keychain)
                    (uri, label) = (try keychain.uri(of: certificate), certificate.label ?? name.text)
                } catch let last as KeychainError where last.code == .itemNotFound {
                    throw error
                }
            }
        }
        switch type {
        case .private: uri.type = .privateKey
        case .public, .cert:
            uri.type = type == .cert ? .certificate : .publicKey
            uri.pinSource = nil
        case nil: break
        }
        return (uri, label, found)
    }

    private func variables(_ keychain: Keychain) throws -> [(String, String)] {
        let module: String
        switch keychain.configuration.module {
        case .path(let path): module = path
        case .softHSM, .registered: module = try keychain.slot().module.path
        }
        guard keychain.configuration.module == .softHSM else { return [("PKCS11_MODULE_PATH", module)] }
        return [("SOFTHSM2_CONF", Keychains().softHSM.configuration.path), ("PKCS11_MODULE_PATH", module)]
    }

    private func printEnvironment(_ keychain: Keychain, _ output: Output) throws {
        let variables = try variables(keychain)
        guard output.format.isMachineReadable else {
            return try StandardOutput.write(variables.map { "export \($0.0)=\(ShellWord.quoted($0.1))\n" }.joined())
        }
        try output.emit(Document(members: variables.map { .init($0.0, .string($0.1)) }), sentence: "")
    }

    private func commands(
        _ program: Program, _ uri: PKCS11URI, _ label: String, hasAuthorities: Bool, engine: String,
        _ keychain: Keychain
    ) throws -> [String] {
        let stem = label.map { $0.isLetter || $0.isNumber || "-_.".contains($0) ? String($0) : "_" }.joined()
        let word = ShellWord.quoted(stem + ".fullchain.pem")
        let key = ShellWord.quoted(uri.description)
        var lines = ["# \(program.rawValue) reaches the token through OpenSSL's engine \(engine)"]
        lines += try variables(keychain).map { "export \($0.0)=\(ShellWord.quoted($0.1))" }
        let selection = global.keychainName.map { " -k \(ShellWord.quoted($0))" } ?? ""
        let export = "keyfob cert export \(ShellWord.quoted(label))\(selection) --chain"
        lines.append("\(export) -o \(word)")
        if keychain.pinFile == nil {
            lines.append(
                "# the PIN is not in a file: OpenSSL will ask for the token's PIN, not for the keychain's passphrase")
        }
        switch program {
        case .curl: lines.append("curl --engine pkcs11 --cert \(word) --key-type ENG --key \(key) https://HOST/")
        case .openssl:
            // OpenSSL takes only the first certificate of -cert; the others come from a file of their own.
            var certificates = "-cert \(word)"
            if hasAuthorities {
                let above = ShellWord.quoted(stem + ".above.pem")
                lines.append("\(export) --no-leaf -o \(above)")
                certificates += " -cert_chain \(above)"
            }
            lines.append(
                "openssl s_client -engine pkcs11 -keyform engine -key \(key) \(certificates) -connect HOST:443")
            lines.append(
                "openssl s_server -engine pkcs11 -keyform engine -key \(key) \(certificates) -accept 4433 -www")
        }
        return lines
    }
}

/// The engine through which OpenSSL before 3.2 reaches PKCS#11 tokens: libp11's.
enum OpenSSLEngine {
    /// Where it is installed; `nil` where it is not.
    static var path: String? {
        let directories =
            (Environment.nonEmpty("OPENSSL_ENGINES").map { [$0] } ?? []) + [
                "/usr/lib/x86_64-linux-gnu/engines-3", "/usr/lib/aarch64-linux-gnu/engines-3",
                "/usr/lib/arm-linux-gnueabihf/engines-3", "/usr/lib/riscv64-linux-gnu/engines-3",
                "/usr/lib64/engines-3",
                "/usr/lib/engines-3", "/usr/local/lib/engines-3", "/usr/local/lib64/engines-3",
            ]
        return directories.map { $0 + "/pkcs11.so" }.first { unsafe access($0, R_OK) == 0 }
    }
}
