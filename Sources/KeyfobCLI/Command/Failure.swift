import ArgumentParser
import Keyfob

/// An error with its own description.
protocol FailureDescribing: Error {
    var failure: Failure { get }
}

/// The error of a command, as the user sees it: a message, a hint and an exit status.
struct Failure {
    let code: String
    let status: ExitStatus
    let message: String
    let hint: String?
    let details: [(name: String, value: String)]

    /// Describes any error that a command throws.
    init(_ error: any Error) {
        switch error {
        case let error as KeychainError: self.init(keychain: error)
        case let failed as any FailureDescribing: self = failed.failure
        case let usage as UsageError: self.init(usage: usage.message, hint: usage.hint)
        case is CancellationError: self.init(keychain: .stopped)
        default: self.init(keychain: KeychainError(.failed, String(describing: error), cause: error))
        }
    }

    /// Describes a usage error.
    init(usage message: String, hint: String?) {
        code = "usage"
        status = ExitStatus.usage.ofFailure
        self.message = message
        self.hint = hint
        details = []
    }

    /// Describes an error with a code and a status of its own.
    init(code: String, status: ExitStatus, _ error: KeychainError) {
        self.init(keychain: error, code: code, status: status)
    }

    private init(keychain error: KeychainError, code: String? = nil, status: ExitStatus? = nil) {
        self.code = code ?? error.code.rawValue
        // A command that was stopped by a signal has the same status as one that the signal ended.
        let signal = error.code == .cancelled ? Interruption.request : nil
        self.status = status ?? signal.map(ExitStatus.signalled) ?? ExitStatus(error.code).ofFailure
        message = error.message
        hint = Wording.hint(of: error)
        var details = error.details.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
        if error.details["ckr"] == nil, let name = Self.returnValueName(in: error.cause) {
            details.append(("ckr", name))
        }
        self.details = details
    }

    /// `keyfob: ` and the message, then the hint, indented by four spaces. With `-v`, the CKR name too.
    func text(verbose: Bool) -> String {
        // The message is one line, even if names in it contain line breaks.
        var text = "keyfob: " + TerminalSafe.text(message)
        if verbose, let name = details.first(where: { $0.name == "ckr" })?.value {
            text += " (\(TerminalSafe.text(name)))"
        }
        text += "\n"
        if let hint { text += "    " + Self.visibleLines(hint) + "\n" }
        return text
    }

    /// One line of JSON for standard error.
    var json: String { Document(["error": value]).value.json + "\n" }

    /// The failure as a value of a document.
    var value: Members {
        ["code": code, "exit": status.rawValue, "message": message, "hint": hint, "details": Members(details)]
    }

    /// Hints may have several lines. Names in them are untrusted, so all other control characters are escaped.
    private static func visibleLines(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { TerminalSafe.text(String($0)) }
            .joined(separator: "\n    ")
    }

    /// Returns the CKR name of an underlying error. Errors keep the underlying one as `cause`, and the description of a
    /// PKCS#11 error contains the name of its return value.
    private static func returnValueName(in error: (any Error)?) -> String? {
        guard let error else { return nil }
        if let error = error as? KeychainError { return returnValueName(in: error.cause) }
        let text = String(describing: error)
        guard let start = text.firstRange(of: "CKR_")?.lowerBound else { return nil }
        return String(text[start...].prefix { $0 == "_" || ($0.isASCII && ($0.isUppercase || $0.isNumber)) })
    }
}
