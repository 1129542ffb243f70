import ArgumentParser
import Foundation
import Keyfob
import KeyfobPrimitives

/// The options of the commands that print or install units.
struct SystemdUnitOptions: ParsableArguments {
    @Flag(help: "Units for your own service manager (systemctl --user) instead of the system's.")
    var user = false

    @Flag(help: "Write the units to where systemd finds them, instead of printing them.")
    var install = false

    @Option(
        name: [.customShort("o"), .long], help: ArgumentHelp("Write the units to this directory.", valueName: "dir"),
        completion: .directory)
    var output: String?

    @Option(
        help: ArgumentHelp(
            "A file with the PIN or passphrase of the keychain, which systemd loads for the service.",
            valueName: "file"))
    var pinFile: String?

    @Option(
        help: ArgumentHelp(
            "The same, encrypted by systemd-creds encrypt --name=keyfob.pin.", valueName: "file"))
    var encryptedPinFile: String?

    func validate() throws {
        if install, output != nil { throw ValidationError("--install and --output exclude each other.") }
        if pinFile != nil, encryptedPinFile != nil {
            throw ValidationError("--pin-file and --encrypted-pin-file exclude each other.")
        }
        for path in [pinFile, encryptedPinFile].compactMap(\.self)
        where path.isEmpty || path.contains(where: { $0.isNewline || $0 == "%" }) {
            throw ValidationError("systemd cannot load a file with that name.")
        }
    }

    /// The units for the keychain that the options select, which must exist.
    ///
    /// - Throws: The errors of `GlobalOptions.openKeychain`.
    func units(_ global: GlobalOptions, writable: [String] = []) throws -> SystemdUnits {
        let keychain = try global.openKeychain()
        let pin = pinFile.map { ($0, false) } ?? encryptedPinFile.map { ($0, true) }
        let source = try pinSource(global).map { ["--pin-source", $0] } ?? []
        return SystemdUnits(
            program: try HelperLink.target, isForUser: user, selection: ["--keychain", keychain.name] + source,
            pin: pin.map { (URL(fileURLWithPath: $0.0).path, $0.1) },
            isSoftHSM: keychain.configuration.module == .softHSM,
            writable: writable.map { URL(fileURLWithPath: $0).path })
    }

    /// The PIN source of the service; `nil` for that of the keychain.
    ///
    /// - Throws: `UsageError` for a source of `--pin-source` that a service does not have.
    private func pinSource(_ global: GlobalOptions) throws -> String? {
        let explicit = try global.explicitPINSource
        if pinFile != nil || encryptedPinFile != nil {
            let source = PINSource.credential(PINSourceSelection.credentialName)
            guard explicit == nil || explicit == source else {
                throw UsageError(
                    "--pin-source and a file with the PIN exclude each other.", hint: "Give one of the two.")
            }
            return source.description
        }
        if let explicit {
            guard let source = Self.lasting(explicit) else {
                throw UsageError(
                    "a service cannot read the PIN source \(global.pinSource ?? "").",
                    hint: "Give one of: file:PATH, cmd:COMMAND, credential:NAME, --pin-file, --encrypted-pin-file")
            }
            return source
        }
        // Other sources of the variable are those of this process only.
        return try global.environmentPINSource.flatMap { Self.lasting(try PINSource(parsing: $0)) }
    }

    /// The text of a source that a service can read too, with an absolute path; `nil` for another one.
    private static func lasting(_ source: PINSource) -> String? {
        let parts = source.description.split(separator: ":", maxSplits: 1)
        switch parts[0] {
        case "file": return "file:" + URL(fileURLWithPath: String(parts[1])).path
        case "cmd", "credential", "item", "agent": return source.description
        default: return nil
        }
    }

    /// Prints or writes the units.
    ///
    /// - Parameters:
    ///   - start: The unit to start.
    ///   - notes: What the user does next, apart from starting it.
    /// - Throws: `KeychainError` if a file cannot be written.
    func emit(
        _ files: [UnitFile], of units: SystemdUnits, starting start: String, notes: [String] = [],
        _ global: GlobalOptions, _ output: Output
    ) throws {
        let folder = self.output ?? units.folder
        let isWriting = install || self.output != nil
        var (members, actions): ([Members], [Effect.Action]) = ([], [])
        for file in files {
            let path = folder + "/" + file.name
            let destination = FileDestination(path: path, mode: 0o644)
            var action = Effect.Action.none
            if isWriting, global.dryRun {
                action = try destination.action(of: SecretBytes(utf8: file.text))
            } else if isWriting {
                if install { try Self.makeDirectory(folder) }
                action = try destination.write(SecretBytes(utf8: file.text))
            }
            actions.append(action)
            members.append(["name": file.name, "path": path, "content": file.text, "action": action.rawValue])
        }
        if isWriting, !global.dryRun { try SystemdUnits.makeDirectories() }
        let control = user ? "systemctl --user" : "systemctl"
        let next = ["Start it: \(control) daemon-reload && \(control) enable --now \(start)"] + notes
        let verb = global.dryRun ? "Would write" : "Wrote"
        let written = files.map { "\(verb) \(TerminalSafe.text(folder + "/" + $0.name))" }
        let text = files.map { "# \(folder)/\($0.name)\n\($0.text)" }.joined(separator: "\n").dropLast()
        try output.emit(
            Document(global.effect(actions.first { $0 != .none } ?? .none), ["units": members]),
            text: isWriting ? (written + next).joined(separator: "\n") : String(text))
    }

    private static func makeDirectory(_ path: String) throws {
        do { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) } catch {
            throw KeychainError(
                .fileUnavailable, "cannot make \(TerminalSafe.text(path)).",
                hint: "Are you root? Or for yourself: --user", details: ["path": path], cause: error)
        }
    }
}
