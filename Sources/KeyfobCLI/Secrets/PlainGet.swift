import Keyfob

/// `keyfob get NAME` in the form that scripts use, without ArgumentParser.
///
/// ArgumentParser reflects on all options of a command, which takes 2 ms, longer than reading a secret. So the plain
/// form is recognised here, and ArgumentParser handles every other command line. Tests check that both accept the same
/// arguments and print the same output.
struct PlainGet {
    /// The name of the item.
    let name: String
    /// The keychain given by `-k`.
    let keychain: String?

    /// Recognises `[secret] get NAME [-k KEYCHAIN]`.
    ///
    /// `nil` for any other arguments, and if `KEYFOB_FORMAT` or `KEYFOB_TOKEN` is set.
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

    /// Whether ArgumentParser would treat a word only as a value. It treats `help` as a command.
    private static func isPlain(_ word: String) -> Bool { !word.isEmpty && !word.hasPrefix("-") && word != "help" }

    /// Does the same as the command.
    ///
    /// - Throws: The errors of `SecretGet.run()`: `KeychainError`.
    func run() throws {
        var options = Keychain.Options(terminal: .standard, showsProgress: GlobalOptions.hasWatcher)
        options.warmsUpToken = true
        let keychain = try Keychain.open(keychain ?? Environment.nonEmpty("KEYFOB_KEYCHAIN"), options: options)
        // Done while another thread opens the token, for which this thread has to wait anyway.
        HangWatch.begin()
        let item = try PasswordChoice().one(name, in: keychain)
        try item.requireNoOneTimePassword(in: keychain)
        // Never released: the process is about to end, and the kernel closes open files much faster.
        _ = unsafe Unmanaged.passRetained(keychain)
        try SecretGet.print(SecretGet.secret(of: item, in: keychain))
    }
}
