import ArgumentParser
import Keyfob

/// A command line, split into the command and its arguments.
///
/// This happens before ArgumentParser runs, for three reasons. An unknown verb gets a suggestion. Global options may
/// precede the verb. Only the named command is built by reflection; for the whole tree that would take longer than
/// reading a secret.
struct Invocation {
    /// The named command; the root or a group if no verb follows.
    let command: any ParsableCommand.Type
    /// The words that select the command, such as `["secret", "set"]`.
    let path: [String]
    /// All other arguments in their order, with options before the verb first.
    let arguments: [String]

    /// Splits `arguments`, which exclude the program's name.
    ///
    /// - Throws: `UsageError` for a word that names no command, and for an unknown option before the verb.
    init(_ arguments: [String], root: any ParsableCommand.Type) throws {
        let arguments = Self.separatingEmptyValues(arguments)
        var command = root
        var path: [String] = []
        var leading: [String] = []
        var index = 0
        // The word after an unknown option may be its value, which may be a secret.
        var unknownOption: String?
        while index < arguments.count, arguments[index] != "--" {
            let word = arguments[index]
            if word.hasPrefix("-"), word.count > 1 {
                leading.append(word)
                index += 1
                unknownOption = nil
                if GlobalOptions.namesTakingValue.contains(word), index < arguments.count {
                    leading.append(arguments[index])
                    index += 1
                } else if Self.mayTakeValue(word) {
                    unknownOption = word
                }
                continue
            }
            let children = command.configuration.subcommands
            if children.isEmpty { break }
            guard let child = children.first(where: { Self.names(of: $0).contains(word) }) else {
                // ArgumentParser's own `help` is not in the list of subcommands.
                if path.isEmpty, word == "help" {
                    try Self.checkHelp(arguments[(index + 1)...], children)
                    break
                }
                if let unknownOption { throw Self.unknown(option: unknownOption, after: path) }
                throw Self.unknown(word, after: path, children)
            }
            unknownOption = nil
            command = child
            path.append(Self.name(of: child))
            index += 1
        }
        self.command = command
        self.path = path
        self.arguments = Self.separatingAttachedValues(leading + arguments[index...], of: command, root: root)
    }

    /// Splits `--name=` into the name and an empty value.
    ///
    /// ArgumentParser would treat the next word as the value, so that `rm --user="$EMPTY" a b` would remove b of user
    /// "a".
    private static func separatingEmptyValues(_ words: [String]) -> [String] {
        let end = words.firstIndex(of: "--") ?? words.endIndex
        return words[..<end].flatMap { word in
            let isEmpty = word.hasPrefix("--") && word.utf8.firstIndex(of: UInt8(ascii: "=")) == word.utf8.indices.last
            let name = String(word.dropLast())
            return isEmpty && name.count > 2 && !GlobalOptions.flags.contains(name) ? [name, ""] : [word]
        } + words[end...]
    }

    /// Splits `-kNAME` into two words (POSIX XBD 12.2). ArgumentParser would treat each letter as an option.
    private static func separatingAttachedValues(
        _ words: [String], of command: any ParsableCommand.Type, root: any ParsableCommand.Type
    ) -> [String] {
        let end = words.firstIndex(of: "--") ?? words.endIndex
        return words[..<end].flatMap { word -> [String] in
            let (name, value) = (String(word.prefix(2)), String(word.dropFirst(2)))
            // ArgumentParser supports -k=NAME itself.
            guard ["-k", "-u", "-o", "-i"].contains(name), !value.isEmpty, !value.hasPrefix("=") else { return [word] }
            // The help text is generated only for such a word, because that takes longer than most commands.
            let isKnown = name == "-k" || root.helpMessage(for: command).contains("\n  \(name), --")
            return isKnown ? [name, value] : [word]
        } + words[end...]
    }

    /// Whether the word after an option may be its value. False for flags, alone or combined, and if the option has an
    /// attached value.
    private static func mayTakeValue(_ option: String) -> Bool {
        guard !option.hasPrefix("--") else {
            return !option.contains("=") && !GlobalOptions.flags.union(["--help", "--version"]).contains(option)
        }
        return !option.hasPrefix("-k") && !option.dropFirst().allSatisfy { "qvyh".contains($0) }
    }

