import ArgumentParser
import Keyfob

/// A duration on the command line: a number and a unit, such as `500ms`, `10s`, `8h` or `30d`.
struct TimeSpan: Hashable, Sendable, ExpressibleByArgument {
    let duration: Duration
    /// The text as typed.
    private let text: String

    /// Parses `text`; a number without a unit means seconds.
    ///
    /// `nil` for other text, a negative number, or more than 100 years.
    init?(argument text: String) {
        guard let duration = Duration(text: text) else { return nil }
        self.duration = duration
        self.text = text
    }

    /// The duration in seconds for messages about waiting: `1 s`, `0.2 s`.
    var inSeconds: String {
        let seconds = duration / .seconds(1)
        return seconds == seconds.rounded() ? "\(Int(seconds)) s" : "\(seconds) s"
    }

    /// Refuses a number without a unit, for an option whose values are never seconds: `--lifetime 90` would mean a
    /// certificate valid for 90 seconds. 0 is allowed.
    ///
    /// - Parameters:
    ///   - option: The option, such as `--within`.
    ///   - unit: The unit that was probably meant, such as `d`.
    /// - Throws: `ValidationError`.
    func requireUnit(for option: String, probably unit: Character) throws {
        guard let last = text.last, !last.isLetter, duration != .zero else { return }
        throw ValidationError("\(option) \(text) has no unit (s, m, h, d, w, y): \(option) \(text)\(unit).")
    }
}
