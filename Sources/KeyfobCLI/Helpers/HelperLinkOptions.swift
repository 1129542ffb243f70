import ArgumentParser

/// The options of the commands that work on links of helpers.
struct HelperLinkOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The directory of the links; ~/.local/bin by default.", valueName: "dir"),
        completion: .directory)
    var bin: String?

    var folder: HelperLink.Folder { HelperLink.Folder(bin) }
}
