import ArgumentParser
import Keyfob
import KeychainServices
import KeyfobPrimitives

/// `keyfob error`: explains result codes of Keychain Services.
struct ErrorCommand: OutputCommand {
    static let configuration = CommandConfiguration(
        "error", "Explain result codes of Keychain Services.",
        examples: Examples(
            "keyfob error -50",
            "keyfob error -25300 0xFFFF9D2C",
            "keyfob error errSecParam --json"))

    // "-50" looks like an option to the parser. Every unknown option is treated as a code.
    @Argument(
        parsing: .allUnrecognized,
        help: ArgumentHelp("Numbers, in decimal or in hexadecimal after 0x, or names.", valueName: "code"))
    var codes: [String] = []

    @OptionGroup(title: "Global options")
    var global: GlobalOptions

    func run(_ output: Output) throws {
        var codes = codes
        // The parser keeps "--" among the unrecognised arguments.
        if let end = codes.firstIndex(of: "--") { codes.remove(at: end) }
        guard !codes.isEmpty else { throw UsageError("a result code is missing.", hint: "Example: keyfob error -50") }
        var table = Table([.init("CODE"), .init("NAME"), .init("MEANING")])
        var list: [Members] = []
        var unknown: [String] = []
        for text in codes {
            guard let code = ResultCode(text) else {
                throw UsageError(
                    "\"\(TerminalSafe.text(text))\" is neither a result code nor the name of one.",
                    hint: "Examples: keyfob error -50     keyfob error errSecParam")
            }
            let number = String(code.status)
            guard let known = code.known else {
                unknown.append(number)
                continue
            }
            table.add([.init(number), .init(known.name), .init(known.message + ".")])
            list.append([
                "result_code": code.status, "hexadecimal": code.hexadecimal, "name": known.name,
                "message": known.message + ".",
            ])
        }
        if !list.isEmpty { try output.emit(Document(["errors": list]), table: table) }
        guard unknown.isEmpty else {
            throw KeychainError(
                .itemNotFound, "unknown result code: \(unknown.joined(separator: ", ")).",
                hint: "Give a code of Keychain Services, such as -25300 or errSecItemNotFound.")
        }
    }
}
