import ArgumentParser

/// The meaning of a piece of text, shown as colour. The text must state the meaning as well.
enum Style: Sendable {
    case bold, good, warning, bad

    fileprivate var code: String {
        switch self {
        case .bold: "1"
        case .good: "32"
        case .warning: "33"
        case .bad: "31"
        }
    }
}

/// `never`, `auto` or `always`, for `--color` and `--progress`.
enum When: String, CaseIterable, Sendable, ExpressibleByArgument {
    case never, auto, always
}

/// Whether output is coloured.
struct Colour: Sendable, Equatable {
    let isEnabled: Bool

    /// No colour at all.
    static let none = Colour(isEnabled: false)

    init(isEnabled: Bool) {
        self.isEnabled = isEnabled
    }

    /// Decides by the option, then `NO_COLOR`, then `CLICOLOR_FORCE`, then whether the output is a terminal with colour
    /// support.
    init(_ choice: When, isTerminal: Bool, environment: (String) -> String?) {
        switch choice {
        case .always: isEnabled = true
        case .never: isEnabled = false
        case .auto:
            // no-color.org: any value except the empty string.
            if environment("NO_COLOR")?.isEmpty == false {
                isEnabled = false
            } else if let force = environment("CLICOLOR_FORCE"), !force.isEmpty, force != "0" {
                isEnabled = true
            } else {
                isEnabled = isTerminal && environment("TERM") != "dumb"
            }
        }
    }

    /// Returns `text` between the escape codes of `style`, or unchanged if colour is off.
    func apply(_ style: Style?, to text: String) -> String {
        guard isEnabled, let style else { return text }
        return "\u{1B}[\(style.code)m\(text)\u{1B}[0m"
    }
}
