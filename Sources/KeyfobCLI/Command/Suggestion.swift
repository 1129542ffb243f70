import ArgumentParser

/// What an option that a command does not have may have been meant to be.
enum Suggestion {
    /// ArgumentParser's message without a guess that is too far off: to it "--yes" is near to "--host".
    static func checked(_ message: String) -> String {
        guard !message.contains("\n") else { return inOneLine(message) }
        guard let match = message.firstMatch(of: /^Unknown option '--?([^']*)'\. Did you mean '--?([^']*)'\?$/),
            Spelling.nearest(to: String(match.1), among: [String(match.2)]) == nil
        else { return message }
        return "Unknown option '\(message.split(separator: "'", maxSplits: 2)[1])'."
    }

    /// A message in one line, as lines are shown escaped; in some each choice has a line of its own.
    private static func inOneLine(_ message: String) -> String {
        message.replacing("one of the following:\n  - ", with: "one of: ").replacing("\n  - ", with: ", ")
            .replacing(/\n */, with: " ")
    }

    /// The commands that do have the option of a message about an unknown one; none where they are many.
    static func commands(with message: String) -> [String] {
        guard let option = message.firstMatch(of: /^unknown option '(--[a-z-]+)'\.?/)?.1 else { return [] }
        // The whole tree is built for this; somebody who mistyped has the time.
        let found = leaves(KeyfobCommand.self, []).filter { command, _ in
            KeyfobCommand.helpMessage(for: command).contains("  \(option) ")
        }
        return found.count > 4 ? [] : found.map { (["keyfob"] + $0.path).joined(separator: " ") }
    }

    /// What a value looks like, for a message about one that does not; `nil` where it is plain, or in the message.
    static func form(for message: String) -> String? {
        switch message.firstMatch(of: /is invalid for '[^']*<([a-z]+)>'/)?.1 {
        case "date": "A day, or a moment with its zone, such as 2026-12-24 or 2026-12-24T08:00:00Z."
        case "duration": "A number and a unit (ms, s, m, h, d, w, y), such as 10s or 30d; no more than 100y."
        case "format": "A command that writes a file also takes the forms of that: see its --help."
        default: nil
        }
    }

    private static func leaves(
        _ command: any ParsableCommand.Type, _ path: [String]
    ) -> [(command: any ParsableCommand.Type, path: [String])] {
        let children = command.configuration.subcommands.filter { $0.configuration.shouldDisplay }
        guard !children.isEmpty else { return [(command, path)] }
        return children.flatMap { leaves($0, path + [$0.configuration.commandName ?? $0._commandName]) }
    }
}
