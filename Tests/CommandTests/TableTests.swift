import Foundation
import Keyfob
import Testing

@testable import KeyfobCLI

@Suite struct TableTests {
    private func table(_ rows: [[Table.Cell]]) -> Table {
        var table = Table([Table.Column("NAME", mayShrink: true), Table.Column("N"), Table.Column("STATE")])
        for row in rows { table.add(row) }
        return table
    }

    @Test func `columns align and no line ends in blanks`() {
        let text = table([["api", "7", "ok"], ["www.example.org", "12", ""]]).rendered(width: nil, colour: .none)
        #expect(
            text == """
                NAME              N    STATE
                api               7    ok
                www.example.org   12

                """)
    }

    @Test func `wide characters and combining marks keep the columns straight`() {
        let text = table([["日本", "1", "x"], ["e\u{301}tat", "1", "x"], ["🔑", "1", "x"]]).rendered(
            width: nil, colour: .none)
        let columns = text.split(separator: "\n").dropFirst().map { line in
            DisplayWidth.of(String(line.prefix(upTo: line.firstIndex(of: "x") ?? line.startIndex)))
        }
        #expect(columns == [columns[0], columns[0], columns[0]])
        #expect(columns[0] == 4 + 3 + 1 + 3)
    }

    @Test func `one very long name does not widen every line of a table in a pipe`() {
        let long = String(repeating: "a", count: 5000)
        let text = table([["api", "7", "ok"], [Table.Cell(long), "12", "ok"]]).rendered(width: nil, colour: .none)
        let lines = text.split(separator: "\n").map(String.init)
        #expect(lines[0].count < 200 && lines[1].count == lines[0].count - 3)
        #expect(lines[2].hasPrefix(long + " ") && lines[2].hasSuffix(" 12   ok"))
    }

    @Test func `a narrow terminal shortens only the columns that may shrink`() {
        let long = String(repeating: "a", count: 60)
        let text = table([[Table.Cell(long), "1", "renew due"]]).rendered(width: 40, colour: .none)
        let lines = text.split(separator: "\n").map(String.init)
        #expect(lines.allSatisfy { DisplayWidth.of($0) <= 40 })
        #expect(lines[1].contains("…") && lines[1].hasSuffix("renew due"))
    }

    @Test(arguments: [
        // There is room, and the next column is moved.
        ("production/database/main", 60, "production/database/main   100   renew due"),
        // Only the name is shortened, down to its column.
        ("production/database/main", 36, "production/databa…   100   renew due"),
        ("production/database/main", 10, "pro…   100   renew due"),
    ])
    func `a late row has the room that its line has left`(name: String, limit: Int, line: String) {
        let first = table([["api", "7", "ok"]])
        let cells: [Table.Cell] = [Table.Cell(name), "100", "renew due"]
        let room = first.room(for: cells, first.columnWidths(within: limit), within: limit)
        #expect(first.line(cells, room, .none) == line + "\n")
    }

    @Test(arguments: [("น้ำ", 2), ("न्क्षि", 4), ("e\u{301}", 1), ("日本", 4), ("👩\u{200D}🚀", 2), ("각", 2)])
    func `a character takes as many columns as its letters`(text: String, columns: Int) {
        #expect(DisplayWidth.of(text) == columns)
    }

    @Test(arguments: [
        ("\u{1B}]0;pwned\u{7}", "\\x1b]0;pwned\\x07"), ("a\nb", "a\\nb"), ("\u{202E}gro", "\\u{202e}gro"),
        ("\u{9B}31m", "\\u{9b}31m"), ("\u{E0041}", "\\u{e0041}"), ("naïve 👩\u{200D}🚀", "naïve 👩\u{200D}🚀"),
    ])
    func `a label cannot control the terminal`(label: String, shown: String) {
        #expect(Table.Cell(label).text == shown)
    }

    @Test(
        arguments: [
            (When.auto, true, [:], true), (.auto, false, [:], false), (.auto, true, ["NO_COLOR": "1"], false),
            (.auto, true, ["NO_COLOR": ""], true), (.auto, true, ["TERM": "dumb"], false),
            (.auto, false, ["CLICOLOR_FORCE": "1"], true), (.auto, false, ["CLICOLOR_FORCE": "0"], false),
            (.auto, true, ["CLICOLOR_FORCE": "1", "NO_COLOR": "1"], false), (.always, false, ["NO_COLOR": "1"], true),
            (.never, true, ["CLICOLOR_FORCE": "1"], false),
        ] as [(When, Bool, [String: String], Bool)])
    func `colour follows the option, then the environment, then the terminal`(
        choice: When, isTerminal: Bool, environment: [String: String], expected: Bool
    ) {
        #expect(Colour(choice, isTerminal: isTerminal) { environment[$0] }.isEnabled == expected)
    }

    @Test func `colour does not move the columns`() {
        let plain = table([[Table.Cell("a", .bad), "1", "x"]]).rendered(width: nil, colour: .none)
        let coloured = table([[Table.Cell("a", .bad), "1", "x"]]).rendered(width: nil, colour: Colour(isEnabled: true))
        #expect(coloured.contains("\u{1B}[31ma\u{1B}[0m"))
        #expect(coloured.replacing(/\u{1B}\[[0-9]+m/, with: "") == plain)
    }

    @Test(
        arguments: [
            (6.5 * 86_400 as Double, "in 6 days"), (-3 * 86_400.0, "3 days ago"), (90.0, "in 1 minute"),
            (-0.2, "just now"),
            (-7300.0, "2 hours ago"), (8 * 3600 - 59.0, "in 8 hours"), (8 * 3600 - 61.0, "in 7 hours"),
            (3530, "in 58 minutes"),
            (30 * 86_400 - 2.0, "in 30 days"), (3599, "in 1 hour"), (400 * 86_400.0, "in 400 days"),
            (3 * 366 * 86_400.0, "in 3 years"),
            (1e300, "in 1 000 000 000 years"),
        ] as [(Double, String)])
    func `dates are printed in common words`(offset: Double, text: String) {
        let now = Date(timeIntervalSince1970: 1_763_719_200)
        #expect(Plural.relative(now.addingTimeInterval(offset), to: now) == text)
    }

    @Test(arguments: [(0, "0 bytes"), (1, "1 byte"), (1023, "1 023 bytes"), (1536, "1.5 KiB"), (32 << 20, "32.0 MiB")])
    func `small sizes are exact`(bytes: Int, text: String) {
        #expect(Plural.size(bytes) == text)
    }
}
