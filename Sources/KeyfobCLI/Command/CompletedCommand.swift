import ArgumentParser

/// The tree of commands as completion scripts know it: `Base`, with the global options before its verb, too.
///
/// `Invocation` moves them behind the verb, so that the commands themselves need not declare them there; a script
/// made from the commands would take the value of `keyfob -k NAME` for a verb.
struct CompletedCommand<Base: ParsableCommand>: ParsableCommand {
    @OptionGroup var global: GlobalOptions

    static var configuration: CommandConfiguration {
        let base = Base.configuration
        return CommandConfiguration(
            commandName: base.commandName, abstract: base.abstract, version: base.version,
            shouldDisplay: base.shouldDisplay, subcommands: base.subcommands.map { completed($0) },
            aliases: base.aliases)
    }

    private static func completed<Command: ParsableCommand>(_ command: Command.Type) -> any ParsableCommand.Type {
        Command.configuration.subcommands.isEmpty ? Command.self : CompletedCommand<Command>.self
    }
}

extension CompletedCommand {
    /// The script for `shell`.
    static func script(for shell: CompletionShell) -> String {
        let script = completionScript(for: shell)
        guard shell == .bash else { return script }
        // bash alone would offer all options where a verb is due, and nobody has typed a hyphen.
        return script.replacing(#" || "${positional_number}" -eq -1 ]]"#, with: " ]]")
    }
}
