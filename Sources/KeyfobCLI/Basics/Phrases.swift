import Foundation
import Keyfob

/// Times, sizes and counts in words.
enum Phrases {
    /// The distance of `date` from `now`: `in 6 days`, `3 days ago`, `just now`.
    static func relative(_ date: Date, to now: Date) -> String { Plural.relative(date, to: now) }

    /// A duration in its largest whole unit, such as `6 days`.
    static func duration(seconds: Double) -> String { Plural.duration(seconds: seconds) }

    /// `1 item`, `2 items`, `1 248 items`.
    static func counted(_ number: Int, _ noun: String) -> String { Plural.counted(number, noun) }

    /// Digits in groups of three: `1 248`.
    static func grouped(_ number: Int) -> String { Plural.grouped(number) }

    /// A number of bytes: exact below 1 KiB, with one decimal above.
    static func size(_ bytes: Int) -> String {
        guard bytes >= 1024 else { return counted(bytes, "byte") }
        var amount = Double(bytes) / 1024
        var unit = "KiB"
        for larger in ["MiB", "GiB", "TiB"] where amount >= 1024 {
            amount /= 1024
            unit = larger
        }
        let tenths = Int(amount * 10)
        return "\(tenths / 10).\(tenths % 10) \(unit)"
    }
}
