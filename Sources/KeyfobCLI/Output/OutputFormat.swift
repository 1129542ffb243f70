import ArgumentParser
import Keyfob

/// How a command writes its result.
enum OutputFormat: String, CaseIterable, Sendable, ExpressibleByArgument {
    /// Aligned columns or sentences, for people.
    case table
    /// One JSON document on one line.
    case json
    /// The same document as YAML.
    case yaml
    /// `NAME='value'` lines that a POSIX shell can `eval`.
    case env
    /// Tab-separated values with a header line.
    case tsv

    /// Whether the format is read by programs, so that sentences for people must not be printed.
    var isMachineReadable: Bool { self != .table }

    /// The format given by `--format`, else by `--json`, else by `KEYFOB_FORMAT`, else `table`.
    ///
    /// - Throws: `UsageError` if the variable names no format, or if `--json` and `--format` disagree.
    static func resolve(option: OutputFormat?, json: Bool, environment: String?) throws -> OutputFormat {
        if json {
            guard option == nil || option == .json else {
                throw UsageError(
                    "--json and --format \(option?.rawValue ?? "") exclude each other.", hint: "Give one of the two.")
            }
            return .json
        }
        if let option { return option }
        guard let name = environment, !name.isEmpty else { return .table }
        guard let format = OutputFormat(rawValue: name) else {
            throw UsageError(
                "unknown output format in KEYFOB_FORMAT: \"\(TerminalSafe.text(name))\".",
                hint: "Use one of: " + allCases.map(\.rawValue).joined(separator: ", "))
        }
        return format
    }
}
