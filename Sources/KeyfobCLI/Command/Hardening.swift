// Either has sigaction(2): which of them, depends on the one that the compiler reads first.
import CLinux
import Glibc
import Keyfob

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
        silenceCrashes()
        CreationMask.restrict()
        // A write beyond the limit of a file's size then fails and is reported, as on a full disk, instead of ending
        // the process in silence.
        signal(SIGXFSZ, SIG_IGN)
    }

    /// The failure where hardly a descriptor is left, as below a parent that leaks them: libdispatch ends the process
    /// by a trap where it gets none for itself.
    static var failure: Failure? {
        var taken: [Int32] = []
        defer { for descriptor in taken { close(descriptor) } }
        for _ in 0..<neededDescriptors {
            let descriptor = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
            guard descriptor >= 0 else {
                return Failure(
                    KeychainError(
                        .fileUnavailable,
                        "too few files can be opened: \(neededDescriptors) are needed, \(taken.count) are left.",
                        hint: "Raise the limit (ulimit -n), or close what the calling program has left open."))
            }
            taken.append(descriptor)
        }
        return nil
    }

    /// Twice what an import takes, the largest use there is.
    private static let neededDescriptors = 16

    /// Has it told that a library has ended the process, with a status of its own that says something else here.
    ///
    /// We end by _exit(2), so whoever calls exit(3) is not us. SoftHSM does so where it is given no memory, also for an
    /// object whose file claims to be larger than any memory.
    static func reportForeignExit() {
        _ = process
        atexit {
            // A child that a library has forked ends as it likes.
            guard getpid() == Hardening.process else { return }
            let failure = Failure(
                KeychainError(
                    .failed, "a library of the token has ended the process.",
                    hint: "A file of the token may be damaged, or memory be short. "
                        + "Restore the token's files from a backup, or try again."))
            let form = ErrorForm(Array(CommandLine.arguments.dropFirst()))
            StandardError.write(form.isJSON ? failure.json : failure.text(verbose: form.isVerbose))
            _exit(failure.status.rawValue)
        }
    }

    private static let process = getpid()

    /// Has a crash end the process and say nothing.
    ///
    /// Swift installs handlers that print a backtrace with the registers, and the memory that they point to.
    private static func silenceCrashes() {
        for number in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGBUS, SIGSEGV] {
            var previous = sigaction()
            guard unsafe sigaction(number, nil, &previous) == 0 else { continue }
            // 0 is the default, and 1 ignored, as our parent wants it.
            guard unsafe unsafeBitCast(previous.__sigaction_handler.sa_handler, to: Int.self) > 1 else { continue }
            signal(number, SIG_DFL)
        }
    }

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
