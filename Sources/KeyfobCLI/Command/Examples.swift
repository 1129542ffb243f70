import ArgumentParser

/// Three command lines that show what a command is for; its help starts with them.
struct Examples: Sendable {
    let lines: [String]

    init(_ first: String, _ second: String, _ third: String) {
        lines = [first, second, third]
    }

    /// The text above the usage in `--help`.
    func discussion(_ more: String) -> String {
        "Examples:\n" + lines.map { "  \(Self.folded($0))\n" }.joined() + (more.isEmpty ? "" : "\n\(more)")
    }

    /// How much of an indented line a help of 80 columns shows, with a backslash behind it.
    private static let width = 75

    /// A command line on as many lines as it takes, which a shell takes for one.
    ///
    /// ArgumentParser would break it, too, at any blank and with nothing to say so: whoever pastes that runs two
    /// commands. One that has line breaks is left as it is.
    private static func folded(_ line: String) -> String {
        guard line.count > width, !line.contains("\n") else { return line }
        var lines = [""]
        for word in words(line) {
            let indent = lines.count > 1 ? 4 : 0
            let last = lines[lines.count - 1]
            if last.isEmpty {
                lines[lines.count - 1] = word
            } else if indent + last.count + 1 + word.count <= width {
                lines[lines.count - 1] += " " + word
            } else {
                lines.append(word)
            }
        }
        return lines.joined(separator: " \\\n      ")
    }

    /// The words of a command line, with their quotes.
    private static func words(_ line: String) -> [String] {
        var quote: Character?
        return line.split { character in
            if character == quote {
                quote = nil
            } else if quote == nil, "'\"".contains(character) {
                quote = character
            }
            return quote == nil && character == " "
        }.map(String.init)
    }
}

extension CommandConfiguration {
    /// A command with its one-line purpose, its three examples and what else there is to say.
    init(
        _ name: String, _ abstract: String, examples: Examples, discussion: String = "", version: String = "",
        shouldDisplay: Bool = true, subcommands: [any ParsableCommand.Type] = [], aliases: [String] = []
    ) {
        self.init(
            commandName: name, abstract: abstract, discussion: examples.discussion(discussion), version: version,
            shouldDisplay: shouldDisplay, subcommands: subcommands, aliases: aliases)
    }
}
