import Keyfob

/// Prints the result, the sentences and the notes of a command.
struct Output: Sendable {
    let format: OutputFormat
    let colour: Colour
    let isQuiet: Bool
    let verbosity: Int

    /// Whether sentences are printed: the format is not machine-readable, and `--quiet` is not set.
    var isForPeople: Bool { !format.isMachineReadable && !isQuiet }

    /// Prints the result: a table, or a document in a machine-readable format.
    ///
    /// - Throws: `KeychainError.fileUnavailable` or `diskFull` if standard output cannot be written.
    func emit(_ document: @autoclosure () -> Document, table: @autoclosure () -> Table) throws {
        guard !format.isMachineReadable else { return try emit(document(), isListing: true) }
        try StandardOutput.write(table().rendered(width: StandardOutput.terminalWidth, colour: colour))
    }

    /// Prints the requested text, also with `--quiet`, or the document in a machine-readable format.
    ///
    /// Prints nothing for an empty text.
    ///
    /// - Throws: `KeychainError.fileUnavailable` or `diskFull` if standard output cannot be written.
    func emit(_ document: @autoclosure () -> Document, text: @autoclosure () -> String) throws {
        guard !format.isMachineReadable else { return try emit(document(), isListing: false) }
        let text = text()
        guard !text.isEmpty else { return }
        do { try StandardOutput.write(text + "\n") } catch {
            throw document().tellsOfChange ? Self.unreported(error) : error
        }
    }

    /// Prints a sentence about what was done, or the document in a machine-readable format. `--quiet` omits the
    /// sentence.
    ///
    /// - Throws: `KeychainError.fileUnavailable` or `diskFull` if standard output cannot be written.
    func emit(_ document: @autoclosure () -> Document, sentence: @autoclosure () -> String) throws {
        try emit(document(), text: isQuiet ? "" : sentence())
    }

    /// Runs `report`, which prints the result of a change that is already made.
    ///
    /// - Throws: The error of `report`. Errors about writing say that the work is done, so that the user does not
    ///   repeat it.
    static func afterChange(_ report: () throws -> Void) throws {
        do { try report() } catch { throw unreported(error) }
    }

    private static func unreported(_ error: any Error) -> any Error {
        guard let error = error as? KeychainError, [.diskFull, .fileUnavailable].contains(error.code) else {
            return error
        }
        return error.replacing(
            message: "the command succeeded, but \(error.message)", remedies: ["Only its output is incomplete."])
    }

    /// Prints a sentence, unless the format is machine-readable or `--quiet` is set.
    ///
    /// - Throws: `KeychainError.fileUnavailable` or `diskFull` if standard output cannot be written.
    func say(_ sentence: @autoclosure () -> String) throws {
        guard isForPeople else { return }
        try StandardOutput.write(sentence() + "\n")
    }

    /// Writes a sentence to standard error, unless the format is machine-readable or `--quiet` is set.
    func warn(_ sentence: @autoclosure () -> String) {
        if isForPeople { StandardError.write("keyfob: \(sentence())\n") }
    }

    /// Writes a step of a slow operation to standard error, with `-v`.
    func tell(step: String) {
        if verbosity > 0 { StandardError.write("keyfob: \(TerminalSafe.text(step))\n") }
    }

    private func emit(_ document: Document, isListing: Bool) throws {
        let text = try document.rendered(as: format, isListing: isListing)
        do { try StandardOutput.write(text) } catch {
            throw document.tellsOfChange ? Self.unreported(error) : error
        }
    }
}
