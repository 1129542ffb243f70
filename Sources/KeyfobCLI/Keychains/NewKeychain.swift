import Foundation
import Keyfob
import KeyfobPrimitives
import PKCS11

/// Creates a keychain for `init` and `keychain create`: asks, reports, and saves the recovery code.
struct NewKeychain {
    let name: String
    let options: CreationOptions
    let global: GlobalOptions
    let output: Output
    /// Whether the command is `init`, which creates the default keychain.
    var isFirstRun = false

    /// Whether the keychain becomes the default if there is none.
    ///
    /// An unattended keychain does not, unless it is called `login`. It is usually made for a trial or a service, and
    /// passwords that the user stores later must not be protected only by a PIN in a file.
    private var makesDefault: Bool { name == Keychains.usualName || isFirstRun && !options.unattended }

    /// Whether the keychain is the default, or becomes it when it is created.
    private func isDefault(_ keychains: Keychains) throws -> Bool {
        try keychains.defaultName().map { $0 == name } ?? makesDefault
    }

    /// Creates the keychain and reports it.
    ///
    /// - Throws: `KeychainError` and `UsageError`. If the creation fails, nothing of it remains.
    func make() throws {
        let keychains = Keychains()
        try check()
        if isOnExistingToken { return try makeOnExistingToken(keychains) }
        if options.recoveryFile != "-" { try describe(keychains) }
        let source = try global.explicitPINSource
        let kept = source.flatMap(NewPassphrase.lasting)
        if global.dryRun {
            // Locations that the user did not choose are known only after the creation.
            return try reportDryRun(
                keychains, token: name, uri: nil, module: .softHSM,
                recoveryFile: RecoveryFile.planned(options.recoveryFile), pinSource: kept?.description,
                protection: KeychainConfiguration.protection(
                    isSealed: !options.unattended, pinSource: options.unattended ? "file:" : nil))
        }
        if options.unattended {
            let made = try keychains.create(
                name, on: .new(.file), options: global.keychainOptions(), makesDefault: makesDefault)
            return try report(made, keychains, recoveryFile: nil, isUnlocked: nil)
        }
        let passphrase = try newPassphrase(source)
        let file = try RecoveryFile(keychain: name, path: options.recoveryFile)
        let made = try file.keeping { () throws -> Keychains.Creation in
            let made = try keychains.create(
                name, on: .new(.passphrase(passphrase, source: kept)), options: global.keychainOptions(),
                makesDefault: makesDefault)
            do {
                if let code = made.recoveryCode { try file.write(code) }
            } catch {
                // The first error is reported. The removal gets at least ten seconds, because a keychain whose recovery
                // code is lost must not remain.
                _ = try? keychains.delete(name, timeout: max(global.patience, .seconds(10)))
                throw error
            }
            return made
        }
        let isUnlocked = kept == nil ? unlock(made.keychain, with: passphrase) : nil
        try report(made, keychains, recoveryFile: file, isUnlocked: isUnlocked)
    }

    /// Leaves the new keychain unlocked, and returns whether it is.
    ///
    /// A failure is only printed, because the keychain exists and an error would suggest otherwise.
    private func unlock(_ keychain: Keychain, with secret: SecretBytes) -> Bool {
        do {
            _ = try keychain.unlockForSession(with: secret)
            return true
        } catch {
            let reason = Failure(error).text(verbose: false).dropping(prefix: "keyfob: ") ?? ""
            output.warn("the keychain was made, but stays locked: " + reason.dropLast())
            return false
        }
    }

    private var isOnExistingToken: Bool { global.tokenName != nil || options.module != nil }

