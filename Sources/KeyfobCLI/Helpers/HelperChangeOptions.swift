import ArgumentParser

/// The arguments of the commands that make and remove links of helpers, and the configuration of other programs.
struct HelperChangeOptions: ParsableArguments {
    @Argument(help: "git, docker, cargo, keyring, kubectl or aws.")
    var helpers: [HelperProgram]

    @Flag(help: "Also change the configuration of git or docker.")
    var configure = false

    @Option(
        help: ArgumentHelp(
            "With docker: change the configuration for this registry only; may be repeated.", valueName: "host"))
    var registry: [String] = []

    @OptionGroup var links: HelperLinkOptions

    /// The state of the helpers.
    ///
    /// - Throws: `UsageError` for a registry without docker; the errors of `HelperReport`.
    func reports() throws -> [HelperReport] {
        guard registry.isEmpty || helpers.contains(.docker) else {
            throw UsageError("only docker has registries; nothing was changed.", hint: "Leave out --registry")
        }
        let (programs, folder) = (helpers.distinct, links.folder)
        // Nothing is changed if one of the links belongs to another program.
        for name in programs.compactMap(\.name) { try HelperLink(name, in: folder).requireOwn() }
        return try programs.map { program in
            let registries = program == .docker ? registry : []
            return try HelperReport(HelperConfiguration(program: program, registries: registries), in: folder)
        }
    }
}
