import ArgumentParser

/// The format of a file that a command writes.
enum ContentFormat: String, CaseIterable, Sendable {
    /// Base64 between BEGIN and END lines (RFC 7468).
    case pem
    /// The bare encoding.
    case der
    /// One line in the format of OpenSSH's `authorized_keys` (RFC 4253 6.6).
    case ssh
    /// Key and certificates encrypted with a passphrase (RFC 7292).
    case pkcs12
    /// Gauges for a monitoring system, in Prometheus' text format.
    case prometheus
}

/// A command that writes a file in one of several formats; the first is the default.
protocol ContentWriter {
    static var contentFormats: [ContentFormat] { get }
}

/// The argument of `--format`: an output format for results, or the format of a written file.
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

    /// The values that every command accepts; shown in help and in error messages.
    static var allValueStrings: [String] { OutputFormat.allCases.map(\.rawValue) }
}
