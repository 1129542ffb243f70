import ArgumentParser

/// The form of a file that a command writes.
enum ContentFormat: String, CaseIterable, Sendable {
    /// Base64 between BEGIN and END lines (RFC 7468).
    case pem
    /// The bare encoding.
    case der
    /// One line as OpenSSH reads it in `authorized_keys` (RFC 4253 6.6).
    case ssh
    /// Key and certificates under a passphrase (RFC 7292).
    case pkcs12
}

/// The word after `--format`: how results are printed, or the form of a file that is written.
enum FormatName: Equatable, Sendable, ExpressibleByArgument {
    case result(OutputFormat)
    case content(ContentFormat)

    init?(argument: String) {
        if let format = OutputFormat(rawValue: argument) {
            self = .result(format)
        } else if let format = ContentFormat(rawValue: argument) {
            self = .content(format)
        } else {
            return nil
        }
    }

    /// What completion scripts and messages about a wrong word offer.
    static var allValueStrings: [String] {
        OutputFormat.allCases.map(\.rawValue) + ContentFormat.allCases.map(\.rawValue)
    }

    static var defaultCompletionKind: CompletionKind { .list(allValueStrings) }
}
