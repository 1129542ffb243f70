extension Effect {
    /// The members of a document.
    var members: Members { ["action": action.rawValue, "changed": isMade, "dry_run": isDryRun] }

    /// The names of the members.
    static let names: Set = ["action", "changed", "dry_run"]
}
