import Keyfob
import OpenSSL

/// What an identity is preferred for: a URL or its beginning, a host, `*.` and a domain for all hosts below it, or an
/// e-mail address, by which programs ask for the identity of a person.
///
/// Programs ask with the URL that they are about to open. What no such question ever fits would be stored and never
/// found, and nobody would be told.
struct ServiceName {
    let text: String

    /// - Throws: `UsageError` for what no program asks for.
    init(_ argument: String) throws {
        guard !argument.isEmpty else {
            throw UsageError("an empty service is none.", hint: "Is a variable empty that stands in the command line?")
        }
        if let (reason, hint) = Self.obstacle(in: argument) {
            throw UsageError("\"\(Visible.text(argument))\" \(reason).", hint: hint)
        }
        text = argument
    }

    private static let forms = "A service is a URL, the beginning of one, a host, or an e-mail address: "
        + "--service https://example.org/api, --service mail.example.org, --service '*.example.org'"

    /// Why a text is no service, and what to do about it.
    private static func obstacle(in text: String) -> (reason: String, hint: String)? {
        if text.unicodeScalars.contains(where: { Visible.isHidden($0) || $0.properties.isWhitespace }) {
            return ("has a blank or a control character, which no service has", forms)
        }
        if let separator = text.firstRange(of: "://") {
            let host = text[separator.upperBound...].prefix { !"/?#".contains($0) }
            guard isScheme(text[..<separator.lowerBound]) else { return ("has no scheme of URLs", forms) }
            guard !host.contains("*") else {
                return ("fits no URL: in one a * stands for nothing", "All hosts below one: --service '*.example.org'")
            }
            return nil
        }
        if Certificate.isAddress(text) {
            // In URLs it has brackets (RFC 3986 3.2.2), and a URL is what it is compared with.
            guard text.contains(":") else { return nil }
            return ("is an address that stands in brackets", "In a URL: --service 'https://[\(text)]'")
        }
        // Such as mailto:, of which there is no beginning. What digits follow is a host with its port.
        if let colon = text.firstIndex(of: ":"), isScheme(text[..<colon]),
            let next = text[colon...].dropFirst().first, next != "/", !next.isNumber
        {
            return nil
        }
        guard !text.contains(where: { "/:?#[]".contains($0) }) else {
            let isURL = text.wholeMatch(of: /[^\/:?#\[\]@]+(:[0-9]+)?(\/.*)?/) != nil
            return (
                "is neither a URL nor a host alone",
                isURL ? "A URL has its scheme: \(ShellWord.option("--service", "https://" + text))" : forms
            )
        }
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        let host = parts[parts.count - 1]
        let domain = parts.count == 1 && host.hasPrefix("*.") ? host.dropFirst(2) : host
        guard parts.count < 3, !parts.contains(""), !domain.isEmpty, !domain.contains("*") else {
            return ("is neither a URL nor a host", forms)
        }
        return nil
    }

    /// RFC 3986 3.1.
    private static func isScheme(_ text: Substring) -> Bool { text.wholeMatch(of: /[A-Za-z][A-Za-z0-9+.\-]*/) != nil }
}
