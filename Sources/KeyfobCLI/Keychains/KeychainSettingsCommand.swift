import ArgumentParser
import Keyfob

/// `keyfob keychain settings`: shows or changes the settings of a keychain.
struct KeychainSettingsCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "settings", "Show or change the settings of a keychain.",
        examples: Examples(
            "keyfob keychain settings",
            "keyfob keychain settings --unlock-timeout 1h --unlock-on-use no",
            "keyfob keychain settings site --default-pin-source 'cmd:pass show site'"),
        discussion: "Without an option, the settings are shown. The passphrase: keyfob keychain passphrase.",
        aliases: ["config"])

    @Argument(help: "The keychain.", completion: NameCompletion.keychains)
    var name: String?

    @Option(
        help: ArgumentHelp(
            "How long it stays unlocked, such as 8h; 0 means until it is locked.", valueName: "duration"))
    var unlockTimeout: TimeSpan?

    @Option(
        help: ArgumentHelp(
            "Whether a passphrase that is typed for one command unlocks it for the next ones: yes or no.",
            valueName: "yes|no"))
    var unlockOnUse: YesOrNo?

    @Option(
        help: ArgumentHelp(
            "Where its PIN or passphrase comes from unless a command says otherwise: prompt, pinentry, file:PATH, "
                + "cmd:COMMAND, credential:NAME.",
            valueName: "source"))
    var defaultPinSource: String?

    @Option(
        help: ArgumentHelp(
            "An access group of programs that use Apple's functions; may be repeated. An empty name means none.",
            valueName: "name"))
    var accessGroup: [String] = []

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func validate() throws { try unlockTimeout?.requireUnit(for: "--unlock-timeout", probably: "h") }

    func run(_ output: Output) throws {
        let keychains = Keychains()
        let former = try keychains.configuration(global.selectedKeychainName(argument: name))
        let source = try defaultPinSource.map(Self.lasting)
        let seconds = try unlockTimeout?.secondsUnlocked(of: "--unlock-timeout")
        func change(_ settings: inout KeychainSettings) {
            if let seconds { settings.unlockTimeout = seconds }
            if let unlockOnUse { settings.unlocksOnUse = unlockOnUse == .yes }
            if let source { settings.pinSource = source == .prompt ? nil : source }
            if !accessGroup.isEmpty { settings.accessGroups = accessGroup == [""] ? nil : accessGroup }
        }
        var settings = former.settings
        change(&settings)
        let isChange = settings != former.settings
        if isChange, !global.dryRun {
            settings = try keychains.changeSettings(of: former.name, timeout: global.patience, change).settings
        }
        let document = Document(
            global.effect(isChange ? .update : .none),
            [
                "keychain": former.name, "unlock_timeout": settings.unlockTimeout,
                "unlock_on_use": settings.unlocksOnUse ?? former.unlocksOnUse,
                "pin_source": settings.pinSource.map { KeychainConfiguration.shown(pinSource: $0.description) },
                "access_groups": settings.accessGroups,
            ])
        guard asksForChange else {
            return try output.emit(document, text: Table.pairs(Self.lines(settings, former)))
        }
        let list = Self.lines(settings, former).filter { line in
            !Self.lines(former.settings, former).contains { $0 == line }
        }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
        try output.emit(
            document,
            sentence: !isChange ? "Unchanged: keychain \"\(former.name)\" has these settings."
                : (global.dryRun ? "Would set" : "Set") + " for keychain \"\(former.name)\": \(list).")
    }

    private var asksForChange: Bool {
        unlockTimeout != nil || unlockOnUse != nil || defaultPinSource != nil || !accessGroup.isEmpty
    }

    private static func lasting(_ text: String) throws -> PINSource {
        let source = try PINSource(parsing: text)
        if source == .prompt { return source }
        guard let lasting = NewPassphrase.lasting(source) else {
            throw UsageError(
                "this source gives its secret only to one process, so later commands cannot read it.",
                hint: "Use one of: prompt, pinentry, file:PATH, cmd:COMMAND, credential:NAME")
        }
        return lasting
    }

    private static func lines(
        _ settings: KeychainSettings, _ configuration: KeychainConfiguration
    ) -> [(String, String)] {
        let unlocks = (settings.unlocksOnUse ?? configuration.unlocksOnUse) ? "yes" : "no"
        return [
            ("unlock-timeout", settings.unlockTimeout == 0 ? "0 (until it is locked)" : "\(settings.unlockTimeout)s"),
            ("unlock-on-use", settings.unlocksOnUse == nil ? "\(unlocks) (default)" : unlocks),
            (
                "default-pin-source",
                settings.pinSource.map { KeychainConfiguration.shown(pinSource: $0.description) } ?? "prompt"
            ),
            ("access-group", settings.accessGroups?.joined(separator: ", ") ?? "none"),
        ]
    }
}

/// An answer on the command line.
enum YesOrNo: String, ExpressibleByArgument, CaseIterable { case yes, no }
