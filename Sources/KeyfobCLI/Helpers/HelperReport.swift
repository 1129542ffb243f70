import Keyfob

/// The state of a helper's link, and of the configuration of the program that calls it.
struct HelperReport {
    let configuration: HelperConfiguration
    /// The link; `nil` for a helper without one.
    let link: HelperLink?
    var isLinked: Bool
    /// Whether the other program calls the helper; `nil` if this is not known.
    var isConfigured: Bool?
    /// The action of the command; in a dry run, the one that it would take.
    private(set) var action = Effect.Action.none

    /// - Throws: The errors of `HelperConfiguration.isPresent()`.
    init(_ configuration: HelperConfiguration, in folder: HelperLink.Folder) throws {
        self.configuration = configuration
        link = configuration.program.name.map { HelperLink($0, in: folder) }
        if case .linked? = link?.state { isLinked = true } else { isLinked = false }
        isConfigured = try configuration.isPresent()
    }

    var program: HelperProgram { configuration.program }

    /// Whether the command changed anything, or would in a dry run.
    var isChanged: Bool { action != .none }

    /// Records one change.
    ///
    /// The helper is new if its link or its entry is new.
    mutating func note(_ change: Effect.Action) {
        if action != .create { action = change }
    }

    var members: Members {
        [
            "name": program.rawValue, "program": program.name, "link": isLinked ? link?.path : nil,
            "configured": isConfigured,
        ]
    }

    /// The error that ended a command, with the names of the helpers that were changed before.
    static func failure(_ error: KeychainError, after reports: [HelperReport]) -> KeychainError {
        let changed = reports.filter(\.isChanged).map(\.program.rawValue)
        guard !changed.isEmpty else { return error }
        return error.with(details: error.details.merging(["changed": changed.joined(separator: "\n")]) { $1 })
    }

    /// Prints the document of a command that changes helpers.
    ///
    /// - Parameters:
    ///   - reports: The helpers, after the change.
    ///   - global: The options.
    ///   - output: The output.
    /// - Throws: `KeychainError` if standard output cannot be written.
    static func emit(_ reports: [HelperReport], _ global: GlobalOptions, _ output: Output) throws {
        let list = reports.map { $0.members + global.effect($0.action).members }
        let changes: [Effect.Action] = [.create, .update, .delete]
        let action = changes.first { change in reports.contains { $0.action == change } } ?? Effect.Action.none
        try output.emit(Document(global.effect(action), ["helpers": list]), sentence: "")
    }
}
