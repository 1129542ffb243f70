import ArgumentParser
import Foundation
import Glibc
import Keyfob
import KeyfobPrimitives
import KeyfobOpenSSL
import PKCS11

/// `keyfob uri`: prints how other programs reach a key or certificate.
struct URICommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "uri", "Print the PKCS#11 URI with which other programs use a key or certificate.",
        examples: Examples(
            "keyfob uri web --for nginx --write /etc/nginx/tls", "keyfob uri web --for curl --check",
            "keyfob uri web --env      # in a shell: eval \"$(…)\""),
        discussion: """
            For an identity, it is the URI of the private key. The URI never contains the PIN. If the PIN is in a file, \
            the URI names the file; if the file contains more than the PIN, such as a newline, no URI is printed. --env \
            prints the variables that programs need to find the token. --for prints the configuration of a program, for \
            the software installed here; --check starts the program and makes it use the key.
            Programs: \(Programs.names.joined(separator: ", ")).
            """)

    /// The type of the object.
    enum ObjectType: String, CaseIterable, ExpressibleByArgument { case `private`, `public`, cert }

    @Argument(help: "Name, fingerprint, common name or PKCS#11 URI of an identity, key or certificate.")
    var name: ItemName?

    @Option(help: "Another object of the same identity: private, public or cert.")
    var type: ObjectType?

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("Print the configuration with which a program uses the key.", valueName: "program"),
        completion: .list(Programs.names))
    var program: String?

    @Option(
        name: .customLong("write"),
        help: ArgumentHelp("With --for, write the files that the program needs.", valueName: "directory"),
        completion: .directory)
    var destination: String?

    @Flag(help: "With --for, start the program and check that it uses the key.")
    var check = false

    @Flag(name: .customLong("env"), help: "Print the variables that programs need, for eval in a shell.")
    var environment = false

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        guard name != nil || environment else { throw ValidationError("Name an identity, key or certificate.") }
        guard !environment || program == nil else { throw ValidationError("--env and --for exclude each other.") }
        guard type == nil || program == nil else { throw ValidationError("--type and --for exclude each other.") }
        guard destination != "" else { throw ValidationError("--write needs a directory.") }
        guard program != nil || (destination == nil && !check) else {
            throw ValidationError("--write and --check require --for PROGRAM.")
        }
    }

    func run(_ output: Output) throws {
        let program = try program.map { try Programs.named($0) }
        let keychain = try global.openKeychainOrToken()
        if environment {
            if let name { _ = try find(name, keychain) }
            return try printEnvironment(keychain, output)
        }
        guard let name else { return }
        if let program { try requireToken(of: keychain, for: program) }
        let (uri, label, identity) = try find(name, keychain)
        guard let program else {
            // The URI of a certificate or public key contains no PIN source.
            if uri.type == .privateKey || uri.type == .secretKey, let obstacle = keychain.objects.pinFileObstacle() {
                throw obstacle
            }
            let document = Document([
                "name": label, "keychain": keychain.nameInDocuments, "token": keychain.tokenLabel,
                "uri": uri.description,
            ])
            guard output.format.isMachineReadable else { return try StandardOutput.write(uri.description + "\n") }
            return try output.emit(document, sentence: "")
        }
        let subject = try keyOf(identity, uri, label, program, keychain)
        // Older versions are not renewed, and a key without a certificate cannot be.
        let isRenewed = keychain.hasVault && identity.map { $0.nameOfVersion == nil } ?? false
        let isDefault = try Keychains().defaultName() == keychain.name
        let renewal = program.renewal(of: label, in: subject.directory, keychain: isDefault ? nil : keychain.name)
        try present(program, subject, renewal: isRenewed ? renewal : [], output)
    }

    /// Refuses a program that would damage the token or cannot use it.
    ///
    /// - Throws: `KeychainError.mechanismUnsupported`.
    private func requireToken(of keychain: Keychain, for program: any Program.Type) throws {
        let module = try keychain.objects.slot().module
        let profile = module.profile(of: try keychain.tokenInfo())
        let obstacle = program.obstacle(on: profile, token: keychain.tokenLabel, module: module.path)
        if let obstacle { throw obstacle }
    }

    /// The data for `program`: the key, and the certificate chain.
    private func keyOf(
        _ identity: Identity?, _ uri: PKCS11URI, _ label: String, _ program: any Program.Type, _ keychain: Keychain
    ) throws -> TokenUse {
        let chain: [Certificate]
        let root: Certificate?
        let publicKey: PublicKey
        if let identity {
            let found = try keychain.certificates.chain(of: identity.certificate())
            (chain, root) = (found.withoutRoot, found.isComplete ? found.certificates.last : nil)
            publicKey = try identity.certificate().publicKey
        } else {
            guard uri.type != .certificate else {
                throw KeychainError(
                    .itemNotFound,
                    "certificate \"\(label)\" has no private key in the keychain, and \(program.name) needs one.",
                    hint: "Import both: "
                        + Wording(keychain: keychain.name).keyfob("identity import KEYFILE CERTFILE"),
                    details: ["certificate": label])
            }
            guard uri.type != .publicKey else {
                throw KeychainError(
                    .itemNotFound,
                    "the token has only the public half of key \"\(label)\", and \(program.name) needs the private "
                        + "one.",
                    remedies: [Remedy("All keys", .listKeys())], details: ["key": label])
            }
            guard !program.needsCertificate, let name else {
                throw KeychainError(
                    .itemNotFound,
                    "key \"\(label)\" has no certificate in the keychain, and \(program.name) needs one.",
                    remedies: [Remedy("Add it", .importCertificate)])
            }
            let key = try keychain.keys.knownPublicKey(of: name.key(in: keychain))
            (chain, root, publicKey) = ([], nil, key)
        }
        // Programs that do not use the engine are configured to read only the first line of the file.
        if program.usesEngine, let obstacle = keychain.objects.pinFileObstacle() { throw obstacle }
        let edwardsKeys = !program.usesEngine ? [] : try keychain.find(.keys.keyClass(.private))
            .filter { $0.keyType == .ed25519 }.map { $0.label ?? "" }
        let older = try keychain.certificates.publicCertificates().filter {
            $0.nameOfVersion == label && $0.attributes[.publicKeyHash]?.bytes == publicKey.identifier
        }
        let slot = try keychain.objects.slot()
        let module = try ProgramModule(of: keychain)
        let certificateLabel = try identity.flatMap { try keychain.objects.certificateURI(of: $0).object }
        let use = TokenUse(
            label: label, certificateLabel: certificateLabel ?? label, uri: uri, module: module.path,
            slotID: slot.id, tokenLabel: keychain.tokenLabel,
            softHSMConfiguration: Self.softHSMConfiguration(of: keychain), pinFile: keychain.objects.pinFile,
            publicKey: publicKey, chain: chain, edwardsKeys: edwardsKeys, olderCertificates: older.compactMap(\.label),
            outdated: try identity.flatMap { try keychain.identities.validityError(of: $0, on: Date()) }, root: root,
            directory: URL(fileURLWithPath: destination ?? ".").standardizedFileURL.path,
            profile: slot.module.profile(of: try keychain.tokenInfo()), isThroughProxy: module.isProxy)
        try checkPaths(of: use, program)
        return use
    }

    /// Refuses paths with control characters.
    ///
    /// httpd and systemd end a line at a line break, even within quotes. In printed comments, the text after a line
    /// break would be a command.
    ///
    /// - Throws: `KeychainError.invalidArgument`.
    private func checkPaths(of use: TokenUse, _ program: any Program.Type) throws {
        for path in [use.directory, use.module, use.softHSMConfiguration, use.pinFile].compactMap(\.self)
        where path.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
            throw KeychainError(
                .invalidArgument,
                "the path \"\(path)\" contains a line break or another control character, which \(program.name)'s "
                    + "configuration cannot express.",
                hint: "Choose another directory: --write DIRECTORY", details: ["path": path])
        }
        for word in program.unspeakable where use.directory.utf8.contains(word.utf8) {
            throw KeychainError(
                .invalidArgument,
                "the path \"\(use.directory)\" contains \"\(word)\", which \(program.name) would interpret.",
                hint: "Choose another directory: --write DIRECTORY", details: ["path": use.directory])
        }
    }

    /// Writes, checks and prints the recipe, as the options require.
    private func present(
        _ program: any Program.Type, _ subject: TokenUse, renewal: [String], _ output: Output
    ) throws {
        // Checked first: the error below suggests another keychain, which would not help if the key itself is an
        // Ed25519 key.
        if program.usesEngine { try subject.requireNoEdwardsKey("OpenSSL's pkcs11 engine") }
        var recipe = try program.recipe(for: subject)
        if recipe.files.contains(subject.fullChain) { recipe.notes += renewal }
        if let unsuitability = program.unsuitability(of: subject) {
            // The user's peers may not check the certificate, but the program that the check starts does.
            guard !check else { throw unsuitability }
            recipe.notes.append(unsuitability.message)
        }
        let workers = program.workersUser?.obstacle(on: subject, program: program.name)
        let warnings = workers.map { [$0.message] + Wording.lines(of: $0) } ?? []
        if check, program.usesEngine, subject.pinFile == nil {
            throw KeychainError(
                .refused,
                "\(program.name) cannot be checked here: the PIN is not in a file, and the check cannot ask for it.",
                hint: "Without --check, the configuration is printed anyway.")
        }
        if program.usesEngine, let obstacle = OpenSSLEngine.obstacle(on: subject) {
            guard !check else { throw obstacle }
            recipe.notes += [obstacle.message] + Wording.lines(of: obstacle)
        }
        var action = Effect.Action.none
        if destination != nil, global.dryRun {
            action = try RecipeFiles.action(of: recipe.files, in: subject.directory)
        } else if destination != nil {
            // The directory is readable for all users, like its files: they contain no secrets, and servers run as
            // other users.
            try PublicDirectory.make(at: URL(fileURLWithPath: subject.directory, isDirectory: true))
            action = try RecipeFiles.write(recipe.files, to: subject.directory, waiting: global.timeout)
        }
        var proof: String?
        if check {
            let scratch = try ProgramCheck()
            var there = subject
            there.directory = scratch.directory
            do {
                proof = try scratch.run(
                    program.recipe(for: there), program: program.name,
                    deadline: .after(global.timeout.map(\.duration) ?? .seconds(120)))
            } catch let error as KeychainError where error.code == .failed && workers != nil {
                throw KeychainError(
                    .failed, "\(error.message) \(warnings[0])", hint: warnings.dropFirst().joined(separator: "\n"),
                    details: error.details, cause: error)
            }
        }
        let document = Document(
            global.effect(action),
            [
                "program": program.name, "uri": subject.uri.description, "title": recipe.title,
                "environment": Members(recipe.environment), "commands": recipe.lines,
                "notes": warnings + recipe.notes,
                "files": recipe.files.map { file -> Members in
                    let isWritten = destination != nil && !global.dryRun
                    return ["path": subject.path(file), "written": isWritten, "content": file.content]
                },
                "check": proof,
            ])
        guard output.format.isMachineReadable else {
            let text = warnings.map { "# " + TerminalSafe.text($0) + "\n" }.joined() + text(recipe, subject, proof)
            guard global.effect(action).isMade else { return try StandardOutput.write(text) }
            return try Output.afterChange { try StandardOutput.write(text) }
        }
        try output.emit(document, sentence: "")
    }

    private func text(_ recipe: Recipe, _ subject: TokenUse, _ proof: String?) -> String {
        var text = ""
        let names = recipe.files.map(\.name).joined(separator: ", ")
        let pronoun = recipe.files.count == 1 ? "It contains" : "They contain"
        if destination != nil, global.dryRun {
            text += "Would write \(names). \(pronoun) no secrets. Dry run: no file was written.\n"
        } else if destination != nil {
            text += "Wrote \(names). \(pronoun) no secrets.\n"
        } else if !recipe.files.isEmpty {
            text += "# files: \(names); write them with --write DIRECTORY\n"
        }
        text += recipe.text
        if let proof { text += "# checked: \(proof)\n" }
        return text
    }

    /// Finds the named object: an identity, else a key, else a certificate. Then applies `--type`.
    private func find(_ name: ItemName, _ keychain: Keychain) throws -> (
        uri: PKCS11URI, label: String, identity: Identity?
    ) {
        let (item, key, identity) = try named(name, keychain)
        var (uri, label) = (try keychain.objects.uri(of: item), item.label ?? name.text)
        switch type {
        case .private:
            guard uri.type == .privateKey else { throw Self.noKey("private", label, keychain) }
        case .public:
            guard let hash = key?.publicKeyHash,
                let key = try keychain.find(.keys.keyClass(.public)).first(where: { $0.publicKeyHash == hash })
            else { throw Self.noKey("public", label, keychain) }
            uri = try keychain.objects.uri(of: key)
        case .cert:
            if let identity {
                uri = try keychain.objects.certificateURI(of: identity)
            } else if uri.type != .certificate {
                let certificate = try name.certificate(in: keychain)
                (uri, label) = (try keychain.objects.uri(of: certificate), certificate.label ?? name.text)
            }
        case nil: break
        }
        return (uri, label, identity)
    }

    /// The named object, its key, and the identity if it is one.
    ///
    /// - Throws: `KeychainError.itemNotFound` of the search for an identity if there is no such object.
    private func named(
        _ name: ItemName, _ keychain: Keychain
    ) throws -> (item: any KeychainItem, key: KeyItem?, identity: Identity?) {
        let missing: KeychainError
        do {
            let identity = try name.identity(in: keychain)
            return (identity, identity.key, identity)
        } catch let error as KeychainError where error.code == .itemNotFound { missing = error }
        do {
            let key = try name.key(in: keychain)
            return (key, key, nil)
        } catch let error as KeychainError where error.code == .itemNotFound {}
        do {
            return (try name.certificate(in: keychain), nil, nil)
        } catch let error as KeychainError where error.code == .itemNotFound { throw missing }
    }

    private static func noKey(_ half: String, _ label: String, _ keychain: Keychain) -> KeychainError {
        KeychainError(
            .itemNotFound, "\"\(label)\" has no \(half) key \(keychain.place).",
            remedies: [Remedy("All keys", .listKeys())], details: keychain.details(["name": label]))
    }

    private static func softHSMConfiguration(of keychain: Keychain) -> String? {
        keychain.configuration.module == .softHSM ? Keychains().softHSM.configuration.path : nil
    }

    private func printEnvironment(_ keychain: Keychain, _ output: Output) throws {
        let variables = TokenUse.variables(
            module: try ProgramModule(of: keychain).path, softHSMConfiguration: Self.softHSMConfiguration(of: keychain))
        guard output.format.isMachineReadable else {
            return try StandardOutput.write(variables.map { "export \($0.0)=\(ShellWord.quoted($0.1))\n" }.joined())
        }
        try output.emit(Document(Members(variables)), sentence: "")
    }
}
