import Keyfob

/// `keyfob get NAME` as scripts write it, without ArgumentParser.
///
/// Describing a command's options to ArgumentParser by reflection takes longer than reading a secret does: 2 ms. So
/// the plain form is recognised here; whatever else stands in a command line is ArgumentParser's. Both make the same
/// command, which a test compares property by property, and only the order differs: here the token is on its way
/// before the command is made.
struct PlainGet {
    /// The item's name.
    let name: String
    /// The keychain of `-k`.
    let keychain: String?

    /// Recognises `[secret] get NAME [-k KEYCHAIN]`; `nil` for any other arguments, and where a variable chooses what
    /// an option could.
    init?(_ arguments: [String], environment: (String) -> String? = Environment.nonEmpty) {
        guard environment("KEYFOB_FORMAT") == nil, environment("KEYFOB_TOKEN") == nil else { return nil }
        var words = arguments[...]
        if words.first == "secret" { words.removeFirst() }
        guard words.popFirst() == "get" else { return nil }
        var (name, keychain) = (String?.none, String?.none)
        while let word = words.popFirst() {
            if word == "-k" || word == "--keychain" {
                guard keychain == nil, let value = words.popFirst(), Self.isPlain(value) else { return nil }
                keychain = value
            } else {
                guard name == nil, Self.isPlain(word) else { return nil }
                name = word
            }
        }
        guard let name else { return nil }
        self.name = name
        self.keychain = keychain
    }

    /// Whether ArgumentParser would take a word for a value and nothing else; `help` it takes for a command.
    private static func isPlain(_ word: String) -> Bool { !word.isEmpty && !word.hasPrefix("-") && word != "help" }

    /// Does what the command does.
    ///
    /// - Throws: As `SecretGet.run()`.
    func run() throws {
        var options = Keychain.Options(terminal: .standard, showsProgress: GlobalOptions.hasWatcher)
        options.opensTokenAhead = true
        let keychain = try Keychain.open(keychain ?? Environment.nonEmpty("KEYFOB_KEYCHAIN"), options: options)
        let command = command
        try command.run(in: keychain, command.global.output())
    }

    /// The command that ArgumentParser would have made.
    var command: SecretGet {
        var command = SecretGet()
        command.name = name
        command.raw = false
        command.force = false
        command.output = nil
        command.selection = .none
        command.global = GlobalOptions(keychain: keychain)
        return command
    }
}

extension SecretSelection {
    /// None of the options.
    fileprivate static var none: SecretSelection {
        var selection = SecretSelection()
        selection.user = nil
        selection.kind = nil
        selection.server = nil
        selection.scheme = nil
        selection.port = nil
        selection.path = nil
        return selection
    }
}

extension GlobalOptions {
    /// No option but `--keychain`.
    fileprivate init(keychain: String?) {
        self.init()
        self.keychain = keychain
        token = nil
        profile = nil
        pinSource = nil
        insecureFile = false
        noInput = false
        yes = false
        dryRun = false
        json = false
        formatOption = nil
        quiet = false
        verbose = 0
        color = .auto
        progress = .auto
        timeout = nil
        config = nil
    }
}
