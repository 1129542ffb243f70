import Foundation
import KeyfobPrimitives

/// The command that is run after a renewal.
enum RenewalHook {
    /// Runs a command with `/bin/sh -c` and returns its exit status. Its output goes to standard error, so that
    /// standard output stays ours. Variables that begin with `KEYFOB_` are not passed on: some hold PINs.
    static func run(_ command: String) throws -> Int32 {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", command]
        process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("KEYFOB_") }
        process.standardOutput = FileHandle.standardError
        process.standardInput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return process.terminationReason == .exit ? process.terminationStatus : 128 + process.terminationStatus
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
