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

    /// The file with the number of the last copy. The process of an earlier copy does not clear a later one.
    private static var lastCopy: URL { Directories().runtime.appendingPathComponent("clipboard", isDirectory: false) }

    /// Records a copy, and returns its number.
    ///
    /// - Throws: `KeychainError` if the file in the runtime directory cannot be written.
    static func recordCopy() throws -> String {
        let number = String(UInt64.random(in: 0...UInt64.max), radix: 36)
        try PrivateFile.createDirectory(Directories().runtime)
        try PrivateFile.write(SecretBytes(utf8: number), to: lastCopy)
        return number
    }

    /// Starts the process.
    ///
    /// - Parameter copy: The number of the copy.
    /// - Throws: `KeychainError.failed` if it cannot be started.
    static func start(
        _ clipboard: Clipboard, _ secret: SecretBytes, copy: String, after time: Duration
    ) throws {
        let (hash, output) = (try MemoryFile(SecretBytes(Digest.sha256(secret))), try MemoryFile())
        defer { withExtendedLifetime((hash, output)) {} }
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        var child = try ChildProcess(
            [
                "/bin/sh", "-c", "exec setsid --fork \"$@\" 2>&1", "sh", program, word, clipboard.program.rawValue,
                String(Int((time / .seconds(1)).rounded(.up))), copy,
            ], input: hash.descriptor, output: output.descriptor, inOwnGroup: true)
        guard child.exitStatus(by: .after(.seconds(5))) == 0 else {
            throw KeychainError(
                .failed, "the process that clears the clipboard cannot be started; nothing was copied.",
                hint: "Is setsid (util-linux) installed? Without a limit: --for 0")
        }
    }

    /// Waits, and clears the clipboard if its content still has the hash on standard input.
    ///
    /// Failures are ignored, because the process has no user to report them to.
    static func run(_ arguments: [String]) {
        guard arguments.count == 3, let program = Clipboard.Program(rawValue: arguments[0]),
            let seconds = Int(arguments[1])
        else { return }
        let hash = FileHandle.standardInput.readDataToEndOfFile()
        // Not one long sleep: its clock would stop while the machine is suspended.
        let end = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < end {
            usleep(useconds_t(min(1_000_000, max(1000, (end - .now) / .microseconds(1)))))
        }
        let clipboard = Clipboard(program: program)
        // A file that cannot be read was not replaced by a later copy.
        let last = try? PrivateFile.read(lastCopy, limit: 64)
        guard last == nil || last == SecretBytes(utf8: arguments[2]) else { return }
        guard let content = clipboard.content(), constantTimeEqual(Digest.sha256(content), hash) else { return }
        do { try clipboard.clear() } catch {}
    }
}
