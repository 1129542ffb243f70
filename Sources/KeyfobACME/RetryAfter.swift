import Foundation
import KeyfobPrimitives

/// The value of a `Retry-After` header (RFC 9110 10.2.3): a number of seconds, or a date.
enum RetryAfter {
    /// How long to wait; never negative, and limited to a year.
    ///
    /// - Returns: `nil` for text that is neither a number nor a date.
    static func pause(_ text: String, on now: Date) -> Duration? {
        let text = text.trimmingBlanks
        if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            return .seconds(min(Int(text) ?? Int.max, longest))
        }
        for form in ["EEE, dd MMM yyyy HH:mm:ss 'GMT'", "EEEE, dd-MMM-yy HH:mm:ss 'GMT'", "EEE MMM d HH:mm:ss yyyy"] {
            let formatter = DateFormatter()
            formatter.locale = Locale(identifier: "en_US_POSIX")
            formatter.timeZone = TimeZone(secondsFromGMT: 0)
            formatter.dateFormat = form
            guard let date = formatter.date(from: text) else { continue }
            return .seconds(min(max(0, date.timeIntervalSince(now).rounded(.up)), Double(longest)))
        }
        return nil
    }

    /// A year, so that adding it to a clock's time does not overflow.
    private static let longest = 366 * 86_400
}
