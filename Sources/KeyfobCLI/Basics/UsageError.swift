import Keyfob

/// An invalid command line; exit status 2.
struct UsageError: Error, CustomStringConvertible {
    let message: String
    let hint: String?

    init(_ message: String, hint: String? = nil) {
        self.message = message
        self.hint = hint
    }

    var description: String { hint.map { "\(message)\n    \($0)" } ?? message }

    /// The error for an empty name, usually from a script with an unset variable.
    static let emptyName = UsageError(
        "a name must not be empty.", hint: "Check whether a variable in the command line is empty.")

    /// The error for a PIN in a URI. The text never repeats the URI.
    static let pinOnCommandLine = UsageError(
        "a PIN is not accepted on the command line, where other users can read it.",
        hint: "Leave pin-value out of the URI and give a source: --pin-source prompt | file:… | env:…")
}
