import ArgumentParser

/// Three command lines that show what a command is for; its help starts with them.
struct Examples: Sendable {
    let lines: [String]

    init(_ first: String, _ second: String, _ third: String) {
        lines = [first, second, third]
    }

    /// The text above the usage in `--help`.
    func discussion(_ more: String) -> String {
        "Examples:\n" + lines.map { "  \($0)\n" }.joined() + (more.isEmpty ? "" : "\n\(more)")
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
