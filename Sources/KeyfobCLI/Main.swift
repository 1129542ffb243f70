import ArgumentParser
import Foundation
import Glibc
import Keyfob
import KeyfobPrimitives
import PKCS11

/// Where the process starts.
@main enum Main {
    static func main() {
        InheritedDescriptors.note()
        Hardening.occupyStandardStreams()
        Hardening.apply()
        Hardening.reportForeignExit()
        Interruption.install()
        let arguments = CommandLine.arguments
        if let failure = undecipherable ?? exposedPIN ?? Hardening.failure {
            let form = ErrorForm(Array(arguments.dropFirst()))
            StandardError.write(form.isJSON ? failure.json : failure.text(verbose: form.isVerbose))
            _exit(failure.status.rawValue)
        }
        let status: ExitStatus
        // The one place where the name we were started by matters. Names not listed are keyfob.
        switch arguments.first?.split(separator: "/").last.map(String.init) {
        case "security": status = SecurityTool.run(Array(arguments.dropFirst()))
        default: status = keyfob(Array(arguments.dropFirst()))
        }
        // Not `exit`: what the libraries would take apart and free there, the system frees in a fraction of the time.
        fflush(nil)
        _exit(status.rawValue)
    }

    /// Variables that name what to work with, and where it lies. Values of others may be secrets, of any bytes.
    private static let namingVariables = [
        "HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "KEYFOB_KEYCHAIN",
        "KEYFOB_TOKEN",
        "KEYFOB_MODULE", "KEYFOB_PIN_SOURCE",
    ]

    /// The failure where an argument, or a variable, is not UTF-8. Swift would repair it: two names would become one,
    /// and a directory another.
    private static var undecipherable: Failure? {
        for index in 0..<Int(CommandLine.argc) {
            guard let argument = unsafe CommandLine.unsafeArgv[index] else { continue }
            guard unsafe String(validatingCString: argument) != nil else {
                return Failure(
                    usage: "an argument is not UTF-8; the name meant cannot be told.",
                    hint: "Check the terminal's encoding (locale).")
            }
        }
        for name in namingVariables {
            guard let value = unsafe getenv(name) else { continue }
            guard unsafe String(validatingCString: value) != nil else {
                return Failure(
                    usage: "the variable \(name) is not UTF-8; what it names cannot be told.",
                    hint: "Set it to a path or name in UTF-8, or unset it.")
            }
        }
        return nil
    }

    /// The failure where an argument, or a variable that names something, holds a PIN: every message that repeats it
    /// would show the PIN. A completion gets no message.
    private static var exposedPIN: Failure? {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.first?.hasPrefix("---completion") != true else { return nil }
        let variables = ["KEYFOB_KEYCHAIN", "KEYFOB_TOKEN", "KEYFOB_MODULE"].compactMap(Environment.nonEmpty)
        guard (arguments + variables).contains(where: PKCS11URI.seemsToHoldPIN) else { return nil }
        return Failure(UsageError.pinOnCommandLine)
    }

    /// Runs the command that `arguments` name, reports its failure, and returns its status.
    static func keyfob(_ arguments: [String]) -> ExitStatus {
        do {
            // A completion script calls back with the words typed so far: never to be judged by us.
            if arguments.first?.hasPrefix("---completion") == true {
                do {
                    HangWatch.choose(.zero)
                    HangWatch.begin(isSilent: true)
                    var command = try CompletedCommand<KeyfobCommand>.parseAsRoot(arguments)
                    try command.run()
                    return .success
                } catch where KeyfobCommand.exitCode(for: error) != .success {
                    // A message would stand in the line that is being typed.
                    return .usage
                }
            }
            if let plain = PlainGet(arguments) {
                try plain.run()
                return .success
            }
            let invocation = try Invocation(arguments, root: KeyfobCommand.self)
            var command = try invocation.parse(root: KeyfobCommand.self)
            if !type(of: command).configuration.subcommands.isEmpty {
                // A noun alone: in a script it is a verb that got lost, so it must not look like success.
                guard !ErrorForm(arguments).isJSON else {
                    let words = (["keyfob"] + invocation.path).joined(separator: " ")
                    throw UsageError("a command is missing behind \"\(words)\".", hint: "All commands: \(words) --help")
                }
                StandardError.write(KeyfobCommand.helpMessage(for: invocation.command).withGlobalOptionsLast + "\n")
                return .usage
            }
            HangWatch.begin()
            try command.run()
            return .success
        } catch {
            return report(error, arguments)
        }
    }

