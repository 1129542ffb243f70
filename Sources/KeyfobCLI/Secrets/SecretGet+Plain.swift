/// `keyfob get NAME` as scripts write it, without ArgumentParser.
///
/// Describing a command's options to ArgumentParser by reflection takes longer than reading a secret does: 2 ms. So
/// the plain form is recognised here; whatever else stands in a command line is ArgumentParser's. Both give the
/// same command, which a test compares property by property.
extension SecretGet {
    /// The command for `[secret] get NAME [-k KEYCHAIN]`; `nil` for any other arguments.
    init?(plain arguments: [String]) {
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
        self.init()
        self.name = name
        raw = false
        force = false
        output = nil
        selection = .none
        global = GlobalOptions(keychain: keychain)
    }

    /// Whether ArgumentParser would take a word for a value and nothing else; `help` it takes for a command.
    private static func isPlain(_ word: String) -> Bool { !word.isEmpty && !word.hasPrefix("-") && word != "help" }
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
