/// The format for printing an error, from the raw arguments, because parsing them may have failed.
struct ErrorForm: Equatable {
    let isJSON: Bool
    let isVerbose: Bool

    /// File formats, which do not apply to errors.
    private static let fileFormats: Set<String> = ["pem", "der", "ssh", "pkcs12"]

    /// The form for the arguments of this process.
    static var current: ErrorForm { ErrorForm(Array(CommandLine.arguments.dropFirst())) }

    init(_ arguments: [String], environmentFormat: String? = Environment.nonEmpty("KEYFOB_FORMAT")) {
        var format = environmentFormat
        var isVerbose = false
        let options = arguments.prefix { $0 != "--" }
        for (argument, next) in zip(options, options.dropFirst().map(Optional.some) + [nil]) {
            switch argument {
            case "--format": if let next, !Self.fileFormats.contains(next) { format = next }
            case "--verbose": isVerbose = true
            case _ where argument.count > 1 && argument.dropFirst().allSatisfy { $0 == "v" } && argument.first == "-":
                isVerbose = true
            default:
                let value = argument.dropping(prefix: "--format=")
                if let value, !Self.fileFormats.contains(value) { format = value }
            }
        }
        isJSON = format == "json" || options.contains("--json")
        self.isVerbose = isVerbose
    }

    /// The text of a failure for standard error.
    func text(of failure: Failure) -> String { isJSON ? failure.json : failure.text(verbose: isVerbose) }
}
