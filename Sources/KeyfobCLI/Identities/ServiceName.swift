import Keyfob

/// A service that an identity is preferred for: a URL or its beginning, a host, `*.` and a domain for all hosts below
/// it, or an e-mail address.
///
/// Other identifiers, such as the name of a wireless network, match only exactly.
struct ServiceName {
    let text: String

    /// Checks the argument.
    ///
    /// - Throws: `UsageError` for blank text and for control characters.
    init(_ argument: String) throws {
        let forms = "A service is a URL, the beginning of one, a host, or an e-mail address: "
            + "--service https://example.org/api, --service mail.example.org, --service '*.example.org'"
        guard argument.contains(where: { !$0.isWhitespace }) else {
            throw UsageError(
                "a service must not be empty.", hint: "Check whether a variable in the command line is empty. \(forms)")
        }
        guard !argument.unicodeScalars.contains(where: TerminalSafe.isHidden) else {
            throw UsageError("\"\(TerminalSafe.text(argument))\" contains a control character.", hint: forms)
        }
        text = argument
    }
}
