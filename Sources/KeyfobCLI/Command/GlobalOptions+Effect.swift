extension GlobalOptions {
    /// The effect of a command with these options.
    ///
    /// - Parameter action: What is done, or what a dry run would do.
    func effect(_ action: Effect.Action) -> Effect { Effect(action, isDryRun: dryRun) }
}
