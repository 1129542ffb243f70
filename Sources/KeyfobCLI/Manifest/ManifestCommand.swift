import ArgumentParser
import Glibc
import Keyfob
import KeyfobManifest
import KeyfobPrimitives

/// `keyfob manifest`: writes, checks and describes manifests.
struct ManifestCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "manifest", "Write, check and describe manifests for keyfob apply.",
        examples: Examples(
            "keyfob manifest init -o site.yaml", "keyfob manifest validate site.yaml",
            "keyfob manifest export > site.yaml"),
        subcommands: [ManifestInit.self, ManifestValidate.self, ManifestSchema.self, ManifestExportCommand.self])
}

/// `keyfob manifest init`: writes a manifest to begin with.
struct ManifestInit: ParsableCommand {
    static let configuration = CommandConfiguration(
        "init", "Write a manifest to begin with, whose comments explain each member.",
        examples: Examples(
            "keyfob manifest init -o site.yaml", "keyfob manifest init --keychain web -o web.yaml",
            "keyfob manifest init > site.yaml"))

    @OptionGroup var file: OutputFileOptions
    @Flag(help: "Replace an existing file.") var force = false
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run() throws {
        let output = try global.output()
        let text = ManifestExample.text(keychain: global.keychain ?? "site")
        if !force, let path = file.path, path != "-", OpenFile(path: path, flags: O_RDONLY) != nil {
            throw KeychainError(
                .refused, "\(TerminalSafe.text(path)) exists; nothing was written.", hint: "Replace it: --force",
                details: ["file": path])
        }
        try file.write(
            SecretBytes(utf8: text),
            members: ["file": file.path, "manifest": text],
            sentence: "Wrote \(TerminalSafe.text(file.name)). Next: keyfob plan "
                + ShellWord.operand(file.path ?? "FILE", with: ""),
            isDryRun: global.dryRun, waiting: global.timeout, output)
    }
}

/// `keyfob manifest validate`: checks manifests without a keychain.
struct ManifestValidate: OutputCommand {
    static let configuration = CommandConfiguration(
        "validate", "Check manifests; no keychain is opened and no secret is read.",
        examples: Examples(
            "keyfob manifest validate site.yaml", "keyfob manifest validate site.d --json",
            "keyfob manifest validate base.yaml site.yaml"))

    @OptionGroup var files: ManifestFiles
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ output: Output) throws {
        let manifest = try files.manifest(global)
        try output.emit(
            Document([
                "valid": true, "keychain": manifest.keychain, "secrets": manifest.secrets.count,
                "keys": manifest.keys.count, "identities": manifest.identities.count,
                "certificates": manifest.certificates.count, "trust": manifest.trust.count,
            ]),
            sentence: "The manifest for keychain \"\(TerminalSafe.text(manifest.keychain))\" is valid.")
    }
}

/// `keyfob manifest schema`: prints the JSON Schema of manifests.
struct ManifestSchema: ParsableCommand {
    static let configuration = CommandConfiguration(
        "schema", "Print the JSON Schema of manifests, for editors.",
        examples: Examples(
            "keyfob manifest schema -o keyfob.schema.json", "keyfob manifest schema > keyfob.schema.json",
            "keyfob manifest schema --quiet"),
        discussion: """
            An editor with a YAML language server uses the schema if the first line of the manifest is \
            # yaml-language-server: $schema=keyfob.schema.json
            """)

    @OptionGroup var file: OutputFileOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run() throws {
        // The schema is JSON itself, so each format prints it.
        let output = Output(format: .table, colour: .none, isQuiet: global.quiet, verbosity: global.verbose)
        let text = Value(JSONSchema.manifest).json + "\n"
        try file.write(
            SecretBytes(utf8: text), members: ["file": file.path],
            sentence: "Wrote \(TerminalSafe.text(file.name)).", isDryRun: global.dryRun, waiting: global.timeout, output
        )
    }
}

/// `keyfob manifest export`: writes the manifest of a keychain.
struct ManifestExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "export", "Write the manifest of a keychain that was made by hand.",
        examples: Examples(
            "keyfob manifest export -o site.yaml", "keyfob manifest export --keychain site > site.yaml",
            "keyfob manifest export --json"),
        discussion: """
            The plan of the manifest is empty. It contains no secret: where one is missing, its value comes from a \
            variable of the environment. Commands of issuers are written as they were given to keyfob.
            """)

    @OptionGroup var file: OutputFileOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run() throws {
        let output = try global.output()
        let keychain = try global.openKeychain()
        let text = try ManifestExport.text(of: keychain)
        try file.write(
            SecretBytes(utf8: text),
            members: ["file": file.path, "keychain": keychain.name, "manifest": text],
            sentence: "Wrote \(TerminalSafe.text(file.name)).", isDryRun: global.dryRun, waiting: global.timeout, output
        )
    }
}

extension Value {
    /// The value of a schema.
    init(_ schema: JSONSchema.Value) {
        self =
            switch schema {
            case .text(let text): .string(text)
            case .number(let number): .integer(Int64(number))
            case .flag(let flag): .boolean(flag)
            case .list(let elements): .array(elements.map { Value($0) })
            case .object(let members): .object(Members(members.map { .init(name: $0.0, value: Value($0.1)) }))
            }
    }
}
