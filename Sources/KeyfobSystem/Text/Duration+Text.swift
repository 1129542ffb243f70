extension Duration {
    /// Parses a number and a unit, such as `500ms`, `10s`, `8h` or `30d`; a number without a unit means seconds.
    ///
    /// `nil` for other text, a negative number, or more than 100 years.
    package init?(text: String) {
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
        self = .seconds(seconds)
    }
}
