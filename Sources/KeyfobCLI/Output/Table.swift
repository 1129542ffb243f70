import Keyfob

/// Aligned columns for people.
struct Table: Sendable {
    /// One column.
    struct Column: Sendable {
        /// The heading, in capitals.
        let title: String
        /// Whether cells end at the right edge, as numbers should.
        let alignsRight: Bool
        /// Whether the column may lose text when the terminal is narrow.
        let mayShrink: Bool

        init(_ title: String, alignsRight: Bool = false, mayShrink: Bool = false) {
            self.title = title
            self.alignsRight = alignsRight
            self.mayShrink = mayShrink
        }
    }

    /// One cell: text from anywhere, and the colour that underlines its meaning.
    struct Cell: Sendable, ExpressibleByStringLiteral {
        let text: String
        let style: Style?

        init(_ text: String, _ style: Style? = nil) {
            self.text = Visible.text(text)
            self.style = style
        }

        init(stringLiteral value: String) { self.init(value) }
    }

    private static let gap = 3
    private static let narrowest = 8
    /// How far one cell pushes the others out where nothing is cut. Names may have any length, and a table rows.
    private static let widest = 120

    let columns: [Column]
    private(set) var rows: [[Cell]] = []

    init(_ columns: [Column]) {
        self.columns = columns
    }

    /// Adds a row. Cells beyond the columns are dropped, missing ones are empty.
    mutating func add(_ cells: [Cell]) {
        rows.append((0..<columns.count).map { $0 < cells.count ? cells[$0] : Cell("") })
    }

    /// The lines, heading first, without blanks at their ends.
    ///
    /// - Parameter width: the terminal's columns, to which columns that may shrink give way; `nil` keeps
    ///   every cell whole, as a program or a file should get it.
    func rendered(width: Int?, colour: Colour) -> String {
        let widths = columnWidths(within: width)
        var text = line(columns.map { Cell($0.title, .bold) }, widths, colour)
        // On a terminal all rows have had their say.
        for row in rows { text += line(row, width == nil ? room(for: row, widths, within: nil) : widths, colour) }
        return text
    }

    /// How wide the cells may be of a row that the columns were not made for: as wide as they are, as long as the line
    /// has room for it. What needs more than its column has gives way first.
    func room(for cells: [Cell], _ widths: [Int], within limit: Int?) -> [Int] {
        var room = zip(widths, cells).map { max($0, DisplayWidth.of($1.text)) }
        guard let limit else { return room }
        shrink(&room, to: limit) { widths[$0] }
        shrink(&room, to: limit) { _ in Self.narrowest }
        return room
    }

    /// How wide the columns are within `limit` columns of a terminal.
    func columnWidths(within limit: Int?) -> [Int] {
        var widths = columns.indices.map { index in
            rows.reduce(DisplayWidth.of(columns[index].title)) { max($0, DisplayWidth.of($1[index].text)) }
        }
        guard let limit else { return widths.map { min($0, Self.widest) } }
        shrink(&widths, to: limit) { _ in Self.narrowest }
        return widths
    }

    /// Takes of columns that may shrink what a line of `limit` columns has no room for, but never more than leaves
    /// `least` of each.
    private func shrink(_ widths: inout [Int], to limit: Int, least: (Int) -> Int) {
        var excess = widths.reduce(0, +) + Self.gap * max(0, columns.count - 1) - limit
        while excess > 0 {
            // The widest column gives first, so that short ones stay whole.
            let candidates = columns.indices.filter { columns[$0].mayShrink && widths[$0] > least($0) }
            guard let widest = candidates.max(by: { widths[$0] < widths[$1] }) else { break }
            widths[widest] -= 1
            excess -= 1
        }
    }

    /// One line, each cell cut to its column's width.
    func line(_ cells: [Cell], _ widths: [Int], _ colour: Colour) -> String {
        var result = ""
        // Blanks are held back until more text follows, so that no line ends in them.
        var pending = 0
        for (index, cell) in cells.enumerated() {
            let shown = DisplayWidth.truncated(cell.text, to: widths[index])
            let padding = widths[index] - DisplayWidth.of(shown)
            if columns[index].alignsRight { pending += padding }
            if !shown.isEmpty {
                result += String(repeating: " ", count: pending) + colour.apply(cell.style, to: shown)
                pending = 0
            }
            pending += (columns[index].alignsRight ? 0 : padding) + Self.gap
        }
        return result + "\n"
    }
}
