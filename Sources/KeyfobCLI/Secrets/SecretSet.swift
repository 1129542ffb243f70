import ArgumentParser
import Keyfob

/// `keyfob set`: stores a secret.
struct SecretSet: OutputCommand {
    static let configuration = CommandConfiguration(
        "set", "Store a secret, read from a pipe, a file or the terminal.",
        examples: Examples(
            "keyfob set db/prod --user app",
            "keyfob set --from-json - --if-missing < secrets.jsonl",
            "keyfob set registry.example.org --kind internet --protocol https --user ci --from-env CI_TOKEN"),
        discussion: """
            An existing item is an error, unless --replace gives it a new value or --if-missing keeps it. With \
            --replace, options such as --user are only needed if several items have the name.

            With --from-json, each object has the members that keyfob get and keyfob ls print: name, value or \
            value_b64, and where needed user, kind, server, protocol, port, path, label and comment. They are stored \
            while the input is read, in transactions of up to 500. The first bad one ends the command; those before it \
            are stored. A signal ends it without those of the last transaction. To check all: --dry-run.
            """)

    @Argument(help: "The item's name.", completion: NameCompletion.passwords)
    var name: String?

    @Argument(help: .hidden)
    var rest: [String] = []

    @OptionGroup(title: "Value")
    var input: SecretInput

    @OptionGroup(title: "Existing items")
    var storing: SecretStoring

    @OptionGroup(title: "Item")
    var selection: SecretSelection

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func validate() throws {
        guard name != nil || input.fromJson != nil else {
            throw ValidationError("Missing expected argument '<name>'")
        }
    }

    func run(_ output: Output) throws {
        if let file = input.fromJson { return try storeRows(of: file, output) }
        guard let name else { return }
        guard rest.isEmpty else {
            let options = selection.choice.words + (storing.replace ? " --replace" : "")
            throw UsageError.secretOnCommandLine(item: name, options: options)
        }
        try selection.check(name: name)
        try storing.check()
        try input.check(global)
        let item = try selection.choice.newItem(name, label: storing.label, comment: storing.comment)
        let keychain = try global.openKeychain()
        var isRead = false
        let (action, stored) = try storing.store(
            item, called: name, as: selection.choice, in: keychain, isDryRun: global.dryRun
        ) {
            if global.dryRun, input.asks(global) { return nil }
            isRead = true
            return try input.read(name: name, global)
        }
        if !isRead { input.discard(global) }
        try SecretStoring.report(global.effect(action), name, stored, keychain, output)
    }

    /// Stores the passwords of a stream.
    private func storeRows(of file: String, _ output: Output) throws {
        let isDescribed = storing.label != nil || storing.comment != nil || !selection.isEmpty
        guard name == nil, !isDescribed else {
            throw UsageError(
                "with --from-json, each row has its own name and attributes; nothing was stored.",
                hint: "Leave out the name and the options that describe an item.")
        }
        try storing.check()
        try input.check(global)
        let keychain = try global.openKeychain(warmsUpToken: true)
        try keychain.requireSealing()
        var rows = SecretRowStoring(
            in: keychain, storing, allowsEmpty: input.allowEmpty, isDryRun: global.dryRun)
        var next = ContinuousClock.now + Self.noticeInterval
        try rows.store(SecretInput.rows(from: file, global)) { count in
            guard global.showsProgress, .now >= next else { return }
            next = .now + Self.noticeInterval
            StandardError.write("keyfob: \(Plural.counted(count, "row")) so far…\n")
        }
        try output.emit(Document(global.effect(rows.action), rows.members), sentence: rows.sentence)
    }

    /// The time between two notices of progress.
    private static let noticeInterval = Duration.seconds(2)
}
