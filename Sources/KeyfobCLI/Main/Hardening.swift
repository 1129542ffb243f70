// Both modules declare sigaction(2); the compiler takes the declaration from the one it reads first.
import CLinux
import Glibc
import Keyfob

/// Restrictions that the process applies to itself before it handles secrets.
enum Hardening {
    /// Disables core dumps, debuggers of the same user, and files that other users can read.
    ///
    /// Failures are ignored; the process then has the protection of any other program.
    static func apply() {
        // This also makes root the owner of /proc/self, so that other processes cannot read our memory through it.
        _ = keyfob_set_dumpable(0)
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        silenceCrashes()
        CreationMask.restrict()
        IgnoredSignals.record()
        // A write beyond the file size limit then fails with an error, as on a full disk, instead of ending the process
        // silently.
        signal(SIGXFSZ, SIG_IGN)
    }

    /// The failure if too few descriptors are available, for example under a parent that leaks them.
    ///
    /// libdispatch ends the process with a trap if it cannot open its own descriptor.
    static var failure: Failure? {
        var taken: [Int32] = []
        defer { for descriptor in taken { close(descriptor) } }
        for _ in 0..<neededDescriptors {
            let descriptor = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
            guard descriptor >= 0 else {
                return Failure(
                    KeychainError(
                        .fileUnavailable,
                        "too few files can be opened: \(neededDescriptors) are needed, \(taken.count) are available.",
                        hint: "Raise the limit (ulimit -n), or close files that the calling program leaves open."))
            }
            taken.append(descriptor)
        }
        return nil
    }

    /// Twice the number that an import needs, which needs the most.
    private static let neededDescriptors = 16

    /// Reports it if a library calls exit(3), and replaces the exit status, which would be misleading.
    ///
    /// Keyfob itself ends with _exit(2). SoftHSM calls exit(3) if an allocation fails, also for a damaged object file
    /// that claims to be larger than the memory.
    static func reportForeignExit() {
        _ = process
        atexit {
            // A child that a library has forked is not affected.
            guard getpid() == Hardening.process else { return }
            let failure = Failure(
                KeychainError(
                    .failed, "the token's module has ended the process.",
                    hint: "A file of the token may be damaged, or there may be too little memory. "
                        + "Restore the token's files from a backup, or try again."))
            StandardError.write(ErrorForm.current.text(of: failure))
            _exit(failure.status.rawValue)
        }
    }

    private static let process = getpid()

    /// Makes a crash end the process without output.
    ///
    /// Swift's handlers would print a backtrace with the registers and the memory that they point to.
    private static func silenceCrashes() {
        for number in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGBUS, SIGSEGV] {
            var previous = sigaction()
            guard unsafe sigaction(number, nil, &previous) == 0 else { continue }
            // 0 is the default action and 1 is "ignored", as set by the parent.
            guard unsafe unsafeBitCast(previous.__sigaction_handler.sa_handler, to: Int.self) > 1 else { continue }
            signal(number, SIG_DFL)
        }
    }

    /// Opens replacements for standard streams that the parent closed.
    ///
    /// Otherwise the first opened files, including the token's, would get the numbers of the streams, and messages
    /// would be written into them. Reading or writing the replacements fails with EBADF, as with closed streams.
    static func occupyStandardStreams() {
        for (descriptor, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
        where fcntl(descriptor, F_GETFD) < 0 {
            // open(2) returns the lowest free number, which is this one, because all lower numbers are in use.
            _ = unsafe keyfob_open("/dev/null", mode, 0)
        }
    }
}
