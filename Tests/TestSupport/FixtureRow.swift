import Foundation

extension Fixtures {
    /// Reads a table of tab-separated values whose first line names the columns.
    ///
    /// Lines that begin with `#` are comments.
    ///
    /// - Parameter name: The path below `Fixtures`, such as `Vectors/aes-gcm.tsv`.
    /// - Returns: The rows in their order, at least one.
    /// - Throws: ``TableError`` for a table that has no rows or rows of different lengths; the errors of reading the
    ///   file.
    public static func rows(_ name: String) throws -> [FixtureRow] {
        let lines = try String(contentsOf: url(name), encoding: .utf8)
            .split(separator: "\n").filter { !$0.hasPrefix("#") }
            .map { $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init) }
        guard let columns = lines.first, lines.count > 1, lines.allSatisfy({ $0.count == columns.count }) else {
            throw TableError(message: "\(name) has no rows, or rows of different lengths")
        }
        return lines.dropFirst().map { FixtureRow(table: name, columns: columns, values: $0) }
    }

    /// A table or a value that cannot be read.
    public struct TableError: Error, CustomStringConvertible {
        let message: String
        /// What is wrong, with the name of the table.
        public var description: String { message }
    }
}

/// A row of a table in `Fixtures`; its description names the table and the row.
public struct FixtureRow: Sendable, CustomStringConvertible {
    let table: String
    let columns: [String]
    let values: [String]

    /// The table, and the value in the first column.
    public var description: String { "\(table), \(values[0])" }

    /// The text in a column.
    ///
    /// - Throws: ``Fixtures/TableError`` if the table has no such column.
    public subscript(column: String) -> String {
        get throws {
            guard let index = columns.firstIndex(of: column) else {
                throw Fixtures.TableError(message: "\(table) has no column \(column)")
            }
            return values[index]
        }
    }

    /// Decodes the hexadecimal digits in a column.
    ///
    /// - Throws: ``Fixtures/TableError`` if the column is missing or holds anything but pairs of digits.
    public func bytes(_ column: String) throws -> [UInt8] {
        let digits = Array(try self[column])
        let bytes = stride(from: 0, to: digits.count, by: 2).compactMap {
            UInt8(String(digits[$0..<min($0 + 2, digits.count)]), radix: 16)
        }
        guard 2 * bytes.count == digits.count else {
            throw Fixtures.TableError(message: "\(self): \(column) is not hexadecimal")
        }
        return bytes
    }

    /// Reads the number in a column.
    ///
    /// - Throws: ``Fixtures/TableError`` if the column is missing or holds anything but a number.
    public func number(_ column: String) throws -> Int {
        guard let number = Int(try self[column]) else {
            throw Fixtures.TableError(message: "\(self): \(column) is not a number")
        }
        return number
    }
}
