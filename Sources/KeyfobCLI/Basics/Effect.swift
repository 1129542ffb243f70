/// The effect of a command or of its dry run: the members `action`, `changed` and `dry_run` of a document.
///
/// The document of a change is created with its effect, so that no such document lacks these members.
struct Effect: Equatable, Sendable {
    /// The kinds of changes.
    enum Action: String, Sendable {
        case create, update, delete
        /// Nothing is to be done.
        case none
    }

    /// The kind of the change. A dry run has the action of the run.
    let action: Action

    /// Whether the change was only asked for.
    let isDryRun: Bool

    /// Creates the effect of a command.
    init(_ action: Action, isDryRun: Bool) {
        self.action = action
        self.isDryRun = isDryRun
    }

    /// Whether something was changed.
    var isMade: Bool { action != .none && !isDryRun }
}
