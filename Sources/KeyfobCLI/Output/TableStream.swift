/// A table of any length, printed while its rows arrive.
///
/// The first rows determine the column widths. A later row with wider cells shifts the rest of its line to the right.
struct TableStream: ~Copyable {
    /// The number of rows collected before the first is printed.
    private static let lookAhead = 256
    private static let flushSize = 32 << 10

    private var table: Table
    private var widths: [Int]?
    private let limit: Int?
    private let colour: Colour
    private var buffer = ""

    init(_ columns: [Table.Column], width: Int?, colour: Colour) {
        table = Table(columns)
        limit = width
        self.colour = colour
    }

    /// Adds a row.
    ///
    /// - Throws: `KeychainError.fileUnavailable` or `diskFull` if standard output cannot be written.
    mutating func add(_ cells: [Table.Cell]) throws {
        guard let widths else {
            table.add(cells)
            if table.rows.count == Self.lookAhead { try settle() }
            return
        }
        // With a limit (a terminal), cells that do not fit are truncated; programs get them whole.
        buffer += table.line(cells, table.room(for: cells, widths, within: limit), colour)
        if buffer.utf8.count >= Self.flushSize { try flush() }
    }

    /// Prints the remaining rows.
    ///
    /// - Throws: `KeychainError.fileUnavailable` or `diskFull` if standard output cannot be written.
    mutating func finish() throws {
        if widths == nil { try settle() }
        try flush()
    }

    private mutating func settle() throws {
        widths = table.columnWidths(within: limit)
        buffer += table.rendered(width: limit, colour: colour)
        table = Table(table.columns)
    }

    private mutating func flush() throws {
        try StandardOutput.write(buffer)
        buffer = ""
    }
}
