import Foundation
import Glibc
import Keyfob
import KeyfobOpenSSL
import KeyfobPrimitives

/// A process that clears the clipboard after a time, if it still holds a secret.
///
/// It is this program again, in a session of its own, so that it survives the command and its terminal. It gets the
/// hash of the secret, not the secret.
enum ClipboardTimer {
    /// The first argument of the process.
    static let word = "---clear-clipboard"

    /// Starts the process.
    ///
    /// - Throws: `KeychainError.failed` if it cannot be started.
    static func start(_ clipboard: Clipboard, _ secret: SecretBytes, after time: Duration) throws {
        let (hash, output) = (try MemoryFile(SecretBytes(Digest.sha256(secret))), try MemoryFile())
        defer { withExtendedLifetime((hash, output)) {} }
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        var child = try ChildProcess(
            [
                "/bin/sh", "-c", "exec setsid --fork \"$@\" 2>&1", "sh", program, word, clipboard.program.rawValue,
                String(Int((time / .seconds(1)).rounded(.up))),
            ], input: hash.descriptor, output: output.descriptor, inOwnGroup: true)
        guard child.exitStatus(by: .after(.seconds(5))) == 0 else {
            throw KeychainError(
                .failed, "the process that clears the clipboard cannot be started; nothing was copied.",
                hint: "Is setsid (util-linux) installed? Without a limit: --for 0")
        }
    }

    /// Waits, and clears the clipboard if its content still has the hash on standard input.
    ///
    /// Failures are ignored: there is nothing that could show them, and a desktop that has gone has no clipboard.
    static func run(_ arguments: [String]) {
        guard arguments.count == 2, let program = Clipboard.Program(rawValue: arguments[0]),
            let seconds = Int(arguments[1])
        else { return }
        let hash = FileHandle.standardInput.readDataToEndOfFile()
        // Not one long sleep: its clock would stop while the machine is suspended.
        let end = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < end {
            usleep(useconds_t(min(1_000_000, max(1000, (end - .now) / .microseconds(1)))))
        }
        let clipboard = Clipboard(program: program)
        guard let content = clipboard.content(), constantTimeEqual(Digest.sha256(content), hash) else { return }
        do { try clipboard.clear() } catch {}
    }
}
