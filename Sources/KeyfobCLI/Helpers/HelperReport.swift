import Keyfob

/// The state of a helper's link, and of the configuration of the program that calls it.
struct HelperReport {
    let configuration: HelperConfiguration
    /// The link; `nil` for a helper without one.
    let link: HelperLink?
    var isLinked: Bool
    /// Whether the other program calls the helper; `nil` if this is not known.
    var isConfigured: Bool?
    /// Whether the command changed anything, or would in a dry run.
    var isChanged = false

    /// - Throws: The errors of `HelperConfiguration.isPresent()`.
    init(_ configuration: HelperConfiguration, in folder: HelperLink.Folder) throws {
        self.configuration = configuration
        link = configuration.program.name.map { HelperLink($0, in: folder) }
        if case .linked? = link?.state { isLinked = true } else { isLinked = false }
        isConfigured = try configuration.isPresent()
    }

    var program: HelperProgram { configuration.program }

    var members: Members {
        [
            "name": program.rawValue, "program": program.name, "link": isLinked ? link?.path : nil,
            "configured": isConfigured,
        ]
    }

    /// Prints the document of a command that changes helpers.
    ///
    /// - Parameters:
    ///   - reports: The helpers, after the change.
    ///   - action: What was done with those that were changed.
    ///   - global: The options.
    ///   - output: The output.
    /// - Throws: `KeychainError` if standard output cannot be written.
    static func emit(
        _ reports: [HelperReport], _ action: Effect.Action, _ global: GlobalOptions, _ output: Output
    ) throws {
        let list = reports.map { $0.members + global.effect($0.isChanged ? action : .none).members }
        let effect = global.effect(reports.contains(where: \.isChanged) ? action : .none)
        try output.emit(Document(effect, ["helpers": list]), sentence: "")
    }
}
