import Glibc
import Keyfob
import KeyfobPrimitives

/// The command that is run after a renewal.
enum RenewalHook {
    /// Runs a command with `/bin/sh -c` and returns its exit status. Its output goes to standard error, so that
    /// standard output stays ours. Variables that hold secrets, or say where they are, are not passed on. What it
    /// makes has the modes that our caller's own files have: servers must be able to read it.
    static func run(_ command: String) throws -> Int32 {
        let mask = CreationMask.callersText.map { "umask \($0); " } ?? ""
        return try ProgramRun.status(of: ["/bin/sh", "-c", mask + command], output: STDERR_FILENO)
    }
}

/// The steps of an issuer, for the line that tells what was done.
final class RenewalSteps: Sendable {
    private let steps = Lock<[String]>([])

    /// Takes note of a step.
    func add(_ step: String) { steps.withLock { $0.append(Visible.text(step)) } }

    /// All steps so far.
    var all: [String] { steps.withLock { $0 } }
}
