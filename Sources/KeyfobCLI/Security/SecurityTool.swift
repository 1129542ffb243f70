import Keyfob
import KeychainServices
import KeyfobPrimitives

/// The command when it is called `security`, for scripts that use the tool of macOS.
///
/// Its arguments, streams and exit statuses are those of that tool. Options of `keyfob` are not supported.
enum SecurityTool {
    /// Runs the verb at the start of `arguments`, and returns its status.
    static func run(_ arguments: [String]) -> ExitStatus {
        guard let verb = arguments.first else {
            StandardError.write("Usage: security error code ...\n")
            return .usage
        }
        switch verb {
        case "error":
            return error(arguments.dropFirst())
        default:
            // Returns 1 instead of 44, so that a script does not mistake a missing verb for a search without results.
            StandardError.write(
                "security: unknown command \"\(TerminalSafe.text(verb))\"\n"
                    + "security: the only command is error; for the others, see keyfob --help.\n")
            return .failure
        }
    }

    /// `security error code…`: prints one line for each code, and always returns status 1, as on macOS.
    private static func error(_ codes: some Collection<String>) -> ExitStatus {
        guard !codes.isEmpty else {
            StandardError.write("Usage: security error code ...\n")
            return .usage
        }
        do {
            for text in codes { try StandardOutput.write(line(text) + "\n") }
        } catch {
            StandardError.write("security: \(error)\n")
        }
        return .failure
    }

    /// The line for one code. Text after the leading digits is ignored, and text without a number counts as 0, as in
    /// strtol(3).
    static func line(_ text: String) -> String {
        let code = ResultCode(number: text) ?? ResultCode(number: leadingNumber(of: text)) ?? ResultCode(0)
        let hexadecimal = String(UInt32(bitPattern: code.status), radix: 16)
        let message = code.known?.message ?? "unknown error \(code.status)=\(hexadecimal)"
        return "Error: \(code.hexadecimal) \(code.status) \(message)"
    }

    private static func leadingNumber(of text: String) -> Substring {
        let digits = text.drop { $0 == "-" || $0 == "+" }.prefix { ("0"..."9").contains($0) }
        return text[..<digits.endIndex]
    }
}
