import ArgumentParser

/// `keyfob completion`: prints the completion script for a shell.
struct CompletionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "completion", "Print the completion script for a shell.",
        examples: Examples(
            "keyfob completion bash > ~/.local/share/bash-completion/completions/keyfob",
            "keyfob completion zsh > \"${fpath[1]}/_keyfob\"",
            "keyfob completion fish > ~/.config/fish/completions/keyfob.fish"),
        discussion: """
            The directory must exist and be writable: mkdir -p ~/.local/share/bash-completion/completions. For the \
            current shell only: source <(keyfob completion bash), likewise with zsh, or keyfob completion fish \
            | source.
            """)

    /// The supported shells.
    enum Shell: String, CaseIterable, ExpressibleByArgument {
        case bash, zsh, fish

        fileprivate var completion: CompletionShell {
            switch self {
            case .bash: .bash
            case .zsh: .zsh
            case .fish: .fish
            }
        }
    }

    @Argument(help: "bash, zsh or fish.")
    var shell: Shell

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run() throws {
        let script = CompletedCommand<KeyfobCommand>.script(for: shell.completion)
        // KEYFOB_FORMAT must not change what a shell evaluates at startup.
        guard global.json || global.formatOption != nil else { return try StandardOutput.write(script + "\n") }
        try global.output().emit(
            Document(["shell": shell.rawValue, "script": script + "\n"]), text: script)
    }
}
