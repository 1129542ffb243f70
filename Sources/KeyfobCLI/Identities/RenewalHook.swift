import Foundation
import Keyfob
import KeyfobPrimitives

/// The command that is run after a renewal.
enum RenewalHook {
    /// How long a command may take: one that hangs would keep a timer's next renewal from ever being begun.
    private static let patience: Duration = .seconds(600)

    /// How long a command may take with `--timeout`. That is for keychains and tokens first: who will not wait for
    /// those has not asked for a command to be cut short.
    static func limit(_ timeout: TimeSpan?) -> Duration { max(patience, timeout?.duration ?? .zero) }

    /// Runs a command with `/bin/sh -c` and returns its exit status; `nil` where it took longer than `limit` and was
    /// killed, with all that it started.
    ///
    /// Its output goes to standard error, so that standard output stays ours. Variables that hold secrets, or say where
    /// they are, are not passed on. What it makes has the modes that our caller's own files have: servers must be able
    /// to read it. `keyfob` is this one, where PATH names no other.
    static func run(_ command: String, limit: Duration) throws(KeychainError) -> Int32? {
        let mask = CreationMask.callersText.map { "umask \($0); " } ?? ""
        return try ProgramRun.status(
            of: ["/bin/sh", "-c", mask + ownDirectory + command], output: STDERR_FILENO, by: .after(limit))
    }

    /// What lets the shell find the command that it is told to call: cron and systemd look in no home directory.
    private static var ownDirectory: String {
        // What cannot be told is no reason to run nothing.
        guard let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"),
            program.hasSuffix("/keyfob")
        else { return "" }
        let directory = String(program.dropLast("/keyfob".count))
        // An empty element is the current directory, and nothing protects a colon.
        guard !directory.contains(":") else { return "" }
        return "PATH=${PATH:+$PATH:}\(ShellWord.quoted(directory.isEmpty ? "/" : directory)); export PATH; "
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
