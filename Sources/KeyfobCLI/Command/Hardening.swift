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
        umask(0o077)
    }
}
