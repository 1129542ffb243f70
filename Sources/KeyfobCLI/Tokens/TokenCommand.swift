import ArgumentParser
import Foundation
import Keyfob
import KeyfobPrimitives
import PKCS11

/// `keyfob token`: the tokens of this machine.
struct TokenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "token", "The tokens of this machine.",
        examples: Examples("keyfob token ls", "keyfob token show --objects", "keyfob token mechanisms login"),
        subcommands: [
            TokenListCommand.self, TokenShowCommand.self, TokenMechanismsCommand.self, TokenInitCommand.self,
            TokenPINCommand.self, TokenRenameCommand.self, TokenRemoveCommand.self,
        ])
}

/// `keyfob token ls`: lists the tokens.
struct TokenListCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "ls", "List the tokens: Keyfob's own, and those of the modules that p11-kit knows.",
        examples: Examples("keyfob token ls", "keyfob token ls --json", "keyfob token ls --all"),
        discussion: """
            --token lists only the tokens that it names, --keychain only the token of that keychain; the variables for \
            these options are ignored. KEYFOB_MODULE, a path or a name, replaces the modules that p11-kit knows.
            """,
        aliases: ["list"])

    @Flag(help: "Also trust stores, and slots whose token is not initialised.")
    var all = false

    @OptionGroup(title: "Module") var location: ModuleOptions

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ output: Output) throws {
        // Keyfob's own tokens come first. The order of slots, in which modules list them, has no meaning for the user.
        let entries = try wanted().sorted {
            ($0.isOurs ? 0 : 1, $0.label, $0.serial) < ($1.isOurs ? 0 : 1, $1.label, $1.serial)
        }
        let document = Document([
            "tokens": entries.map { entry -> Members in
                [
                    "label": entry.label, "serial": entry.serial, "manufacturer": entry.manufacturer,
                    "model": entry.model, "module": entry.module, "state": entry.state, "own": entry.isOurs,
                    "keychain_names": entry.keychains,
                ]
            },
        ])
        var table = Table([
            .init("TOKEN"), .init("SERIAL"), .init("MODEL", mayShrink: true), .init("MODULE", mayShrink: true),
            .init("KEYCHAINS", mayShrink: true), .init("STATE"),
        ])
        for entry in entries {
            table.add([
                .init(entry.label), .init(entry.serial), .init(entry.model), .init(entry.module),
                .init(entry.keychains.joined(separator: ", ")),
                .init(entry.state, entry.state == "ok" ? .good : .warning),
            ])
        }
        try output.emit(document, table: table)
        guard output.isForPeople else { return }
        for line in try UnusedTokens.lines(serials: entries.filter(\.isOurs).map(\.serial)) { output.warn(line) }
    }

    /// The tokens that the options select; without options, all tokens.
    ///
    /// - Throws: `KeychainError.tokenAbsent` if no token matches; `noSuchKeychain`.
    private func wanted() throws -> [TokenInventory.Entry] {
        if let keychain = global.keychain {
            if let token = global.token { try GlobalOptions.require(keychain, onToken: token) }
            return try [TokenInventory.entry(of: Keychains().configuration(keychain), includesAll: all)]
        }
        guard let token = global.token else {
            return try TokenInventory(
                includesAll: all, module: location.module ?? global.modulePath, parameters: location.moduleParameters
            ).entries
        }
        let module = location.module ?? TokenChoice.moduleName(in: token) ?? global.modulePath
        let inventory = try TokenInventory(
            includesAll: all, module: module, parameters: location.moduleParameters)
        let found = try inventory.matches(token)
        // If there is none, `entry(_:)` throws an error that lists the present tokens.
        return try found.isEmpty ? [inventory.entry(token)] : found
    }
}

