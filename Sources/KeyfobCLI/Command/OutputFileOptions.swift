import ArgumentParser
import Glibc
import Keyfob
import KeyfobPrimitives

/// The destination of a file that a command writes: `-o FILE`, or standard output.
struct OutputFileOptions: ParsableArguments {
    @Option(
        name: [.customShort("o"), .customLong("output")], help: ArgumentHelp("The file to write.", valueName: "file"),
        completion: .file())
    var path: String?

    /// The name of the file for messages.
    var name: String { path.flatMap { FileArgument(argument: $0)?.name } ?? "" }

    /// Whether the output goes to standard output.
    ///
    /// - Throws: `KeychainError` if the links of the path cannot be followed.
    var isStandardOutput: Bool {
        get throws(KeychainError) { try FileDestination(path: path, mode: 0o600).isStandardOutput }
    }

    /// Writes the file and reports it. On standard output, only the file is written.
    ///
    /// With a machine-readable format on standard output, the document is printed instead of the file; it contains the
    /// content.
    ///
    /// - Parameters:
    ///   - bytes: The content of the file; evaluated when it is written.
    ///   - members: The members of the document after those of the effect on the file.
    ///   - force: Whether binary data may go to a terminal.
    ///   - mode: The mode of the file; by default all users may read it.
    ///   - isDryRun: Whether to report only that nothing was written.
    ///   - timeout: The value of `--timeout`, if given.
    /// - Throws: `KeychainError.fileUnavailable`, `refused`, `diskFull` or `timedOut` if the file or standard output
    ///   cannot be written.
    func write(
        _ bytes: @autoclosure () throws -> SecretBytes, members: Members, sentence: @autoclosure () -> String,
        force: Bool = false, mode: mode_t = 0o644, isDryRun: Bool, waiting timeout: TimeSpan?, _ output: Output
    ) throws {
        let destination = FileDestination(path: path, mode: mode, timeout: timeout)
        let hasFile = try !destination.isStandardOutput
        if !hasFile, output.format.isMachineReadable {
            return try output.emit(Document(Effect(.none, isDryRun: isDryRun), members), sentence: "")
        }
        guard !isDryRun else {
            let action = hasFile ? try destination.action(of: bytes()) : .none
            return try output.emit(
                Document(Effect(action, isDryRun: true), members), sentence: "Dry run: no file was written.")
        }
        let action = try destination.write(bytes(), force: force)
        guard hasFile else { return }
        try output.emit(Document(Effect(action, isDryRun: false), members), sentence: sentence())
    }

    /// Reports the dry run of a command whose file has new content each time.
    ///
    /// - Throws: `KeychainError.fileUnavailable` or `refused` if the file cannot be written; the errors of the output.
    func plan(members: Members, _ output: Output) throws {
        let action = try FileDestination(path: path, mode: 0o644).action(of: nil)
        try output.emit(Document(Effect(action, isDryRun: true), members), sentence: "Dry run: no file was written.")
    }
}
