import Keyfob

/// A place in a text file, for messages: lines and columns count from 1, columns in characters.
struct SourcePosition: Equatable {
    let line: Int
    let column: Int

    /// The place of the byte at `offset` in UTF-8 text.
    init(of offset: Int, in bytes: [UInt8]) {
        let before = bytes[..<offset]
        line = 1 + before.count { $0 == 0x0A }
        let start = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        // The bytes 0x80 to 0xBF continue a character.
        column = 1 + bytes[start..<offset].count { $0 & 0xC0 != 0x80 }
    }

    /// Runs `body`, and adds the place to its errors.
    ///
    /// - Parameter file: The name of the file.
    /// - Throws: The errors of `body`.
    func naming<Result>(_ file: String, _ body: () throws -> Result) throws -> Result {
        do { return try body() } catch let error as KeychainError {
            throw error.with(
                message: "\(text(in: file)): \(error.message)",
                details: error.details.merging(
                    ["file": file, "line": String(line), "column": String(column)]) { $1 })
        } catch let usage as UsageError {
            throw UsageError("\(text(in: file)): \(usage.message)", hint: usage.hint)
        }
    }

    /// Runs `body`, and adds the place of the byte at `offset` to its errors.
    ///
    /// The place is determined only then, because that takes time in a large file.
    static func naming<Result>(
        _ file: String, offset: Int, in bytes: [UInt8], _ body: () throws -> Result
    ) throws -> Result {
        do { return try body() } catch {
            return try SourcePosition(of: offset, in: bytes).naming(file) { throw error }
        }
    }

    private func text(in file: String) -> String { "\(TerminalSafe.text(file)), line \(line), column \(column)" }
}