/// `keyfob token show`: shows one token and its objects.
struct TokenShowCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "show", "Show a token and its contents.",
        examples: Examples(
            "keyfob token show", "keyfob token show login --objects", "keyfob token show --objects --json"),
        discussion: """
            Without a name, it is the keychain's token. Objects that need a login are shown for the tokens of \
            keychains, and for other tokens with --pin-source. Other tokens are searched in the module of the URI, else \
            in that of KEYFOB_MODULE, else in the modules that p11-kit knows.
            """)

    @Argument(help: "Label or PKCS#11 URI of the token.", completion: NameCompletion.tokens)
    var name: String?

    @Flag(help: "List its objects.")
    var objects = false

    @OptionGroup(title: "Module") var location: ModuleOptions

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ output: Output) throws {
        let token = try SelectedToken(name, global, location)
        let info = try token.info()
        let module = try token.asking { try token.slot.module.info() }
        let contents = objects ? try contents(of: token, info) : nil
        let keychains = try token.keychains(info)
        let pin = try token.pinState(info)
        try output.emit(
            document(token, info, module, pin, keychains, contents),
            text: text(token, info, module, pin, keychains, contents, output.colour))
    }

    private func contents(of token: SelectedToken, _ info: TokenInfo) throws -> TokenContents {
        if let keychain = token.keychain { return try keychain.objects.contents() }
        let source = try global.explicitPINSource
        let pin = try source?.read(.token(info.label), from: global.pinEnvironment(noInput: false))
        return try TokenContents(of: token.slot, pin: pin, storedIn: source?.isInteractive == true ? nil : source)
    }

    private func document(
        _ token: SelectedToken, _ info: TokenInfo, _ module: ModuleInfo, _ pin: String, _ keychains: [String],
        _ contents: TokenContents?
    ) -> Document {
        let members: Members = [
            "label": info.label, "serial": info.serialNumber, "manufacturer": info.manufacturer, "model": info.model,
            "module": token.module, "module_path": token.slot.module.path,
            "module_version": module.libraryVersion.description, "cryptoki": module.cryptokiVersion.description,
            "uri": info.uri.description, "pin": pin, "write_protected": info.flags.contains(.writeProtected),
            "keychain": token.keychain?.name, "keychain_names": keychains, "debris": contents?.debris,
            "objects": contents?.objects.map { Self.members(of: $0) },
        ]
        return Document(members, listName: "objects")
    }

    private static func members(of object: TokenContents.Object) -> Members {
        [
            "class": KeyPhrases.half(object), "label": object.label, "id": object.id.hexadecimal,
            "type": KeyPhrases.kind(object), "private": object.isPrivate, "extractable": object.isExtractable,
            "is_wrapping_key": object.isWrappingKey, "keychain": object.keychain,
        ]
    }

    private func text(
        _ token: SelectedToken, _ info: TokenInfo, _ module: ModuleInfo, _ pin: String, _ keychains: [String],
        _ contents: TokenContents?, _ colour: Colour
    ) -> String {
        var lines = [
            ("token", info.label), ("serial", info.serialNumber), ("model", "\(info.manufacturer) \(info.model)"),
            ("module", "\(token.slot.module.path) (\(module.libraryDescription) \(module.libraryVersion))"),
            ("PIN", pin), ("uri", info.uri.description),
        ]
        if !keychains.isEmpty {
            lines.append((keychains.count == 1 ? "keychain" : "keychains", keychains.joined(separator: ", ")))
        }
        if info.flags.contains(.writeProtected) { lines.append(("writing", "write-protected")) }
        guard let contents else { return Table.pairs(lines) }
        lines.append(("objects", Plural.counted(contents.objects.count, "object")))
        if contents.debris > 0 {
            lines.append(
                ("debris", "\(Plural.counted(contents.debris, "object")) that cannot be read: keyfob keychain check")
            )
        }
        var table = Table([.init("CLASS"), .init("LABEL", mayShrink: true), .init("TYPE"), .init("ID"), .init("NOTES")])
        for object in contents.objects {
            var notes: [String] = []
            if let keychain = object.keychain { notes.append("seals keychain \(keychain)") }
            if object.objectClass == .privateKey || object.objectClass == .secretKey {
                notes.append(object.isExtractable ? "extractable" : "not extractable")
            }
            let noun = object.objectClass == .certificate ? "" : " key"
            table.add([
                .init(KeyPhrases.half(object) + noun), .init(object.label ?? ""),
                .init(KeyPhrases.kind(object) ?? ""), .init(object.id.hexadecimal),
                .init(notes.joined(separator: ", ")),
            ])
        }
        var rows = table.rendered(width: StandardOutput.terminalWidth, colour: colour)
        if rows.hasSuffix("\n") { rows.removeLast() }
        return Table.pairs(lines) + "\n\n" + rows
    }
}

/// `keyfob token mechanisms`: lists the mechanisms of a token.
struct TokenMechanismsCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "mechanisms", "List the mechanisms that a token reports.",
        examples: Examples(
            "keyfob token mechanisms", "keyfob token mechanisms login --json", "keyfob token mechanisms | grep GCM"),
        discussion: "Tokens also report mechanisms that do not work; only a trial shows that.")

    @Argument(help: "Label or PKCS#11 URI of the token.", completion: NameCompletion.tokens)
    var name: String?

    @OptionGroup(title: "Module") var location: ModuleOptions

    @OptionGroup(title: "Global options") var global: GlobalOptions

    private static let uses: [(MechanismFlags, String)] = [
        (.encrypt, "encrypt"), (.decrypt, "decrypt"), (.digest, "digest"), (.sign, "sign"), (.verify, "verify"),
        (.generate, "generate"), (.generateKeyPair, "generate pair"), (.wrap, "wrap"), (.unwrap, "unwrap"),
        (.derive, "derive"),
    ]

    func run(_ output: Output) throws {
        let token = try SelectedToken(name, global, location)
        let label = try token.info().label
        let mechanisms = try token.asking {
            try token.slot.mechanisms().map { ($0, try info(of: $0, in: token.slot)) }
        }
        func uses(_ info: MechanismInfo?) -> [String]? {
            info.map { info in Self.uses.filter { info.flags.contains($0.0) }.map(\.1) }
        }
        let document = Document([
            "token": label,
            "mechanisms": mechanisms.map { type, info -> Members in
                [
                    "name": type.name, "number": Int64(bitPattern: UInt64(type.rawValue)),
                    "minimum": info?.keySizes.lowerBound, "maximum": info?.keySizes.upperBound,
                    "hardware": info?.flags.contains(.hardware), "uses": uses(info),
                ]
            },
        ])
        var table = Table([.init("MECHANISM"), .init("KEY SIZES"), .init("USES")])
        for (type, info) in mechanisms.sorted(by: { $0.0.name < $1.0.name }) {
            let sizes = info?.keySizes ?? 0...0
            table.add([
                .init(type.name), .init(sizes.upperBound == 0 ? "" : "\(sizes.lowerBound)-\(sizes.upperBound)"),
                .init(uses(info)?.joined(separator: ", ") ?? ""),
            ])
        }
        try output.emit(document, table: table)
    }

    /// The token's information about a mechanism; `nil` if the token lists it without having any, as some vendors'
    /// tokens do.
    ///
    /// - Throws: `PKCS11Error` if the token is gone.
    private func info(of mechanism: MechanismType, in slot: Slot) throws(PKCS11Error) -> MechanismInfo? {
        do throws(PKCS11Error) { return try slot.mechanismInfo(mechanism) } catch {
            let absent: [ReturnValue] = [.deviceRemoved, .tokenNotPresent, .slotIDInvalid, .cryptokiNotInitialized]
            guard !absent.contains(error.returnValue) else { throw error }
            return nil
        }
    }
}
