import ArgumentParser

/// A length of time on the command line: a number and a unit, such as `500ms`, `10s`, `8h` or `30d`.
struct TimeSpan: Hashable, Sendable, ExpressibleByArgument {
    let duration: Duration
    /// What was typed.
    private let text: String

    /// Reads `text`; a number without a unit is seconds. `nil` where it is no length of time, is
    /// negative, or is longer than 100 years.
    init?(argument text: String) {
        let units: [(String, Double)] = [
            ("ms", 0.001), ("s", 1), ("m", 60), ("h", 3600), ("d", 86_400), ("w", 7 * 86_400), ("y", 365 * 86_400),
            ("", 1),
        ]
        guard let first = text.first, first.isASCII, first.isNumber,
            let (suffix, factor) = units.first(where: { text.hasSuffix($0.0) }),
            let number = Double(text.dropLast(suffix.count))
        else { return nil }
        let seconds = number * factor
        guard seconds.isFinite, seconds >= 0, seconds <= 100 * 365 * 86_400 else { return nil }
        duration = .seconds(seconds)
        self.text = text
    }

    /// The seconds, as messages about waiting have them: `1 s`, `0.2 s`.
    var inSeconds: String {
        let seconds = duration / .seconds(1)
        return seconds == seconds.rounded() ? "\(Int(seconds)) s" : "\(seconds) s"
    }

    /// Refuses a number alone, for an option whose times nobody gives in seconds: `--lifetime 90` would be a
    /// certificate of a minute and a half. 0 is the same in every unit.
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
