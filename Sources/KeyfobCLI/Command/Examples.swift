import ArgumentParser

/// Three example command lines for a command; its help starts with them.
struct Examples: Sendable {
    let lines: [String]

    init(_ first: String, _ second: String, _ third: String) {
        lines = [first, second, third]
    }

    /// The text before the usage in `--help`.
    func discussion(_ more: String) -> String {
        "Examples:\n" + lines.map { "  \(Self.folded($0))\n" }.joined() + (more.isEmpty ? "" : "\n\(more)")
    }

    /// The number of columns for an example in a help text of 80 columns, excluding the indentation and the backslash.
    private static let width = 75

    /// Folds a command line into several lines that a shell reads as one command.
    ///
    /// ArgumentParser would break the line at any blank without a backslash, and a shell would run the pasted lines as
    /// two commands. A line that contains line breaks is unchanged.
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

    /// The words of a command line, including their quotes.
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
    /// Creates the configuration of a command with its one-line abstract, three examples and further discussion.
    init(
        _ name: String, _ abstract: String, examples: Examples, discussion: String = "", version: String = "",
        shouldDisplay: Bool = true, subcommands: [any ParsableCommand.Type] = [], aliases: [String] = []
    ) {
        self.init(
            commandName: name, abstract: abstract, discussion: examples.discussion(discussion), version: version,
            shouldDisplay: shouldDisplay, subcommands: subcommands, aliases: aliases)
    }
}