    private func check() throws {
        // Checked before the name is printed, and before asking for a passphrase.
        try Keychains.validate(name, asToken: !isOnExistingToken)
        try RecoveryFile.check(options.recoveryFile, output)
        if options.unattended, global.pinSource != nil {
            throw UsageError(
                "--unattended and --pin-source exclude each other.",
                hint: "--pin-source gives a passphrase that protects the PIN; --unattended uses none.")
        }
        if options.recoveryFile != nil, options.unattended || isOnExistingToken {
            // A user who names a file for the code relies on it.
            throw UsageError(
                "only a new token whose PIN a passphrase seals has a recovery code; nothing was made.",
                hint: "Leave out --recovery-file, or make a keychain with a passphrase: leave out --unattended, "
                    + "--token and --module")
        }
        if options.wrappingKey != nil, !isOnExistingToken {
            throw UsageError(
                "--wrapping-key names a key on an existing token; nothing was made.",
                hint: "Name the token too: --token LABEL")
        }
        if options.noPasswords, !isOnExistingToken || options.wrappingKey != nil {
            throw UsageError(
                "--no-passwords is for a keychain on an existing token without a wrapping key; nothing was made.",
                hint: "Name the token, and leave out --wrapping-key: --token LABEL")
        }
        if options.unattended, isOnExistingToken {
            throw UsageError(
                "--unattended is for tokens that keyfob makes.", hint: "For an existing token: --pin-source file:PATH")
        }
    }

    // MARK: A token of its own

    private func describe(_ keychains: Keychains) throws {
        // "No token configured" is true only for the first keychain.
        let start = try keychains.listing().names.isEmpty ? "No token configured; using" : "Using"
        try output.say("\(start) SoftHSM, a software token. Keys stay in files only you can read.")
        let tokens = HomePath.shown(keychains.directories.data.appendingPathComponent("tokens").path)
        let isDefault = try isDefault(keychains)
        try output.say("  module    softhsm2")
        try output.say("  token     \(name)   new, \(tokens)")
        try output.say("  keychain  \(name)   new\(isDefault ? ", default" : "")")
    }

    private func newPassphrase(_ source: PINSource?) throws -> SecretBytes {
        try options.passphrase.read(
            from: source ?? global.environmentPINSource.map { try PINSource(parsing: $0) }, keychain: name,
            prompt: "Passphrase for keychain \"\(name)\": ",
            hint: "Give its source: --pin-source file:… | credential:… | env:…, or use none: --unattended", global)
    }

    // MARK: An existing token

    private func makeOnExistingToken(_ keychains: Keychains) throws {
        let wrappingKey = try options.wrappingKeyURI
        let found = try TokenChoice.find(
            global.tokenName, module: options.module, parameters: options.location.moduleParameters,
            environmentModule: global.modulePath)
        let wantsLogin = found.info.flags.contains(.loginRequired)
        if !wantsLogin, global.pinSource != nil {
            throw UsageError(
                "token \"\(TerminalSafe.text(found.info.label))\" requires no login, so it would not check the PIN of "
                    + "--pin-source; nothing was made.",
                hint: "Set a PIN with the token's own tool, or leave out --pin-source. Any program that can use the "
                    + "token can then open the keychain.")
        }
        let environment = global.pinEnvironment(noInput: !global.terminal.mayAsk)
        let selection: PINSourceSelection?
        if wantsLogin {
            selection = try PINSourceSelection(
                option: global.explicitPINSource, uri: found.uri.pinSource, environment: environment)
        } else {
            selection = nil
        }
        let kept = selection.flatMap { [.option, .uri].contains($0.origin) ? NewPassphrase.lasting($0.source) : nil }
        if global.dryRun {
            let protection = KeychainConfiguration.protection(isSealed: false, pinSource: kept?.description)
            return try reportDryRun(
                keychains, token: found.info.label, uri: found.info.uri.description, module: found.location,
                pinSource: kept?.description, protection: wantsLogin ? protection : nil)
        }
        guard let selection else {
            let made = try keychains.create(
                name, on: .existing(found.info.uri, found.location, pin: SecretBytes(utf8: ""), pinSource: nil),
                wrappingKey: wrappingKey, takesPasswords: !options.noPasswords,
                options: global.keychainOptions(), makesDefault: makesDefault)
            return try report(made, keychains, recoveryFile: nil, isUnlocked: nil, wantsLogin: false)
        }
        let pin = try selection.source.read(.token(found.info.label), from: environment)
        let made: Keychains.Creation
        do {
            var creation = try global.keychainOptions()
            // Set even if the source is not kept, so that a PIN from it that was refused once is not sent again.
            creation.pinSource = selection.source
            made = try keychains.create(
                name, on: .existing(found.info.uri, found.location, pin: pin, pinSource: kept),
                wrappingKey: wrappingKey, takesPasswords: !options.noPasswords, options: creation,
                makesDefault: makesDefault)
        } catch let error as KeychainError where error.code == .pinRemembered {
            // The usual hint, to unlock the keychain, does not apply, because there is none yet.
            throw error.replacing(remedies: [
                Remedy(
                    "Correct the PIN source (\(error.details["source"] ?? "")). If the PIN is correct, enter it once: "
                        + "the same command with --pin-source prompt")
            ])
        }
        let isUnlocked = kept == nil && selection.origin != .credential ? unlock(made.keychain, with: pin) : nil
        try report(made, keychains, recoveryFile: nil, isUnlocked: isUnlocked)
    }

