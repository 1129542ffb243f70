import ArgumentParser

/// A command that prints its result in the format that the global options choose.
protocol OutputCommand: ParsableCommand {
    var global: GlobalOptions { get }

    /// Runs the command, which prints to `output`.
    func run(_ output: Output) throws
}

extension OutputCommand {
    func run() throws { try run(global.output()) }
}
