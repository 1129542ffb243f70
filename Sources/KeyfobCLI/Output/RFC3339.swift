import Foundation
import Glibc

/// Dates as RFC 3339 text in UTC.
///
/// The first use of a `DateFormatter` takes milliseconds, longer than reading a secret, so the C library converts them.
enum RFC3339 {
    /// Such as `2025-11-21T10:00:00Z`. Fractions of a second are dropped.
    static func string(from date: Date) -> String {
        let (day, time, _) = parts(of: date)
        return "\(day)T\(time)Z"
    }

    /// The time in the zone of the user, such as `2025-11-21T11:00:00+01:00`, for texts that people read.
    static func local(from date: Date) -> String {
        let (day, time, offset) = parts(of: date, isLocal: true)
        guard offset != 0 else { return "\(day)T\(time)Z" }
        let minutes = Int32(abs(offset) / 60)
        return "\(day)T\(time)\(offset < 0 ? "-" : "+")\(digits(minutes / 60)):\(digits(minutes % 60))"
    }

    /// The day in the zone of the user.
    static func localDay(of date: Date) -> String { parts(of: date, isLocal: true).day }

    /// The day alone, such as `2025-11-21`.
    static func day(of date: Date) -> String { parts(of: date).day }

    /// - Parameter isLocal: Whether to use the zone of the user. The offset is in seconds east of UTC.
    private static func parts(of date: Date, isLocal: Bool = false) -> (day: String, time: String, offset: Int) {
        // Certificates can have arbitrary dates; these are the first and last seconds of years with four digits.
        var seconds = time_t(min(max(date.timeIntervalSince1970.rounded(.down), -62_135_596_800), 253_402_300_799))
        var parts = unsafe tm()
        if isLocal {
            // localtime_r(3) need not read the zone.
            tzset()
            unsafe localtime_r(&seconds, &parts)
        } else {
            unsafe gmtime_r(&seconds, &parts)
        }
        let day = unsafe [digits(parts.tm_year + 1900, 4), digits(parts.tm_mon + 1), digits(parts.tm_mday)]
        let time = unsafe [digits(parts.tm_hour), digits(parts.tm_min), digits(parts.tm_sec)]
        return (day.joined(separator: "-"), time.joined(separator: ":"), unsafe parts.tm_gmtoff)
    }

    private static func digits(_ number: Int32, _ count: Int = 2) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, count - digits.count)) + digits
    }
}
