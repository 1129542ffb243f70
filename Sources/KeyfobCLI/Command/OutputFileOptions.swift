import ArgumentParser
import KeyfobPrimitives

/// Where a command writes the public file it makes: `-o FILE`, or standard output without one.
struct OutputFileOptions: ParsableArguments {
    @Option(
        name: [.customShort("o"), .customLong("output")], help: ArgumentHelp("The file to write.", valueName: "file"),
        completion: .file())
    var path: String?

    /// What messages call the file.
    var name: String { path.flatMap { FileArgument(argument: $0)?.name } ?? "" }

    /// Anybody may read it.
    private func destination(waiting timeout: TimeSpan?) -> FileDestination {
        FileDestination(path: path, mode: 0o644, timeout: timeout)
    }

    /// Writes the file and tells of it; nothing but the file where it goes to standard output.
    ///
    /// There the document takes the file's place for programs that want one: it has the content as well.
    ///
    /// - Parameters:
    ///   - bytes: The file's content, asked for when it is written.
    ///   - document: What there is to tell; whether the file was changed is added.
    ///   - force: Whether a terminal gets bytes that are no text.
    ///   - isDryRun: Whether the file is left unwritten, and that is said.
    ///   - timeout: `--timeout`, where it was given.
    /// - Throws: As `FileDestination.write(_:isPrivateKey:force:)` and `Output.emit(_:sentence:)`.
    func write(
        _ bytes: @autoclosure () throws -> SecretBytes, document: Document, sentence: @autoclosure () -> String,
        force: Bool = false, isDryRun: Bool, waiting timeout: TimeSpan?, _ output: Output
    ) throws {
        let destination = self.destination(waiting: timeout)
        let hasFile = try !destination.isStandardOutput
        if !hasFile, output.format.isMachineReadable {
            return try output.emit(document.telling(ofChange: false), sentence: "")
        }
        guard !isDryRun else {
            return try output.emit(
                document.telling(ofChange: false), sentence: "Nothing was written (--dry-run).")
        }
        let isChanged = try destination.write(bytes(), force: force)
        guard hasFile else { return }
        try output.emit(document.telling(ofChange: isChanged), sentence: sentence())
    }
}
