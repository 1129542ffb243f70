import ArgumentParser

/// What a piece of text means, as far as colour can say it. Never the only sign of it.
enum Style: Sendable {
    case bold, faint, good, warning, bad

    fileprivate var code: String {
        switch self {
        case .bold: "1"
        case .faint: "2"
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

    /// Decides: the option, then `NO_COLOR`, then `CLICOLOR_FORCE`, then whether a terminal that knows
    /// colour is there.
    init(_ choice: When, isTerminal: Bool, environment: (String) -> String?) {
        switch choice {
        case .always: isEnabled = true
        case .never: isEnabled = false
        case .auto:
            // no-color.org: any value but the empty one.
            if environment("NO_COLOR")?.isEmpty == false {
                isEnabled = false
            } else if let force = environment("CLICOLOR_FORCE"), !force.isEmpty, force != "0" {
                isEnabled = true
            } else {
                isEnabled = isTerminal && environment("TERM") != "dumb"
            }
        }
    }

    /// `text` between the escape codes of `style`, or as it is.
    func apply(_ style: Style?, to text: String) -> String {
        guard isEnabled, let style else { return text }
        return "\u{1B}[\(style.code)m\(text)\u{1B}[0m"
    }
}
