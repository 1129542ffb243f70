/// A table of any length, printed as its rows come.
///
/// The first rows decide how wide the columns are; later ones that need more push what follows to the right.
struct TableStream: ~Copyable {
    /// How many rows are looked at before the first is printed.
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

    /// Adds a row. - Throws: `KeychainError.fileUnavailable` when standard output takes no more.
    mutating func add(_ cells: [Table.Cell]) throws {
        guard let widths else {
            table.add(cells)
            if table.rows.count == Self.lookAhead { try settle() }
            return
        }
        // On a terminal what a line has no room for is cut as in any table; a program gets it whole.
        buffer += table.line(cells, table.room(for: cells, widths, within: limit), colour)
        if buffer.utf8.count >= Self.flushSize { try flush() }
    }

    /// Prints what is left. - Throws: as `add`.
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
