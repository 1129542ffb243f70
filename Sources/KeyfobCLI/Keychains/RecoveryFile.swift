import CLinux
import Foundation
import Glibc
import Keyfob
import KeyfobPrimitives

/// The file for a recovery code, or standard output. It is created before the code, so that a code can always be saved.
struct RecoveryFile {
    /// The path; `-` for standard output.
    let path: String
    private let keychain: String

    /// Refuses to print the code and a document to standard output.
    ///
    /// - Throws: `UsageError`.
    static func check(_ path: String?, _ output: Output) throws {
        guard path == "-", output.format.isMachineReadable else { return }
        throw UsageError(
            "the recovery code and a document cannot both go to standard output.",
            hint: "Give a file: --recovery-file FILE")
    }

    /// The path of the file that a dry run would make, as far as it is known.
    static func planned(_ path: String?) -> String? {
        path.map { $0 == "-" ? $0 : URL(fileURLWithPath: $0).standardizedFileURL.path }
    }

    /// Creates the file, empty and with mode 0600, or reuses an empty one that a killed command has left.
    ///
    /// - Parameter path: The file that the user named; `nil` for the first free name in the home directory.
    /// - Throws: `KeychainError.refused` if the file has content or another command uses it; `fileUnavailable` if it
    ///   cannot be created.
    init(keychain: String, path: String?) throws {
        self.keychain = keychain
        if path == "-" {
            self.path = "-"
            return
        }
        if let path {
            let absolute = URL(fileURLWithPath: path).standardizedFileURL.path
            guard try Self.reserve(absolute) else {
                throw KeychainError(
                    .refused, "\(TerminalSafe.text(path)) exists, and a recovery code may be in it; nothing was made.",
                    hint: "Give another file: --recovery-file FILE", details: ["path": path])
            }
            self.path = absolute
            return
        }
        for number in 1...1000 {
            let suffix = number == 1 ? "" : "-\(number)"
            let candidate = HomePath.home + "/keyfob-recovery-\(keychain)\(suffix).txt"
            guard try Self.reserve(candidate) else { continue }
            self.path = candidate
            return
        }
        throw KeychainError(
            .refused, "there are already 1000 recovery files in \(HomePath.home).",
            hint: "Give a file: --recovery-file FILE")
    }

    /// Writes the code to the first line of the file, where `--pin-source file:` reads it.
    ///
    /// - Throws: `KeychainError.fileUnavailable`.
    func write(_ code: RecoveryCode) throws {
        let rest = """


            This is the recovery code of the Keyfob keychain "\(keychain)". Anyone who has it and the keychain's
            files can open the keychain without its passphrase. Keep it on paper or on another machine.

            To use it: keyfob unlock \(keychain) --recovery
            For a new passphrase: keyfob keychain passphrase \(keychain) --recovery

            """
        let text = code.text + SecretBytes(utf8: rest)
        guard path != "-" else { return try StandardOutput.write(text) }
        HangWatch.keep(path)
        try PrivateFile.write(text, to: URL(fileURLWithPath: path))
    }

    /// Runs `change`, which writes the code, and removes the file if that fails.
    ///
    /// Signals are deferred, because an interruption between the keychain and its code would lose the code.
    ///
    /// - Throws: The error of `change`.
    func keeping<Result>(_ change: () throws -> Result) throws -> Result {
        try Interruption.deferring {
            do { return try change() } catch {
                remove()
                throw error
            }
        }
    }

    /// Removes the file after the creation of the keychain failed.
    func remove() {
        guard path != "-" else { return }
        unsafe unlink(path)
    }

    /// Creates and locks the file, or locks an existing empty one. Returns `false` for any other file.
    private static func reserve(_ path: String) throws -> Bool {
        // Without these flags, opening a FIFO would block, and a link would be followed.
        let flags = O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        let descriptor = unsafe keyfob_open(path, flags, 0o600)
        if descriptor >= 0 {
            if isEmptyAndOurs(descriptor) {
                HangWatch.removeAtEnd(path)
                return true
            }
            close(descriptor)
            return false
        }
        let number = errno
        var status = stat()
        if unsafe lstat(path, &status) == 0 { return false }
        let reason = unsafe String(cString: strerror(number))
        throw KeychainError(
            .fileUnavailable,
            "the recovery code cannot be saved to \(TerminalSafe.text(path)): \(reason); nothing was made.",
            hint: "Give another file: --recovery-file FILE", details: ["path": path])
    }

    /// Whether a file is regular, empty, owned by this user and not locked by another command.
    ///
    /// The descriptor and its lock are kept until this process ends, because the file remains empty until the code is
    /// written.
    private static func isEmptyAndOurs(_ descriptor: Int32) -> Bool {
        var status = stat()
        // Checked after locking: the previous holder of the lock may have replaced this file by one with its code.
        return unsafe flock(descriptor, LOCK_EX | LOCK_NB) == 0 && fstat(descriptor, &status) == 0
            && status.st_mode & S_IFMT == S_IFREG && status.st_size == 0 && status.st_nlink == 1
            && status.st_uid == geteuid()
    }
}
