import Glibc
import Keyfob

/// The error for a program that cannot be started.
struct ProgramFailure: FailureDescribing {
    private let program: String
    private let number: Int32

    /// Creates the error for the error number of execve(2) or of the search for the program.
    init(_ program: String, _ number: Int32) {
        self.program = program
        self.number = number
    }

    /// The description, with the status that shells use for the reason.
    var failure: Failure {
        isMissing
            ? Failure(code: "program.not_found", status: .programNotFound, error)
            : Failure(code: "program.not_executable", status: .programNotExecutable, error)
    }

    private var error: KeychainError {
        let name = "\"\(TerminalSafe.text(program))\""
        guard !isMissing else {
            return KeychainError(
                .failed, "there is no program \(name).",
                hint: program.contains("/") ? "Check its path." : "Check its name, and the variable PATH.",
                details: ["program": program])
        }
        let reason = unsafe String(cString: strerror(number))
        return KeychainError(
            .failed, "the program \(name) cannot be executed: \(reason).",
            hint: hint, details: ["program": program])
    }

    private var hint: String? {
        switch number {
        case EACCES: "Check its mode: ls -l \(ShellWord.quoted(program))"
        case E2BIG: "Give it large secrets as files: --file PATH=ITEM"
        default: nil
        }
    }

    private var isMissing: Bool { number == ENOENT || number == ENOTDIR }
}