    // MARK: Reports

    /// Reports that the keychain exists already. The document has the members of the one about its creation.
    ///
    /// - Parameters:
    ///   - isOpened: Whether the keychain was opened; `nil` if that was not tried.
    ///   - sentence: The sentence for people.
    /// - Throws: `KeychainError` if the name of the default keychain cannot be read or standard output cannot be
    ///   written.
    static func reportExisting(
        _ name: String, isOpened: Bool? = nil, sentence: String, global: GlobalOptions, _ output: Output
    ) throws {
        var further = KeychainConfiguration.unknownCreationMembers
        let keychains = Keychains()
        // If the configuration is damaged, only the name is known.
        if output.format.isMachineReadable, let configuration = try? keychains.configuration(name) {
            further = KeychainReport(
                configuration, isDefault: try keychains.defaultName() == name, options: try global.keychainOptions(),
                readsContents: false
            ).creationMembers
        }
        try output.emit(document(global.effect(.none), name, isOpened: isOpened, further), sentence: sentence)
    }

    private func reportDryRun(
        _ keychains: Keychains, token: String, uri: String?, module: ModuleLocation,
        recoveryFile: String? = nil, pinSource: String?, protection: String?
    ) throws {
        let further = KeychainConfiguration.creationMembers(
            token: token, uri: uri, isDefault: try isDefault(keychains),
            isTokenNew: module == .softHSM,
            wrappingKey: options.noPasswords
                ? nil : options.wrappingKey ?? KeychainConfiguration.wrappingKeyLabel(of: name, on: module),
            recoveryFile: recoveryFile, pinSource: pinSource, protection: protection)
        try output.emit(
            Self.document(global.effect(.create), name, further),
            sentence: "Would make keychain \"\(name)\" on token \"\(TerminalSafe.text(token))\".")
    }

    /// Reports the new keychain.
    ///
    /// - Parameter isUnlocked: `nil` if it needs no unlocking, because it has the source of its PIN.
    private func report(
        _ made: Keychains.Creation, _ keychains: Keychains, recoveryFile: RecoveryFile?, isUnlocked: Bool?,
        wantsLogin: Bool = true
    ) throws {
        let configuration = made.keychain.configuration
        let isNew = configuration.module == .softHSM
        let defaultName = try keychains.defaultName()
        let isDefault = defaultName == name
        guard !output.format.isMachineReadable else {
            let further = configuration.creationMembers(
                isDefault: isDefault, isTokenNew: isNew, wantsLogin: wantsLogin, isUnlocked: isUnlocked,
                wrappingKey: made.wrappingKey, recoveryFile: recoveryFile?.path)
            return try output.emit(
                Self.document(global.effect(.create), name, obstacle: made.obstacle, further), sentence: "")
        }
        // If the code is printed, nothing else is, because the output may be redirected to a file.
        if recoveryFile?.path == "-" { return }
        try Output.afterChange {
            try tell(made, recoveryFile, isNew: isNew, isDefault: isDefault, wantsLogin: wantsLogin)
            if defaultName == nil {
                try output.say(
                    "It is not the default keychain. To make it the default: keyfob keychain default \(name)")
            }
        }
    }