    /// The word for whose `h` ArgumentParser gives help where nobody asked for it; `nil` where somebody did.
    ///
    /// To it `-dash`, the name of an item, is five short options. A script would be told that all went well.
    private static func accidentalHelp(in arguments: [String]) -> String? {
        let options = arguments.prefix { $0 != "--" }
        let asked = ["-h", "--help", "-help", "help", "--version"]
        guard !options.contains(where: asked.contains) else { return nil }
        return options.first { word in
            // The short options without a value, which may stand together.
            word.count > 2 && word.first == "-" && word.dropFirst().first != "-" && word.contains("h")
                && !word.dropFirst().allSatisfy { "hnqvy".contains($0) }
        }
    }

    private static func report(_ error: any Error, _ arguments: [String]) -> ExitStatus {
        let form = ErrorForm(arguments)
        if let code = error as? ExitCode { return ExitStatus(rawValue: code.rawValue) }
        let failure: Failure
        switch KeyfobCommand.exitCode(for: error) {
        case .success:
            if let word = Self.accidentalHelp(in: arguments) {
                failure = Failure(
                    usage: "unknown option '\(word)'.",
                    hint: "What begins with a hyphen and is no option goes behind a \"--\" at the end of the line.")
                break
            }
            do {
                let text = KeyfobCommand.fullMessage(for: error)
                // Help is for people, whatever the form of results.
                let isVersion = text == KeyfobCommand.version
                try StandardOutput.write(
                    form.isJSON && isVersion
                        ? Document(["version": .string(text)]).rendered(as: .json) : text.withGlobalOptionsLast + "\n")
                return .success
            } catch {
                failure = Failure(error)
            }
        case .validationFailure:
            // ArgumentParser's full message ends in its usage lines; they are the remedy here.
            // A verb that is none has been reported by now.
            let path = (try? Invocation(arguments, root: KeyfobCommand.self))?.path ?? []
            let raw = Discretion.checked(KeyfobCommand.message(for: error), of: path)
            let message = Suggestion.checked(raw).decapitalized
            let lines = KeyfobCommand.fullMessage(for: error).split(separator: "\n").map(String.init)
            let usage = lines.drop { !$0.hasPrefix("Usage:") }.map { $0.trimmingBlanks }
            let others = Suggestion.commands(with: message)
            let hints = (others.isEmpty ? [] : ["An option of: " + others.joined(separator: ", ")])
                + [Suggestion.form(for: message)].compactMap(\.self) + usage
            failure = Failure(usage: message, hint: hints.isEmpty ? nil : hints.joined(separator: "\n"))
        default:
            failure = Failure(error)
        }
        StandardError.write(form.isJSON ? failure.json : failure.text(verbose: form.isVerbose))
        return failure.status
    }
}

extension String {
    /// A help text with the options that every command takes behind the command's own.
    ///
    /// ArgumentParser puts options without a title last.
    var withGlobalOptionsLast: String {
        var sections = components(separatedBy: "\n\n")
        guard let index = sections.firstIndex(where: { $0.hasPrefix("GLOBAL OPTIONS:\n") }) else { return self }
        sections.append(sections.remove(at: index))
        return sections.map { $0.trimmingCharacters(in: .newlines) }.joined(separator: "\n\n")
    }

    /// With a small first letter, as it follows `keyfob: `; words in capitals stay.
    fileprivate var decapitalized: String {
        guard let first, let next = dropFirst().first, next.isLowercase || next == " " else { return self }
        return first.lowercased() + dropFirst()
    }
}

/// How an error is to be printed, found in the raw arguments: they may be what is wrong.
struct ErrorForm: Equatable {
    let isJSON: Bool
    let isVerbose: Bool

    /// What a file is to hold: no form of an error.
    private static let fileFormats: Set<String> = ["pem", "der", "ssh", "pkcs12"]

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
}
