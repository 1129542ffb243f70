import ArgumentParser
import Keyfob
import KeyfobPrimitives

/// A command that another program calls for credentials, in the protocol of that program.
///
/// A helper never asks questions: the calling program may have no terminal, or may be asking at it.
protocol CredentialHelper: ParsableCommand {
    var global: GlobalOptions { get }

    /// Reads the request, and prints the answer.
    func answer() throws

    /// Reports an error in the form that the calling program expects, and returns the exit status.
    func report(_ failure: Failure) -> ExitStatus
}

extension CredentialHelper {
    func run() throws {
        let failure: Failure
        do { return try answer() } catch let code as ExitCode { throw code } catch { failure = Failure(error) }
        throw ExitCode(report(failure).rawValue)
    }

    func report(_ failure: Failure) -> ExitStatus {
        StandardError.write(ErrorForm.current.isJSON ? failure.json : "keyfob: \(failure.oneLine)\n")
        return failure.status
    }

    /// Opens the keychain, which cannot ask for its PIN.
    ///
    /// - Throws: The errors of `GlobalOptions.openKeychain`; `UsageError` for a dry run, and if the PIN would come from
    ///   standard input, which has the request.
    func openKeychain(warmsUpToken: Bool = false) throws -> Keychain {
        try openKeychain(global, warmsUpToken: warmsUpToken)
    }

    /// Opens the keychain that `options` select.
    ///
    /// - Throws: The errors of `openKeychain(warmsUpToken:)`.
    func openKeychain(_ options: GlobalOptions, warmsUpToken: Bool = false) throws -> Keychain {
        // The protocols of the calling programs have no answer for it.
        guard !global.dryRun, !options.dryRun else {
            throw UsageError("a helper has no dry run; nothing was changed.", hint: "Leave out --dry-run.")
        }
        var options = options
        options.noInput = true
        if ["stdin", "fd:0"].contains(options.pinSource ?? options.environmentPINSource) {
            throw UsageError(
                "standard input cannot provide both the PIN and the request.",
                hint: "Give another source, such as --pin-source file:PATH")
        }
        return try options.openKeychain(warmsUpToken: warmsUpToken)
    }

    /// The input of the calling program.
    func input() throws -> HelperInput { try HelperInput(waiting: global.timeout) }
}

extension Failure {
    /// The message and the hint on one line, for programs that show or log a single line.
    var oneLine: String {
        let text = ([message] + (hint.map { [$0] } ?? [])).joined(separator: " ").replacing("\n", with: " ")
        return TerminalSafe.text(text)
    }
}

/// Text in the answer of a helper.
enum HelperAnswer {
    /// Refuses a value that cannot be in one line, because the rest would be lines of their own in the protocol.
    ///
    /// - Parameter what: The noun for the value, which is never shown.
    /// - Throws: `KeychainError.unsupportedFormat`.
    static func requireOneLine(_ value: SecretBytes, _ what: String) throws {
        guard [0x0A, 0x0D, 0].allSatisfy({ value.firstIndex(of: $0) == nil }) else {
            throw KeychainError(
                .unsupportedFormat, "the \(what) contains a line break or a NUL; it was neither printed nor stored.",
                hint: "Store a value of one line: \(Wording.selected.keyfob("set NAME --replace"))")
        }
    }

    /// The secret as text for a JSON answer.
    ///
    /// - Throws: `KeychainError.unsupportedFormat` if it is not UTF-8.
    static func text(_ secret: SecretBytes) throws -> String {
        guard let text = secret.copyString() else {
            throw KeychainError(
                .unsupportedFormat, "the stored secret is not UTF-8; it was not printed.",
                hint: "Store text: \(Wording.selected.keyfob("set NAME --replace"))")
        }
        return text
    }

    /// The JSON object that a secret contains; `nil` if it is other text.
    static func object(in secret: SecretBytes) -> JSONText? {
        guard let json = JSONText(secret.copyBytes()), case .object = json else { return nil }
        return json
    }
}
