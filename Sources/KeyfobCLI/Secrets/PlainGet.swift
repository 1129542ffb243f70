import Keyfob

/// `keyfob get NAME` as scripts write it, without ArgumentParser.
///
/// Describing a command's options to ArgumentParser by reflection takes longer than reading a secret does: 2 ms. So
/// the plain form is recognised here; whatever else stands in a command line is ArgumentParser's. Tests compare the
/// two: what they take from the same arguments, and what they print.
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
        // While the token is opened on its thread, for which this one will have to wait anyway.
        HangWatch.begin()
        let item = try PasswordChoice().one(name, in: keychain)
        // Never released: the process is about to end, and closes what is open in a fraction of the time.
        _ = unsafe Unmanaged.passRetained(keychain)
        try SecretGet.print(SecretGet.secret(of: item, in: keychain))
    }
}
