import Foundation

/// Dates as RFC 3339 text in UTC.
///
/// Implemented by hand: the first use of a `DateFormatter` takes milliseconds, longer than reading a secret.
enum RFC3339 {
    /// Such as `2025-11-21T10:00:00Z`. Fractions of a second are dropped.
    static func string(from date: Date) -> String {
        let moment = Parts(date)
        return "\(moment.day)T\(two(moment.hour)):\(two(moment.minute)):\(two(moment.second))Z"
    }

    /// The day alone, such as `2025-11-21`.
    static func day(of date: Date) -> String { Parts(date).day }

    private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

    private struct Parts {
        let day: String
        let hour, minute, second: Int

        init(_ date: Date) {
            // Certificates can have arbitrary dates; clamping keeps the conversion from trapping.
            let bounded = min(max(date.timeIntervalSince1970.rounded(.down), -62_135_596_800), 253_402_300_799)
            let total = Int(bounded)
            let days = Int((Double(total) / 86_400).rounded(.down))
            let rest = total - days * 86_400
            hour = rest / 3600
            minute = rest / 60 % 60
            second = rest % 60

            // Days are counted from 1 March of year 0. The leap day is then the last day of its year, and the length of
            // a month depends only on its number. 146 097 days are 400 years.
            let shifted = days + 719_468
            let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
            let dayOfEra = shifted - era * 146_097
            let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
            let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
            let shiftedMonth = (5 * dayOfYear + 2) / 153
            let dayOfMonth = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
            let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
            let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
            let digits = String(year)
            let padded = String(repeating: "0", count: max(0, 4 - digits.count)) + digits
            self.day = "\(padded)-\(RFC3339.two(month))-\(RFC3339.two(dayOfMonth))"
        }
    }
}
