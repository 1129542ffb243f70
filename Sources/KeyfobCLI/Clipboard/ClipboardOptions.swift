import ArgumentParser
import Keyfob

/// The options of commands that can copy a secret instead of printing it.
struct ClipboardOptions: ParsableArguments {
    @Flag(help: "Copy it to the clipboard of the desktop instead of printing it.")
    var copy = false

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp(
            "With --copy: when to clear the clipboard, if it still holds the secret; 45s by default, 0 for never.",
            valueName: "duration"))
    var duration: TimeSpan?

    /// The clipboard to copy to; `nil` without `--copy`.
    ///
    /// - Throws: `UsageError` for `--for` without `--copy`; `KeychainError.failed` if there is no clipboard.
    func target() throws -> ClipboardTarget? {
        guard copy else {
            guard duration == nil else {
                throw UsageError("--for only applies to --copy.", hint: "Add --copy, or leave out --for")
            }
            return nil
        }
        return ClipboardTarget(clipboard: try Clipboard.find(), time: duration?.duration ?? .seconds(45))
    }
}
