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

/// A command that writes a file in one of several forms, the first unless one is named.
protocol ContentWriter {
    static var contentFormats: [ContentFormat] { get }
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

    /// What help, and messages about a wrong word, offer: what every command takes.
    static var allValueStrings: [String] { OutputFormat.allCases.map(\.rawValue) }

    /// What the command on the line takes.
    static var defaultCompletionKind: CompletionKind {
        .custom { words, _, prefix in
            // A line that makes no sense yet has no command.
            let command = (try? Invocation(Array(words.dropFirst()), root: KeyfobCommand.self))?.command
            let own = command.flatMap { $0 as? any ContentWriter.Type }?.contentFormats ?? []
            return (allValueStrings + own.map(\.rawValue)).filter { $0.hasPrefix(prefix) }
        }
    }
}
