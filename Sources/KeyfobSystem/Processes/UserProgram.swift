import CLinux
import Foundation
import KeyfobPrimitives
import Synchronization

/// A program that the user runs through this process, and that shall notice nothing of it.
///
/// It gets the caller's standard streams, descriptors, file mode creation mask, signal mask and ignored signals. It
/// keeps the limit of core dumps that this process has set for itself: a dump would write its secrets to a disk.
package struct UserProgram {
    /// The path of the program's file.
    package let file: String
    /// The arguments; the first is the program's name.
    package let arguments: [String]

    /// Creates a program.
    ///
    /// - Parameter arguments: The arguments; the first is the program's name.
    package init(file: String, arguments: [String]) {
        self.file = file
        self.arguments = arguments
    }

    /// Replaces this process by the program.
    ///
    /// All threads end, and the kernel frees all memory, before the program runs.
    ///
    /// - Returns: The error number of execve(2). The call only returns if that fails.
    package func replaceProcess(environment: ProgramEnvironment) -> Int32 {
        Self.restoreCallersState()
        // A process that stays needs the exit status of its children.
        if IgnoredSignals.contains(SIGCHLD) { signal(SIGCHLD, SIG_IGN) }
        return unsafe environment.withEntries { entries in
            unsafe withCommand { file, arguments in
                unsafe execve(file, arguments, entries)
                return errno
            }
        }
    }

    /// Starts the program in the process group of this process, so that the terminal treats both as one job.
    ///
    /// - Parameters:
    ///   - output: The descriptor of its standard output; `nil` for that of this process.
    ///   - error: The descriptor of its standard error; `nil` for that of this process.
    ///   - kept: A descriptor that it inherits too.
    /// - Returns: The process identifier, or the error number if the program cannot be started.
    package func start(
        environment: ProgramEnvironment, output: Int32? = nil, error: Int32? = nil, keeping kept: Int32? = nil
    ) -> Result<Int32, ErrorNumber> {
        Self.restoreCallersState()
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        if let output { unsafe posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO) }
        if let error { unsafe posix_spawn_file_actions_adddup2(&actions, error, STDERR_FILENO) }
        // Duplicating a descriptor onto itself removes the mark that would close it.
        if let kept { unsafe posix_spawn_file_actions_adddup2(&actions, kept, kept) }
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        // The process that waits for the program ignores it for itself.
        if !IgnoredSignals.contains(SIGTTOU) { unsafe sigaddset(&signals, SIGTTOU) }
        unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
        var identifier: Int32 = 0
        let number = unsafe environment.withEntries { entries in
            unsafe withCommand { file, arguments in
                unsafe posix_spawn(&identifier, file, &actions, &attributes, arguments, entries)
            }
        }
        return number == 0 ? .success(identifier) : .failure(ErrorNumber(value: number))
    }

    /// An error number of a system call.
    package struct ErrorNumber: Error {
        package let value: Int32
    }

    /// Calls `body` with the file and its arguments. A script without `#!` is run by the shell, as execvp(3) does.
    private func withCommand(
        _ body: (String, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Int32
    ) -> Int32 {
        let number = unsafe withCStrings(arguments) { unsafe body(file, $0) }
        guard number == ENOEXEC else { return number }
        return unsafe withCStrings(["/bin/sh", file] + arguments.dropFirst()) { unsafe body("/bin/sh", $0) }
    }

    /// Undoes what this process has changed for itself. Its handlers of signals end with execve(2).
    private static func restoreCallersState() {
        let error = ChildProcess.standardError.load(ordering: .acquiring)
        if error >= 0 { dup2(error, STDERR_FILENO) }
        if !IgnoredSignals.contains(SIGXFSZ) { signal(SIGXFSZ, SIG_DFL) }
        if IgnoredSignals.contains(SIGPIPE) { signal(SIGPIPE, SIG_IGN) }
        InheritedDescriptors.closeOthersOnExec()
        CreationMask.restore()
    }
}
