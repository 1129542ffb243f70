import Keyfob

/// Aligned columns for people.
struct Table: Sendable {
    /// One column.
    struct Column: Sendable {
        /// The heading, in capitals.
        let title: String
        /// Whether the column may be truncated when the terminal is narrow.
        let mayShrink: Bool

        init(_ title: String, mayShrink: Bool = false) {
            self.title = title
            self.mayShrink = mayShrink
        }
    }

    /// One cell: untrusted text, made safe for a terminal, and a style.
    struct Cell: Sendable, ExpressibleByStringLiteral {
        let text: String
        let style: Style?

        init(_ text: String, _ style: Style? = nil) {
            self.text = TerminalSafe.text(text)
            self.style = style
        }

        init(stringLiteral value: String) { self.init(value) }
    }

    private static let gap = 3
    private static let narrowest = 8
    /// The widest column when nothing is truncated. Longer cells push the rest of their line to the right.
    private static let widest = 120

    let columns: [Column]
    private(set) var rows: [[Cell]] = []

    init(_ columns: [Column]) {
        self.columns = columns
    }

    /// Adds a row. Extra cells are dropped, missing ones are empty.
    mutating func add(_ cells: [Cell]) {
        rows.append((0..<columns.count).map { $0 < cells.count ? cells[$0] : Cell("") })
    }

    /// Renders the table, heading first, without trailing blanks.
    ///
    /// - Parameter width: The width of the terminal; columns that may shrink are truncated to fit. `nil` truncates
    ///   nothing, as needed for programs and files.
    func rendered(width: Int?, colour: Colour) -> String {
        let widths = columnWidths(within: width)
        var text = line(columns.map { Cell($0.title, .bold) }, widths, colour)
        // With a limit, `columnWidths` has already taken all rows into account.
        for row in rows { text += line(row, width == nil ? room(for: row, widths, within: nil) : widths, colour) }
        return text
    }

    /// The widths for a row that may need wider cells than the columns have.
    ///
    /// Cells keep their full width if the line has room. Cells wider than their column shrink first.
    func room(for cells: [Cell], _ widths: [Int], within limit: Int?) -> [Int] {
        var room = zip(widths, cells).map { max($0, DisplayWidth.of($1.text)) }
        guard let limit else { return room }
        shrink(&room, to: limit) { widths[$0] }
        shrink(&room, to: limit) { _ in Self.narrowest }
        return room
    }

    /// The column widths; with `limit`, such that a line fits into that many terminal columns.
    func columnWidths(within limit: Int?) -> [Int] {
        var widths = columns.indices.map { index in
            rows.reduce(DisplayWidth.of(columns[index].title)) { max($0, DisplayWidth.of($1[index].text)) }
        }
        guard let limit else { return widths.map { min($0, Self.widest) } }
        shrink(&widths, to: limit) { _ in Self.narrowest }
        return widths
    }

    /// Shrinks the columns that may shrink until a line fits into `limit` columns.
    ///
    /// - Parameter least: The smallest allowed width of a column.
    private func shrink(_ widths: inout [Int], to limit: Int, least: (Int) -> Int) {
        var excess = widths.reduce(0, +) + Self.gap * max(0, columns.count - 1) - limit
        while excess > 0 {
            // The widest column shrinks first, so that short ones stay whole.
            let candidates = columns.indices.filter { columns[$0].mayShrink && widths[$0] > least($0) }
            guard let widest = candidates.max(by: { widths[$0] < widths[$1] }) else { break }
            widths[widest] -= 1
            excess -= 1
        }
    }

    /// Returns lines of a name and a text each, with aligned texts.
    static func pairs(_ lines: [(String, String)]) -> String {
        let width = lines.map(\.0.count).max() ?? 0
        return lines.map { name, value in
            "\(name)\(String(repeating: " ", count: width - name.count + 2))\(TerminalSafe.text(value))"
        }.joined(separator: "\n")
    }

    /// Renders one line, with each cell truncated to its column's width.
    func line(_ cells: [Cell], _ widths: [Int], _ colour: Colour) -> String {
        var result = ""
        // Blanks are added only before more text, so that no line ends in blanks.
        var pending = 0
        for (index, cell) in cells.enumerated() {
            let shown = DisplayWidth.truncated(cell.text, to: widths[index])
            let padding = widths[index] - DisplayWidth.of(shown)
            if !shown.isEmpty {
                result += String(repeating: " ", count: pending) + colour.apply(cell.style, to: shown)
                pending = 0
            }
            pending += padding + Self.gap
        }
        return result + "\n"
    }
}

extension Table {
    /// A table of two columns, with a row for each text or number that is not empty.
    init(attributes members: Members) {
        self.init([.init("ATTRIBUTE"), .init("VALUE")])
        for member in members {
            let text: String? =
                switch member.value {
                case .string(let text): text.isEmpty ? nil : text
                case .integer(let number): String(number)
                default: nil
                }
            if let text { add([.init(member.name), .init(text)]) }
        }
    }
}
