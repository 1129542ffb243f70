import Foundation
import Keyfob
import KeyfobPrimitives

/// The command that runs after a renewal.
enum RenewalHook {
    /// The default limit for a command. Without a limit, a hanging command would block the timer's next renewals.
    private static let patience: Duration = .seconds(600)

    /// The limit for a command, given `--timeout`. That option is mainly about keychains and tokens, so it can extend
    /// the limit but not shorten it.
    static func limit(_ timeout: TimeSpan?) -> Duration { max(patience, timeout?.duration ?? .zero) }

    /// Runs a command with `/bin/sh -c` and returns its exit status; `nil` if it took longer than `limit` and was
    /// killed with its children.
    ///
    /// Its output goes to standard error, because standard output belongs to Keyfob. Variables that contain secrets or
    /// their locations are not passed on. Files that it creates get the caller's creation mask, because servers must be
    /// able to read them. If PATH contains no `keyfob`, the command finds this executable.
    static func run(_ command: String, limit: Duration) throws(KeychainError) -> Int32? {
        let mask = CreationMask.callersText.map { "umask \($0); " } ?? ""
        return try ProgramRun.status(
            of: ["/bin/sh", "-c", mask + ownDirectory + command], output: StandardError.descriptor, by: .after(limit))
    }

    /// Shell text that appends the directory of this executable to PATH, because cron and systemd do not search home
    /// directories.
    private static var ownDirectory: String {
        // If the path is unknown, the command runs without it.
        guard let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"),
            program.hasSuffix("/keyfob")
        else { return "" }
        let directory = String(program.dropLast("/keyfob".count))
        // An empty element of PATH means the current directory, and a colon cannot be escaped.
        guard !directory.contains(":") else { return "" }
        return "PATH=${PATH:+$PATH:}\(ShellWord.quoted(directory.isEmpty ? "/" : directory)); export PATH; "
    }
}
