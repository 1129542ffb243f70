import CLinux
import Glibc

/// What the process gives up before it touches a secret.
enum Hardening {
    /// No core dump, no attaching debugger of the same user, and no file that others can read.
    ///
    /// Failures are ignored: a kernel that refuses leaves us where every other program is.
    static func apply() {
        // Also makes /proc/self belong to root, so that our memory cannot be read through it.
        _ = keyfob_set_dumpable(0)
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        unsafe callersMask = umask(0o077)
    }

    /// The file mode creation mask that we were started with, as umask(1) takes it: for programs of the user's own,
    /// whose files others may have to read.
    static var callersMaskText: String {
        let digits = unsafe String(callersMask, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }

    // Written once, before there is a second thread.
    private nonisolated(unsafe) static var callersMask: mode_t = 0o077

    /// Puts something in the place of standard streams that the parent closed.
    ///
    /// Else the first files that are opened, the token's among them, would get their numbers, and messages would be
    /// written into them. What is put there refuses reading and writing as a closed stream does (EBADF).
    static func occupyStandardStreams() {
        for (descriptor, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
        where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest free number is the one just found free: those below it are taken by now.
            _ = unsafe keyfob_open("/dev/null", mode, 0)
        }
    }
}