    /// Refuses words after `help` that name no command; ArgumentParser would show the help of the parent command.
    private static func checkHelp(
        _ words: ArraySlice<String>, _ children: [any ParsableCommand.Type]
    ) throws {
        var (children, path) = (children, [String]())
        for word in words where !word.hasPrefix("-") {
            guard let child = children.first(where: { names(of: $0).contains(word) }) else {
                throw unknown(word, after: path, children)
            }
            path.append(name(of: child))
            children = child.configuration.subcommands
        }
    }

    /// The command line in an order that the root command can parse.
    var normalized: [String] { path + arguments }

    /// Parses the command.
    ///
    /// - Throws: The error of ArgumentParser for the whole command line, so that usage and help have the full path.
    func parse(root: any ParsableCommand.Type) throws -> any ParsableCommand {
        guard command.configuration.subcommands.isEmpty else {
            // The global options are valid here, although root and groups do not declare them. The error is the missing
            // verb.
            let isVerbless = (try? GlobalOptions.parse(arguments)) != nil
            return try root.parseAsRoot(isVerbless ? path : normalized)
        }
        do {
            return try Self.parse(command, arguments)
        } catch {
            // Errors and help texts contain the full path of the command only if the root parses.
            return try root.parseAsRoot(normalized)
        }
    }

    private static func parse<Command: ParsableCommand>(
        _ command: Command.Type, _ arguments: [String]
    ) throws -> any ParsableCommand {
        try command.parse(arguments)
    }

    private static func name(of command: any ParsableCommand.Type) -> String {
        command.configuration.commandName ?? command._commandName
    }

    private static func names(of command: any ParsableCommand.Type) -> [String] {
        [name(of: command)] + command.configuration.aliases
    }

    /// Common synonyms for `rm`.
    private static let removals: Set = ["remove", "delete", "del", "destroy", "erase", "unlink", "drop"]

    /// Verbs of similar programs, and the commands that do the same.
    private static let translations = [
        "grep": "keyfob find TEXT", "totp": "keyfob otp get NAME", "code": "keyfob otp get NAME",
        "add": "keyfob set NAME", "insert": "keyfob set NAME", "put": "keyfob set NAME",
        "store": "keyfob set NAME", "new": "keyfob set NAME", "cat": "keyfob get NAME", "read": "keyfob get NAME",
        "passwd": "keyfob keychain passphrase", "password": "keyfob keychain passphrase",
    ]

    private static func unknown(_ word: String, after path: [String], _ children: [any ParsableCommand.Type])
        -> UsageError
    {
        let parent = (["keyfob"] + path).joined(separator: " ")
        let names = children.filter { $0.configuration.shouldDisplay }.flatMap(names)
        var hint = "All commands: \(parent) --help"
        if path.isEmpty, let command = translations[word.lowercased()] {
            return UsageError(
                "unknown command \"\(TerminalSafe.text(word))\".", hint: "For that: \(command)\n\(hint)")
        }
        // "remove" is more similar to "retire" than to "rm", but a user who wants to remove something must be shown
        // `rm`.
        let nearest = removals.contains(word.lowercased())
            ? names.first { $0 == "rm" } : EditDistance.nearest(to: word, among: names)
        if let nearest { hint = "Did you mean \"\(nearest)\"? " + hint }
        let place = path.isEmpty ? "" : " of \(parent)"
        return UsageError("unknown command \"\(TerminalSafe.text(word))\"\(place).", hint: hint)
    }

    /// The error for an unknown option before the verb. For combined short options, as in -phunter2, it repeats only
    /// the first letter.
    private static func unknown(option: String, after path: [String]) -> UsageError {
        let isLong = option.hasPrefix("--")
        let name = isLong ? option : String(option.prefix(2)) + (option.count > 2 ? "…" : "")
        let known = GlobalOptions.namesTakingValue.union(GlobalOptions.flags).filter { $0.hasPrefix("--") }
        let nearest = isLong
            ? EditDistance.nearest(
                to: String(option.dropFirst(2)), among: known.map { String($0.dropFirst(2)) }.sorted()) : nil
        return UsageError(
            "unknown option '\(TerminalSafe.text(name))'." + (nearest.map { " Did you mean '--\($0)'?" } ?? ""),
            hint: "Only global options may precede a command; its own options follow it.\n"
                + "All commands: \((["keyfob"] + path).joined(separator: " ")) --help")
    }
}
