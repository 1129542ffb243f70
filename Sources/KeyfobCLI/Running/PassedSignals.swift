// Both modules declare sigaction(2); the compiler takes the declaration from the one it reads first.
import CLinux
import Glibc
import Keyfob
import Synchronization

/// Passes signals on to the program that this process waits for.
///
/// The program is in the process group of this process. So a signal of the terminal, such as that of Ctrl-C, reaches
/// it without help, and the kernel marks it as its own (`SI_KERNEL`). Only a hang-up may reach the leader of the
/// session alone. All other signals were meant for the program too, and usually sent to this process alone; one that
/// was sent to the whole group reaches the program twice.
///
/// Uses signal handlers instead of signalfd(2), because threads of PKCS#11 modules do not block these signals.
enum PassedSignals {
    private static let numbers = [
        SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGCONT, SIGTSTP, SIGTTIN, SIGWINCH,
    ]

    /// The program; 0 before it has started and after it has ended.
    private static let program = Atomic<Int32>(0)
    /// One bit for each signal that came before the program had started.
    private static let early = Atomic<UInt64>(0)
    /// The end of the pipe that `changes` is the other end of.
    private static let wakening = Atomic<Int32>(-1)

    /// Installs the handlers. Signals that the caller ignores stay ignored, by the program too.
    ///
    /// - Returns: A descriptor that becomes readable when the state of a child changes.
    /// - Throws: `KeychainError.failed` if no pipe can be opened.
    static func begin() throws -> Int32 {
        var (changes, wakening): (Int32, Int32) = (-1, -1)
        guard unsafe keyfob_pipe(&changes, &wakening) == 0 else {
            throw KeychainError(.failed, "cannot wait for the program: too many files are open (errno \(errno)).")
        }
        for end in [changes, wakening] { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
        Self.wakening.store(wakening, ordering: .sequentiallyConsistent)
        // Accessed here so that a handler is never the first to run an initialiser.
        _ = early.load(ordering: .relaxed) + UInt64(program.load(ordering: .relaxed))
        for number in numbers {
            unsafe install(number) { number, information, _ in
                // 0x80 is SI_KERNEL.
                PassedSignals.handle(
                    number, isOfKernel: unsafe information.map { unsafe $0.pointee.si_code == 0x80 } ?? false)
            }
        }
        unsafe install(SIGCHLD) { _, _, _ in PassedSignals.wake() }
        // The terminal sends it to the whole group. It must not stop this process while the program goes on.
        signal(SIGTTOU, SIG_IGN)
        return changes
    }

    private static func install(
        _ number: Int32,
        _ handler: @convention(c) (Int32, UnsafeMutablePointer<siginfo_t>?, UnsafeMutableRawPointer?) -> Void
    ) {
        var previous = sigaction()
        guard unsafe sigaction(number, nil, &previous) == 0 else { return }
        // 1 is "ignored".
        if unsafe unsafeBitCast(previous.__sigaction_handler.sa_handler, to: Int.self) == 1 { return }
        var action = sigaction()
        unsafe action.__sigaction_handler.sa_sigaction = handler
        action.sa_flags = SA_RESTART | SA_SIGINFO
        unsafe sigaction(number, &action, nil)
    }

    /// Passes signals on to `identifier` from now on, and those that came before.
    static func pass(to identifier: Int32) {
        program.store(identifier, ordering: .sequentiallyConsistent)
        sendEarly(to: identifier)
    }

    /// Passes no more signals on. Call it before the program is reaped, after which its identifier is free.
    static func end() { program.store(0, ordering: .sequentiallyConsistent) }

    /// Whether a signal to end came after the program had ended.
    static var isToEnd: Bool {
        let bits = [SIGHUP, SIGINT, SIGQUIT, SIGTERM].reduce(0 as UInt64) { $0 | 1 << UInt64($1) }
        return early.load(ordering: .sequentiallyConsistent) & bits != 0
    }

    /// Uses only functions that signal-safety(7) allows.
    private static func handle(_ number: Int32, isOfKernel: Bool) {
        let failure = errno
        defer { errno = failure }
        let identifier = program.load(ordering: .sequentiallyConsistent)
        guard identifier == 0 else {
            if !isOfKernel || number == SIGHUP || number == SIGCONT { kill(identifier, number) }
            return
        }
        early.bitwiseOr(1 << UInt64(number), ordering: .sequentiallyConsistent)
        // The program may have started on another thread in the meantime.
        let started = program.load(ordering: .sequentiallyConsistent)
        if started != 0 { sendEarly(to: started) }
    }

    private static func sendEarly(to identifier: Int32) {
        let bits = early.exchange(0, ordering: .sequentiallyConsistent)
        guard bits != 0 else { return }
        for number in Int32(1)..<64 where bits & (1 << UInt64(number)) != 0 { kill(identifier, number) }
    }

    private static func wake() {
        let failure = errno
        var byte: UInt8 = 0
        _ = unsafe write(wakening.load(ordering: .sequentiallyConsistent), &byte, 1)
        errno = failure
    }
}
