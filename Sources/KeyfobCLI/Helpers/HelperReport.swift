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
    static func emit(_ reports: [HelperReport], isDryRun: Bool, _ output: Output) throws {
        let changed = reports.contains(where: \.isChanged)
        let list = reports.map { $0.members + ["action": $0.isChanged ? "update" : "none"] }
        try output.emit(
            Document(["helpers": list, "changed": changed && !isDryRun, "dry_run": isDryRun]), sentence: "")
    }
}
