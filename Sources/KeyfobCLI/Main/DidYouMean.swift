import ArgumentParser
import Keyfob

/// Suggestions for options that a command does not have.
enum DidYouMean {
    /// Returns ArgumentParser's message without an implausible suggestion: it treats "--yes" and "--host" as similar.
    static func checked(_ message: String) -> String {
        guard !message.contains("\n") else { return inOneLine(message) }
        guard let match = message.firstMatch(of: /^Unknown option '--?([^']*)'\. Did you mean '--?([^']*)'\?$/),
            EditDistance.nearest(to: String(match.1), among: [String(match.2)]) == nil
        else { return message }
        return "Unknown option '\(message.split(separator: "'", maxSplits: 2)[1])'."
    }

    /// Joins the lines of a message. Some messages have a line per choice, and line breaks would be escaped.
    private static func inOneLine(_ message: String) -> String {
        message.replacing("one of the following:\n  - ", with: "one of: ").replacing("\n  - ", with: ", ")
            .replacing(/\n */, with: " ")
    }

    /// The commands that have the unknown option of a message; empty if there are more than four.
    static func commands(with message: String) -> [String] {
        guard let option = message.firstMatch(of: /^unknown option '(--[a-z-]+)'\.?/)?.1 else { return [] }
        // Builds the whole command tree, which is slow but only happens after an error.
        let found = leaves(KeyfobCommand.self, []).filter { command, _ in
            KeyfobCommand.helpMessage(for: command).contains("  \(option) ")
        }
        return found.count > 4 ? [] : found.map { (["keyfob"] + $0.path).joined(separator: " ") }
    }

    /// A description of the expected format, for a message about an invalid value; `nil` if the message needs none.
    static func form(for message: String) -> String? {
        switch message.firstMatch(of: /is invalid for '[^']*<([a-z]+)>'/)?.1 {
        case "date": "A day, or a time with its zone, such as 2026-12-24 or 2026-12-24T08:00:00Z."
        case "duration": "A number and a unit (ms, s, m, h, d, w, y), such as 10s or 30d; at most 100y."
        case "format": "Commands that write files accept further formats: see their --help."
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
