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

    /// Makes the file, empty and of mode 0600, or takes an empty one that a kill has left.
    ///
    /// - Parameter path: The file that the user wants; `nil` takes the first free name in the home directory.
    /// - Throws: `KeychainError`; `refused` where something is in the wanted file, or another command has it;
    ///   `fileUnavailable` where it cannot be made.
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
            .refused, "there are a thousand recovery files in \(HomePath.home) already.",
            hint: "Give a file: --recovery-file FILE")
    }

    /// Writes the code to the first line of the file, where `--pin-source file:` reads it.
    ///
    /// - Throws: `KeychainError.fileUnavailable`.
    func write(_ code: RecoveryCode) throws {
        let rest = """


            This is the recovery code of the Keyfob keychain "\(keychain)". Whoever has it and the keychain's files
            can open the keychain without its passphrase. Keep it on paper or on another machine.

            To use it: keyfob unlock \(keychain) --recovery

            """
        let text = code.text + SecretBytes(utf8: rest)
        guard path != "-" else { return try StandardOutput.write(text) }
        HangWatch.keep(path)
        try PrivateFile.write(text, to: URL(fileURLWithPath: path))
    }

    /// Removes the file after the creation of the keychain failed.
    func remove() {
        guard path != "-" else { return }
        unsafe unlink(path)
    }

    /// Whether there is an empty file that no other command has; `false` where the file is another one.
    private static func reserve(_ path: String) throws -> Bool {
        // A FIFO would be waited for, and a device be opened.
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

    /// Whether a file is regular, empty, of this user and not taken by another command, which holds a lock on it.
    ///
    /// The descriptor and its lock stay for the life of this process: the file remains empty until the code is there.
    private static func isEmptyAndOurs(_ descriptor: Int32) -> Bool {
        var status = stat()
        // After the lock: the command that had it may have put its code in, in place of this file.
        return unsafe flock(descriptor, LOCK_EX | LOCK_NB) == 0 && fstat(descriptor, &status) == 0
            && status.st_mode & S_IFMT == S_IFREG && status.st_size == 0 && status.st_nlink == 1
            && status.st_uid == geteuid()
    }
}
