import Keyfob
import KeychainServices
import KeyfobPrimitives

/// The command when it is called `security`, for scripts written for the tool of macOS.
///
/// Its arguments, streams and exit statuses are that tool's: no option of `keyfob` is known here.
enum SecurityTool {
    /// Runs the verb that `arguments` begin with, and returns its status.
    static func run(_ arguments: [String]) -> ExitStatus {
        guard let verb = arguments.first else {
            StandardError.write("Usage: security error code ...\n")
            return .usage
        }
        switch verb {
        case "error":
            return error(arguments.dropFirst())
        default:
            // A script must not take a verb that is missing here for one that found nothing: 1, not 44.
            StandardError.write(
                "security: unknown command \"\(Visible.text(verb))\"\n"
                    + "security: this version has the verb error alone; keyfob --help lists what keyfob does.\n")
            return .failure
        }
    }

    /// `security error code…`: one line for each code, and always status 1, as on macOS.
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

    /// The line for one code. What is no number counts as 0 up to where it stops being one, as strtol(3) has it.
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
