import Glibc
import Keyfob
import KeyfobPrimitives

/// The lines that another program writes to a helper's standard input.
///
/// The helper answers a line before the program closes its end, so lines are read one by one.
struct HelperInput: ~Copyable {
    /// The most bytes that a helper reads: 1 MiB.
    static let limit = 1 << 20

    /// The longest wait for the program without `--timeout`; it writes at once.
    private static let patience: Duration = .seconds(30)

    private let file: OpenFile
    private let timeout: Duration?
    private var unread = SecretBytes([])
    private var count = 0
    private var isAtEnd = false

    /// - Parameter timeout: The value of `--timeout`, if given.
    /// - Throws: `KeychainError.fileUnavailable` if standard input is closed.
    init(waiting timeout: TimeSpan?) throws {
        file = try StandardInput.copy(of: STDIN_FILENO)
        // A person who types has no limit.
        self.timeout = isatty(STDIN_FILENO) == 1 ? nil : max(timeout?.duration ?? Self.patience, .seconds(1))
    }

    /// Returns the next line without its newline, or `nil` at the end.
    ///
    /// Blocks until the program has written the line.
    ///
    /// - Throws: `KeychainError.dataTooLarge` beyond `limit`; `timedOut`; `fileUnavailable` if reading fails.
    mutating func line() throws -> SecretBytes? {
        while true {
            if let end = unread.firstIndex(of: 0x0A) {
                defer { unread = unread.suffix(from: end + 1) }
                return unread.prefix(end)
            }
            guard !isAtEnd else {
                defer { unread = SecretBytes([]) }
                return unread.isEmpty ? nil : unread
            }
            try readMore()
        }
    }

    /// Returns everything up to the end.
    ///
    /// - Throws: The errors of `line()`.
    mutating func rest() throws -> SecretBytes {
        while !isAtEnd { try readMore() }
        return unread
    }

    private mutating func readMore() throws {
        let more = try file.read(
            limit: Self.limit + 1 - count, by: timeout.map { Deadline.after($0) } ?? .never, untilNewline: true)
        count += more.count
        guard count <= Self.limit else {
            throw KeychainError(
                .dataTooLarge, "standard input contains more than \(Plural.size(Self.limit)); nothing was changed.")
        }
        isAtEnd = more.isEmpty
        unread = SecretBytes(joining: [unread, more])
    }
}

extension SecretBytes {
    /// The position of the first such byte.
    func firstIndex(of byte: UInt8) -> Int? {
        unsafe withUnsafeBytes { unsafe $0.firstIndex(of: byte) }
    }
}