    /// The document about a keychain that was created, would be created, or exists already.
    ///
    /// - Parameters:
    ///   - isOpened: Whether an existing keychain was opened; `nil` if that was not tried.
    ///   - obstacle: The reason why a new keychain takes no passwords.
    private static func document(
        _ effect: Effect, _ name: String, isOpened: Bool? = nil, obstacle: KeychainError? = nil, _ further: Members
    ) -> Document {
        Document(
            effect, ["keychain": name] + further + ["opened": isOpened, "obstacle": obstacle?.message])
    }

    private func tell(
        _ made: Keychains.Creation, _ recoveryFile: RecoveryFile?, isNew: Bool, isDefault: Bool, wantsLogin: Bool
    ) throws {
        let configuration = made.keychain.configuration
        let token = TerminalSafe.text(configuration.tokenLabel)
        guard let wrappingKey = made.wrappingKey else {
            try output.say(
                "Created keychain \"\(name)\" on token \"\(token)\", for keys, certificates and identities.")
            try tellOfMissingWrappingKey(made.obstacle)
            if !wantsLogin { try output.say(configuration.opennessWithoutLogin) }
            return try output.say("Next: keyfob key ls\(isDefault ? "" : " --keychain \(name)")")
        }
        let key = "\"\(TerminalSafe.text(wrappingKey))\" (\(Self.keyName(suite: made.suite))"
        try output.say(
            options.wrappingKey == nil
                ? "Created \(isNew ? "token \"\(token)\", " : "")wrapping key \(key), not extractable), keychain "
                    + "\"\(name)\"."
                : "Created keychain \"\(name)\", sealed by the key \(key)) on token \"\(token)\".")
        if let recoveryFile {
            try output.say(
                "Recovery code saved to \(HomePath.shown(recoveryFile.path)). Move it off this machine, then delete it."
            )
        }
        if options.unattended {
            try output.say(
                "The token's PIN is in a file that only you can read. Anyone who can read your files can open the "
                    + "keychain.")
        }
        if !options.unattended, configuration.opensUnasked { try output.say(configuration.opennessBySource) }
        if !wantsLogin { try output.say(configuration.opennessWithoutLogin) }
        let selector = isDefault ? "" : " --keychain \(name)"
        try output.say("Next: keyfob set github.com/alice\(selector)")
    }

    /// Says why the keychain takes no passwords, and what to do for one that takes them.
    private func tellOfMissingWrappingKey(_ obstacle: KeychainError?) throws {
        guard let obstacle else { return try output.say("It takes no passwords, as --no-passwords says.") }
        try output.say("It takes no passwords: \(TerminalSafe.text(obstacle.message))")
        try output.say(
            "For passwords, use another keychain, or make this one again with a key on the token that can decrypt: "
                + "--wrapping-key URI")
    }

    /// The type of the wrapping key of a suite.
    private static func keyName(suite: String) -> String {
        if suite.hasPrefix("RSA") { return "RSA" }
        return suite.hasPrefix("ECDH") ? "EC" : "AES-256"
    }
}

/// Paths in the form that users write.
enum HomePath {
    /// The user's home directory.
    static var home: String { Environment.nonEmpty("HOME") ?? NSHomeDirectory() }

    /// `path` with `~` for the home directory.
    static func shown(_ path: String) -> String {
        path.hasPrefix(home + "/") ? "~" + path.dropFirst(home.count) : path
    }
}
