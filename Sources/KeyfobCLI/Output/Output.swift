import Keyfob

/// Where a command puts its result, its sentences and its notes.
struct Output: Sendable {
    let format: OutputFormat
    let colour: Colour
    let isQuiet: Bool
    let verbosity: Int

    /// Prints the result: the table for people, the document for programs.
    ///
    /// - Throws: `KeychainError.fileUnavailable` when standard output takes no more.
    func emit(_ document: @autoclosure () -> Document, table: @autoclosure () -> Table) throws {
        guard !format.isMachineReadable else { return try emit(document(), isListing: true) }
        try StandardOutput.write(table().rendered(width: StandardOutput.terminalWidth, colour: colour))
    }

    /// Prints what was asked for: the text for people, with `--quiet` too, the document for programs. Nothing for an
    /// empty text.
    ///
    /// - Throws: as `emit(_:table:)`.
    func emit(_ document: @autoclosure () -> Document, text: @autoclosure () -> String) throws {
        guard !format.isMachineReadable else { return try emit(document(), isListing: false) }
        let text = text()
        guard !text.isEmpty else { return }
        do { try StandardOutput.write(text + "\n") } catch {
            throw document().tellsOfChange ? Self.unreported(error) : error
        }
    }

    /// Prints what was done: sentences for people, none with `--quiet`, the document for programs.
    ///
    /// - Throws: as `emit(_:table:)`.
    func emit(_ document: @autoclosure () -> Document, sentence: @autoclosure () -> String) throws {
        try emit(document(), text: isQuiet ? "" : sentence())
    }

    /// Runs `report`, which tells of a change that is made by now.
    ///
    /// - Throws: What `report` throws, as the error of a command whose work is done: nobody shall repeat it.
    static func afterChange(_ report: () throws -> Void) throws {
        do { try report() } catch { throw unreported(error) }
    }

    private static func unreported(_ error: any Error) -> any Error {
        guard let error = error as? KeychainError, [.diskFull, .fileUnavailable].contains(error.code) else {
            return error
        }
        return KeychainError(
            error.code, "what was asked for is done, but \(error.message)", hint: "Only the report of it is missing.",
            details: error.details, cause: error.cause)
    }

    /// Prints a sentence to people who want sentences; nothing where a document will be printed.
    ///
    /// - Throws: as `emit(_:table:)`.
    func say(_ sentence: @autoclosure () -> String) throws {
        guard !format.isMachineReadable, !isQuiet else { return }
        try StandardOutput.write(sentence() + "\n")
    }

    /// Writes a step to standard error with `-v`.
    func note(_ sentence: @autoclosure () -> String, level: Int = 1) {
        guard verbosity >= level else { return }
        StandardError.write("keyfob: \(sentence())\n")
    }

    private func emit(_ document: Document, isListing: Bool) throws {
        let text = try document.rendered(as: format, isListing: isListing)
        do { try StandardOutput.write(text) } catch {
            throw document.tellsOfChange ? Self.unreported(error) : error
        }
    }
}
