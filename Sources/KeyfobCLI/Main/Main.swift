import ArgumentParser
import Foundation
import Glibc
import Keyfob
import KeyfobPrimitives
import PKCS11

/// The entry point of the process.
@main enum Main {
    static func main() {
        InheritedDescriptors.note()
        Hardening.occupyStandardStreams()
        Hardening.apply()
        Hardening.reportForeignExit()
        Interruption.install()
        LoadObserver.observe { if $0.has(.writesToStandardError) { StandardError.detach() } }
        let arguments = CommandLine.arguments
        if let failure = undecipherable ?? exposedPIN ?? Hardening.failure {
            StandardError.write(ErrorForm.current.text(of: failure))
            _exit(failure.status.rawValue)
        }
        let status: ExitStatus
        // The only place where the name of the program matters. All other names mean keyfob.
        let name = arguments.first?.split(separator: "/").last.map(String.init) ?? ""
        switch name {
        case "security": status = SecurityTool.run(Array(arguments.dropFirst()))
        default: status = keyfob((HelperProgram(name: name)?.words ?? []) + arguments.dropFirst())
        }
        // _exit(2) instead of exit(3): the kernel frees the resources of the libraries much faster than their exit
        // handlers.
        fflush(nil)
        _exit(status.rawValue)
    }

    /// The variables that select objects and their locations. Other variables may contain secrets with arbitrary bytes.
    private static let namingVariables = [
        "HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "KEYFOB_KEYCHAIN",
        "KEYFOB_TOKEN",
        "KEYFOB_MODULE", "KEYFOB_PIN_SOURCE",
    ]

    /// The failure for an argument or variable that is not UTF-8. Swift would repair it, and the repaired name or
    /// directory would be a different one.
    private static var undecipherable: Failure? {
        for index in 0..<Int(CommandLine.argc) {
            guard let argument = unsafe CommandLine.unsafeArgv[index] else { continue }
            guard unsafe String(validatingCString: argument) != nil else {
                return Failure(
                    usage: "an argument is not valid UTF-8.",
                    hint: "Check the terminal's encoding (locale).")
            }
        }
        for name in namingVariables {
            guard let value = unsafe getenv(name) else { continue }
            guard unsafe String(validatingCString: value) != nil else {
                return Failure(
                    usage: "the variable \(name) is not valid UTF-8.",
                    hint: "Set it to a path or name in UTF-8, or unset it.")
            }
        }
        return nil
    }

    /// The failure if an argument, or a variable that names an object, contains a PIN. Every message that repeats it
    /// would show the PIN.
    ///
    /// Completion prints no messages, so it is not checked.
    private static var exposedPIN: Failure? {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.first?.hasPrefix("---completion") != true else { return nil }
        let variables = ["KEYFOB_KEYCHAIN", "KEYFOB_TOKEN", "KEYFOB_MODULE"].compactMap(Environment.nonEmpty)
        guard (arguments + variables).contains(where: PKCS11URI.seemsToHoldPIN) else { return nil }
        return Failure(UsageError.pinOnCommandLine)
    }

    /// Runs the command that `arguments` name, reports its error, and returns its exit status.
    static func keyfob(_ arguments: [String]) -> ExitStatus {
        do {
            // A completion script calls back with the words typed so far; they are not checked as a command line.
            if arguments.first?.hasPrefix("---completion") == true {
                do {
                    HangWatch.choose(.zero)
                    HangWatch.begin(isSilent: true)
                    var command = try CompletedCommand<KeyfobCommand>.parseAsRoot(arguments)
                    try command.run()
                    return .success
                } catch where KeyfobCommand.exitCode(for: error) != .success {
                    // A message would appear in the line that is being typed.
                    return .usage
                }
            }
            if arguments.first == ClipboardTimer.word {
                ClipboardTimer.run(Array(arguments.dropFirst()))
                return .success
            }
            if let plain = PlainGet(arguments) {
                try plain.run()
                return .success
            }
            let invocation = try Invocation(arguments, root: KeyfobCommand.self)
            let runsProgram = invocation.command == RunCommand.self
                || invocation.command == AgentCommand.self && AgentCommand.runsProgram(invocation.arguments)
            if runsProgram { ExitStatus.leaveToProgram() }
            var command = try invocation.parse(root: KeyfobCommand.self)
            if !type(of: command).configuration.subcommands.isEmpty {
                // A group without a verb must fail, because in a script the verb is missing by mistake.
                guard !ErrorForm(arguments).isJSON else {
                    let words = (["keyfob"] + invocation.path).joined(separator: " ")
                    throw UsageError("a command is missing after \"\(words)\".", hint: "All commands: \(words) --help")
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

    /// The word whose letter `h` makes ArgumentParser print help unintentionally; `nil` if help was requested.
    ///
    /// ArgumentParser treats `-dash`, the name of an item, as four short options. Without this check, a script would
    /// get a success status.
    private static func accidentalHelp(in arguments: [String]) -> String? {
        let options = arguments.prefix { $0 != "--" }
        let asked = ["-h", "--help", "-help", "help", "--version"]
        guard !options.contains(where: asked.contains) else { return nil }
        return options.first { word in
            // The short options without a value may be combined.
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
                    hint: "Put arguments that begin with a hyphen after a \"--\", at the end of the line.")
                break
            }
            do {
                let text = KeyfobCommand.fullMessage(for: error)
                // Help is for people, so it is always text.
                let isVersion = text == KeyfobCommand.version
                try StandardOutput.write(
                    form.isJSON && isVersion
                        ? Document(["version": text]).rendered(as: .json) : text.withGlobalOptionsLast + "\n")
                return .success
            } catch {
                failure = Failure(error)
            }
        case .validationFailure:
            // ArgumentParser's full message ends with the usage, which becomes the hint. Unknown verbs have been
            // reported already.
            let path = (try? Invocation(arguments, root: KeyfobCommand.self))?.path ?? []
            let raw = SecretRedaction.checked(KeyfobCommand.message(for: error), of: path)
            let message = DidYouMean.checked(raw).decapitalized
            let lines = KeyfobCommand.fullMessage(for: error).split(separator: "\n").map(String.init)
            let usage = lines.drop { !$0.hasPrefix("Usage:") }.map { $0.trimmingBlanks }
            let others = DidYouMean.commands(with: message)
            let hints = (others.isEmpty ? [] : ["Commands with this option: " + others.joined(separator: ", ")])
                + [DidYouMean.form(for: message)].compactMap(\.self) + usage
            failure = Failure(usage: message, hint: hints.isEmpty ? nil : hints.joined(separator: "\n"))
        default:
            failure = Failure(error)
        }
        StandardError.write(form.text(of: failure))
        return failure.status
    }
}

extension String {
    /// A help text with the global options after the command's own.
    ///
    /// ArgumentParser puts options without a title last.
    var withGlobalOptionsLast: String {
        var sections = components(separatedBy: "\n\n")
        guard let index = sections.firstIndex(where: { $0.hasPrefix("GLOBAL OPTIONS:\n") }) else { return self }
        sections.append(sections.remove(at: index))
        return sections.map { $0.trimmingCharacters(in: .newlines) }.joined(separator: "\n\n")
    }

    /// The text with a lowercase first letter, to follow `keyfob: `. Words in capitals stay unchanged.
    fileprivate var decapitalized: String {
        guard let first, let next = dropFirst().first, next.isLowercase || next == " " else { return self }
        return first.lowercased() + dropFirst()
    }
}
