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
        guard !format.isMachineReadable else { return try emit(document()) }
        try StandardOutput.write(table().rendered(width: StandardOutput.terminalWidth, colour: colour))
    }

    /// Prints the result: sentences for people, none with `--quiet`, the document for programs.
    ///
    /// - Throws: as `emit(_:table:)`.
    func emit(_ document: @autoclosure () -> Document, sentence: @autoclosure () -> String) throws {
        if format.isMachineReadable {
            try emit(document())
        } else if !isQuiet {
            try StandardOutput.write(sentence() + "\n")
        }
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

    private func emit(_ document: Document) throws {
        try StandardOutput.write(document.rendered(as: format))
    }
}
