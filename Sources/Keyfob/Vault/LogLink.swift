import Foundation
import GRDB

/// What a transaction leaves in the vault, so that it can be told whether SQLite's log belongs to the file beside it.
///
/// SQLite takes whatever log it finds for the file's own: of a vault that was put back without its log it makes a
/// mixture of two states, and nothing in SQLite's formats tells them apart. So every transaction draws a number, and
/// keeps it beside the one that it found. A log holds the pages of its transactions: the first link in it names the
/// state that the file had when the log was begun, and each link one that the file may have got from the log since.
struct LogLink: Equatable {
    /// The number of the transaction before; 0 where that had none.
    let previous: UInt64
    /// The number of the transaction that left the link.
    let current: UInt64

    /// The page of the table that the links are in: it is the first one that `Schema` makes, and never needs another.
    static let pageNumber = 2

    private static let name = "log"

    /// A link that follows upon another.
    private init(after last: LogLink?) {
        previous = last?.current ?? 0
        current = .random(in: 1...UInt64.max)
    }

    /// The link that has these bytes; `nil` where they are none.
    private init?(_ bytes: some Collection<UInt8>) {
        guard let previous = UInt64(bigEndianBytes: bytes.prefix(8)),
            let current = UInt64(bigEndianBytes: bytes.dropFirst(8))
        else { return nil }
        self.previous = previous
        self.current = current
    }

    /// The link in a page that is a leaf of a B-tree of SQLite's, of a table without row numbers; `nil` where it has
    /// none.
    init?(page: [UInt8]) {
        // How long a row and its header are, the kinds of its columns, 3 bytes of text and 16 others, and the name.
        let start: [UInt8] = [22, 3, 19, 44] + Array(Self.name.utf8)
        guard page.count > 8, page[0] == 0x0A, let count = UInt16(bigEndianBytes: page[3..<5]) else { return nil }
        for index in 0..<Int(count) {
            let entry = 8 + 2 * index
            guard entry + 2 <= page.count, let offset = UInt16(bigEndianBytes: page[entry..<entry + 2]) else {
                return nil
            }
            let value = Int(offset) + start.count
            guard value + 16 <= page.count, page[Int(offset)..<value].elementsEqual(start) else { continue }
            self.init(page[value..<value + 16])
            return
        }
        return nil
    }

    /// Leaves a new link. To be called last in a transaction that has changed something.
    static func renew(in db: Database) throws {
        let last = try Data.fetchOne(
            db.cachedStatement(sql: "SELECT value FROM vault WHERE name = ?"), arguments: [name])
        let link = LogLink(after: last.flatMap { LogLink($0) })
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO vault (name, value) VALUES (?, ?)").execute(
            arguments: [name, Data(link.previous.bigEndianBytes + link.current.bigEndianBytes)])
    }
}
