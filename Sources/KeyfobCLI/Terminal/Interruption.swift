import Glibc

/// What SIGINT, SIGTERM and SIGHUP do: restore the terminal and end with exit status 130, or, while a
/// command works through something resumable, only ask it to stop.
///
/// Handlers, not `signalfd`: threads of PKCS#11 modules do not block signals for us.
enum Interruption {
    private struct State {
        var terminal: Int32 = -1
        var settings = termios()
        var defers = false
        var isRequested = false
    }

    // Reached by the handler, so it must be memory that no runtime lock guards. Written by the main
    // thread only, and by the handler.
    nonisolated(unsafe) private static let state: UnsafeMutablePointer<State> = {
        let pointer = UnsafeMutablePointer<State>.allocate(capacity: 1)
        unsafe pointer.initialize(to: State())
        return unsafe pointer
    }()

    /// Installs the handlers, and gives SIGPIPE its default back.
    ///
    /// A signal that our parent ignores stays ignored, as `nohup` and shells without job control expect.
    static func install() {
        // systemd and some languages start children with SIGPIPE ignored; then `keyfob ls | head -1`
        // would end in an error message instead of in silence.
        signal(SIGPIPE, SIG_DFL)
        // Touched here so that the handler never is the first to run the initialiser.
        unsafe state.pointee.isRequested = false
        for number in [SIGINT, SIGTERM, SIGHUP] {
            var previous = sigaction()
            guard unsafe sigaction(number, nil, &previous) == 0 else { continue }
            if unsafe unsafeBitCast(previous.__sigaction_handler.sa_handler, to: Int.self) == 1 { continue }
            var action = sigaction()
            unsafe action.__sigaction_handler.sa_handler = { _ in Interruption.handle() }
            action.sa_flags = SA_RESTART
            unsafe sigaction(number, &action, nil)
        }
    }

    /// Whether a signal came while `deferring` was running.
    static var isRequested: Bool { unsafe state.pointee.isRequested }

    /// Runs `body`, which looks at `isRequested` between its steps; a second signal ends the process.
    static func deferring<Result>(_ body: () throws -> Result) rethrows -> Result {
        unsafe state.pointee.defers = true
        defer { unsafe state.pointee.defers = false }
        return try body()
    }

    /// Runs `body` while the handler knows which settings to give back to `terminal`.
    static func restoring<Result, Failure: Error>(
        _ terminal: Int32, to settings: termios, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        unsafe state.pointee.settings = settings
        unsafe state.pointee.terminal = terminal
        defer { unsafe state.pointee.terminal = -1 }
        return try body()
    }

    /// Calls only what signal-safety(7) allows.
    private static func handle() {
        let terminal = unsafe state.pointee.terminal
        if unsafe terminal < 0 && state.pointee.defers && !state.pointee.isRequested {
            unsafe state.pointee.isRequested = true
            return
        }
        if terminal >= 0 {
            unsafe tcsetattr(terminal, TCSANOW, &state.pointee.settings)
            var newline: UInt8 = 0x0A
            _ = unsafe write(terminal, &newline, 1)
        }
        _exit(130)
    }
}
