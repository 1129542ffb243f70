package import Foundation

/// Spans and counts as people say them, alike in every message and list.
package enum Plural {
    /// How far `date` is from `now`: `in 6 days`, `3 days ago`, `just now`.
    package static func relative(_ date: Date, to now: Date) -> String {
        let seconds = date.timeIntervalSince(now)
        guard seconds.magnitude >= 1 else { return "just now" }
        let span = duration(seconds: seconds.magnitude)
        return seconds < 0 ? "\(span) ago" : "in \(span)"
    }

    /// The largest whole unit of a span, such as `6 days`; rounded down, as a deadline should be, but for a minute:
    /// what lasts for 8 hours and began a moment ago does not end in 7.
    package static func duration(seconds exact: Double) -> String {
        let seconds = exact < 3540 ? exact : exact + 60
        // Days up to two months: a certificate with 45 days left is not one with "1 month" left.
        let units: [(name: String, length: Double, from: Double)] = [
            ("year", 365.25 * 86_400, 730 * 86_400), ("day", 86_400, 86_400), ("hour", 3600, 3600),
            ("minute", 60, 60), ("second", 1, 0),
        ]
        for unit in units where seconds >= unit.from {
            // The bound keeps a nonsense date from trapping in the conversion.
            return counted(Int(min(seconds / unit.length, 1e9)), unit.name)
        }
        return counted(0, "second")
    }

    /// `1 item`, `2 items`, `1 248 items`.
    package static func counted(_ number: Int, _ noun: String) -> String {
        "\(grouped(number)) \(noun)\(number == 1 ? "" : "s")"
    }

    /// Digits in groups of three: `1 248`.
    package static func grouped(_ number: Int) -> String {
        let digits = String(number.magnitude)
        var result = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { result += " " }
            result.append(digit)
        }
        return number < 0 ? "-" + result : result
    }
}
