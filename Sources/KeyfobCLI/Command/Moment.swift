import ArgumentParser
import Foundation

/// A point in time on the command line.
struct Moment: ExpressibleByArgument {
    let date: Date

    /// Parses a day, such as `2026-05-02`, or an RFC 3339 time, whose fraction of a second is dropped; `nil` for other
    /// text and for invalid days.
    init?(argument text: String) {
        // Foundation ignores trailing text, and converts 31 November to 1 December.
        let form = /([0-9-]{10})(?:[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[.][0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2}))?/
        guard let match = text.wholeMatch(of: form)?.output else { return nil }
        let start: Date
        do { start = try Date(String(match.1), strategy: Date.ISO8601FormatStyle().year().month().day()) } catch {
            return nil
        }
        guard RFC3339.day(of: start) == match.1 else { return nil }
        func number(_ digits: Substring?) -> Int { digits.flatMap { Int($0) } ?? 0 }
        let (hour, minute, second) = (number(match.2), number(match.3), number(match.4))
        // The offset, such as +02:00; "Z" or nothing means UTC.
        let offset = match.5.map { $0.count == 1 ? "+00:00" : $0 } ?? "+00:00"
        let (hours, minutes) = (number(offset.dropFirst().prefix(2)), number(offset.suffix(2)))
        guard hour < 24, minute < 60, second < 60, hours < 24, minutes < 60 else { return nil }
        let ahead = (hours * 3600 + minutes * 60) * (offset.hasPrefix("-") ? -1 : 1)
        date = start + Double(hour * 3600 + minute * 60 + second - ahead)
    }
}
