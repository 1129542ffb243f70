import ArgumentParser
import KeyfobPrimitives

/// The destination of a public file that a command writes: `-o FILE`, or standard output.
struct OutputFileOptions: ParsableArguments {
    @Option(
        name: [.customShort("o"), .customLong("output")], help: ArgumentHelp("The file to write.", valueName: "file"),
        completion: .file())
    var path: String?

    /// The name of the file for messages.
    var name: String { path.flatMap { FileArgument(argument: $0)?.name } ?? "" }

    /// The file is public, so all users may read it.
    private func destination(waiting timeout: TimeSpan?) -> FileDestination {
        FileDestination(path: path, mode: 0o644, timeout: timeout)
    }

    /// Writes the file and reports it. On standard output, only the file is written.
    ///
    /// With a machine-readable format on standard output, the document is printed instead of the file; it contains the
    /// content.
    ///
    /// - Parameters:
    ///   - bytes: The content of the file; evaluated when it is written.
    ///   - document: The document; whether the file was changed is added to it.
    ///   - force: Whether binary data may go to a terminal.
    ///   - isDryRun: Whether to report only that nothing was written.
    ///   - timeout: The value of `--timeout`, if given.
    /// - Throws: `KeychainError.fileUnavailable`, `refused`, `diskFull` or `timedOut` if the file or standard output
    ///   cannot be written.
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
                document.telling(ofChange: false), sentence: "Dry run: no file was written.")
        }
        let isChanged = try destination.write(bytes(), force: force)
        guard hasFile else { return }
        try output.emit(document.telling(ofChange: isChanged), sentence: sentence())
    }
}
