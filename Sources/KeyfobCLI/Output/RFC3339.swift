import Foundation
import Glibc

/// Dates as RFC 3339 text in UTC.
///
/// The first use of a `DateFormatter` takes milliseconds, longer than reading a secret, so the C library converts them.
enum RFC3339 {
    /// Such as `2025-11-21T10:00:00Z`. Fractions of a second are dropped.
    static func string(from date: Date) -> String {
        let (day, time) = parts(of: date)
        return "\(day)T\(time)Z"
    }

    /// The day alone, such as `2025-11-21`.
    static func day(of date: Date) -> String { parts(of: date).day }

    private static func parts(of date: Date) -> (day: String, time: String) {
        // Certificates can have arbitrary dates; these are the first and last seconds of years with four digits.
        var seconds = time_t(min(max(date.timeIntervalSince1970.rounded(.down), -62_135_596_800), 253_402_300_799))
        var parts = unsafe tm()
        unsafe gmtime_r(&seconds, &parts)
        let day = unsafe [digits(parts.tm_year + 1900, 4), digits(parts.tm_mon + 1), digits(parts.tm_mday)]
        let time = unsafe [digits(parts.tm_hour), digits(parts.tm_min), digits(parts.tm_sec)]
        return (day.joined(separator: "-"), time.joined(separator: ":"))
    }

    private static func digits(_ number: Int32, _ count: Int = 2) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, count - digits.count)) + digits
    }
}
