// Both modules declare sigaction(2); the compiler takes the declaration from the one it reads first.
import CLinux
import Glibc
import Keyfob
import Synchronization

/// Handles SIGINT, SIGTERM and SIGHUP.
///
/// By default a signal restores the terminal and ends the process with status 128 plus its number. While a command does
/// uninterruptible work, the signal only requests a stop, from the command and from the program that it waits for.
///
/// Uses signal handlers instead of `signalfd`, because threads of PKCS#11 modules do not block these signals.
enum Interruption {
    /// What the command is doing when a signal arrives.
    private enum Phase: Int, AtomicRepresentable {
        /// Nothing that could be left half done: a signal ends the process.
        case idle
        /// A prompt without echo: a signal restores the terminal and ends the process.
        case prompting
        /// Uninterruptible work: a signal only requests a stop, until the tolerated number is exceeded.
        case deferring
        /// A question during such work: the first signal counts as an answer and cancels the work.
        case asking
        /// Cleanup after such an answer: signals are ignored.
        case ending
    }

    private struct State {
        var phase = Phase.idle
        /// While `prompting`: the terminal, the settings of the prompt, whether they are still in effect, and the
        /// previous settings.
        var terminal: Int32 = -1
        var silent = termios()
        var isSilent = false
        var settings = termios()
        /// While `deferring`: the number of signals to tolerate, not counting those passed on to a program.
        var tolerated = 1
        /// The pipe that wakes up a question. It is never closed, because a handler on another thread may write to it
        /// after the question was answered.
        var (waking, wakening): (Int32, Int32) = (-1, -1)
    }

    // Modules have threads, and a handler may run on any of them while the main thread continues.
    private static let phase = Atomic(Phase.idle)
    /// Set while `deferring` and kept afterwards: the first signal (0 for none), and the number of signals that were
    /// not passed on to a program.
    private static let firstSignal = Atomic<Int32>(0)
    private static let unheardSignals = Atomic(0)
    /// The number of signals other than SIGINT received while `deferring`.
    private static let requests = Atomic(0)

    // The handler reads this, so no runtime lock may guard it. Only the main thread and the handler write it.
    nonisolated(unsafe) private static let state: UnsafeMutablePointer<State> = {
        let pointer = UnsafeMutablePointer<State>.allocate(capacity: 1)
        unsafe pointer.initialize(to: State())
        return unsafe pointer
    }()

    /// Installs the handlers.
    ///
    /// Signals that the parent ignores stay ignored, as `nohup` and shells without job control expect.
    static func install() {
        // If a module writes to a daemon that has exited, the write must fail and the command continue. A handler is
        // used instead of SIG_IGN, because exec(3) resets it to the default for started programs. `FileDescriptor` ends
        // the command if our own output pipe is closed.
        signal(SIGPIPE) { _ in }
        // If the parent ignores SIGCHLD, this process inherits that, and the kernel would discard the exit status of
        // editors and hooks.
        signal(SIGCHLD, SIG_DFL)
        // Accessed here so that the handler is never the first to run the initialiser.
        unsafe state.pointee.tolerated = 1
        resetSignals()
        _ = currentPhase
        RunningChildren.prepare()
        for number in [SIGINT, SIGTERM, SIGHUP] {
            _ = replaceAction(of: number) { Interruption.handle($0) }
        }
    }

    private static var currentPhase: Phase { phase.load(ordering: .sequentiallyConsistent) }

    private static func enter(_ next: Phase) { phase.store(next, ordering: .sequentiallyConsistent) }

    /// Changes from one phase to another, unless the phase was changed in the meantime; returns whether it did.
    private static func leave(_ current: Phase, for next: Phase) -> Bool {
        phase.compareExchange(expected: current, desired: next, ordering: .sequentiallyConsistent).exchanged
    }

    private static func resetSignals() {
        firstSignal.store(0, ordering: .sequentiallyConsistent)
        unheardSignals.store(0, ordering: .sequentiallyConsistent)
        requests.store(0, ordering: .sequentiallyConsistent)
    }

    /// Whether the command waits for an answer of the user.
    static var isPrompting: Bool { [.prompting, .asking].contains(currentPhase) }

    /// Whether a signal came while `deferring` was running.
    static var isRequested: Bool { request != nil }

    /// The first signal that arrived while `deferring` was running.
    static var request: Int32? {
        let number = firstSignal.load(ordering: .sequentiallyConsistent)
        return number == 0 ? nil : number
    }

    /// Records a signal, unless an earlier one is recorded.
    private static func note(_ number: Int32) {
        _ = firstSignal.compareExchange(expected: 0, desired: number, ordering: .sequentiallyConsistent)
    }

    /// The number of signals that were not passed on to a program.
    static var unheard: Int { unheardSignals.load(ordering: .sequentiallyConsistent) }

    /// Throws `CancellationError` if a signal arrived while `deferring` was running that was not passed on to a
    /// program.
    ///
    /// - Throws: `CancellationError`.
    static func check() throws {
        guard unheard == 0 else { throw CancellationError() }
    }

    /// Runs `body`, which checks `isRequested` between its steps. A second signal ends the process.
    ///
    /// While `body` waits for a program, signals are passed on to that program and not counted, so that `body` can
    /// clean up when the program ends. Signals other than SIGINT are passed on as SIGTERM, from the third on as
    /// SIGKILL. SIGINT is not passed on to a program at our terminal, which gets Ctrl-C itself. For questions during
    /// `body`, see `waitForAnswer(at:)`.
    ///
    /// - Parameter tolerated: How many signals to tolerate, not counting those passed on to a program.
    static func deferring<Outcome>(tolerating tolerated: Int = 1, _ body: () throws -> Outcome) rethrows -> Outcome {
        resetSignals()
        unsafe state.pointee.tolerated = tolerated
        let outer = currentPhase
        enter(.deferring)
        defer { enter(outer) }
        return try body()
    }

    /// Runs `body`, which must clean up however it ends. Like `deferring`, but tolerates a second signal.
    ///
    /// A closing terminal sends more than one signal, and the second may arrive after the first has ended the program.
    /// The third signal that was not passed on ends the process, in case `body` hangs.
    ///
    /// - Throws: The error of `body`; `CancellationError` if a signal arrived that was not passed on to a program.
    static func finishing<Outcome>(_ body: () throws -> Outcome) throws -> Outcome {
        let result = Result { try deferring(tolerating: 2, body) }
        // Checked after `deferring` has returned, whatever the result of `body`: from here on a signal ends the
        // process.
        try check()
        return try result.get()
    }

    /// Waits until a line is entered at `terminal`, if called within `deferring`. Otherwise returns at once, because a
    /// signal ends the process then.
    ///
    /// - Throws: `CancellationError` if a signal arrives, or has arrived and was not passed on; the work is cleaned up
    ///   while the error propagates. `KeychainError.failed` if no pipe can be opened.
    static func waitForAnswer(at terminal: Int32) throws {
        guard currentPhase == .deferring else { return }
        if unsafe state.pointee.waking < 0 {
            var (waking, wakening): (Int32, Int32) = (-1, -1)
            guard unsafe keyfob_pipe(&waking, &wakening) == 0 else {
                throw KeychainError(.failed, "cannot wait for an answer: too many files are open (errno \(errno)).")
            }
            unsafe (state.pointee.waking, state.pointee.wakening) = (waking, wakening)
        }
        let waking = unsafe state.pointee.waking
        // Set before `unheard` is checked, so that a later signal counts as an answer.
        enter(.asking)
        while currentPhase == .asking, unheard == 0 {
            var entries = [waking, terminal].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            guard unsafe poll(&entries, 2, -1) >= 0 else {
                if errno == EINTR { continue }
                break
            }
            guard entries[0].revents != 0 else { break }
            // The byte may be left from an earlier question.
            var byte: UInt8 = 0
            _ = unsafe read(waking, &byte, 1)
        }
        // A signal before this line has set the phase to `ending`. A later signal is handled as one while `deferring`.
        guard leave(.asking, for: .deferring) else { throw CancellationError() }
        guard unheard == 0 else {
            enter(.ending)
            throw CancellationError()
        }
    }

    /// Waits until a signal arrives, or returns at once if one has arrived that was not passed on. Called within
    /// `deferring`.
    ///
    /// - Throws: `KeychainError.failed` if no pipe can be opened.
    static func waitForSignal() throws {
        // poll(2) ignores a negative descriptor.
        do { try waitForAnswer(at: -1) } catch is CancellationError {}
    }

    /// Runs `body` while `terminal` has the settings `silent`, and restores `settings` however `body` or the process
    /// ends.
    ///
    /// A shell changes the terminal while this process is stopped, so the settings are applied again after SIGCONT.
    /// SIGQUIT and SIGALRM from another process end the process as usual, after the terminal is restored.
    static func silencing<Result, Problem: Error>(
        _ terminal: Int32, from settings: termios, to silent: termios, _ body: () throws(Problem) -> Result
    ) throws(Problem) -> Result {
        unsafe state.pointee.settings = settings
        unsafe state.pointee.silent = silent
        unsafe state.pointee.isSilent = true
        unsafe state.pointee.terminal = terminal
        let outer = currentPhase
        enter(.prompting)
        let previous = [SIGCONT, SIGQUIT, SIGALRM].compactMap { number in
            replaceAction(of: number) { Interruption.handleAtPrompt($0) }.map { (number, $0) }
        }
        // TCSAFLUSH drops input typed earlier, which was echoed and was not meant for this prompt.
        unsafe tcsetattr(terminal, TCSAFLUSH, &state.pointee.silent)
        defer {
            // Set first, so that a SIGCONT from here on does not turn the echo off again.
            unsafe state.pointee.isSilent = false
            unsafe tcsetattr(terminal, TCSAFLUSH, &state.pointee.settings)
            enter(outer)
            unsafe state.pointee.terminal = -1
            for (number, action) in previous {
                var action = action
                unsafe sigaction(number, &action, nil)
            }
        }
        return try body()
    }

    /// Installs a handler and returns the previous action.
    ///
    /// - Returns: `nil` if the signal was ignored, and stays so, or if sigaction(2) fails.
    private static func replaceAction(
        of number: Int32, by handler: @convention(c) (Int32) -> Void
    ) -> sigaction? {
        var previous = sigaction()
        guard unsafe sigaction(number, nil, &previous) == 0 else { return nil }
        if unsafe unsafeBitCast(previous.__sigaction_handler.sa_handler, to: Int.self) == 1 { return nil }
        var action = sigaction()
        unsafe action.__sigaction_handler.sa_handler = handler
        action.sa_flags = SA_RESTART
        return unsafe sigaction(number, &action, nil) == 0 ? previous : nil
    }

    /// Uses only functions that signal-safety(7) allows.
    private static func handleAtPrompt(_ number: Int32) {
        let terminal = unsafe state.pointee.terminal
        let failure = errno
        if number == SIGCONT {
            // In the background, tcsetattr(3) stops the process again until it is in the foreground.
            if unsafe terminal >= 0 && state.pointee.isSilent {
                unsafe tcsetattr(terminal, TCSANOW, &state.pointee.silent)
            }
        } else {
            if terminal >= 0 { unsafe tcsetattr(terminal, TCSANOW, &state.pointee.settings) }
            signal(number, SIG_DFL)
            raise(number)
        }
        errno = failure
    }

    /// Uses only functions that signal-safety(7) allows.
    private static func handle(_ number: Int32) {
        let failure = errno
        defer { errno = failure }
        switch currentPhase {
        case .idle: break
        case .prompting:
            let terminal = unsafe state.pointee.terminal
            unsafe tcsetattr(terminal, TCSANOW, &state.pointee.settings)
            var newline: UInt8 = 0x0A
            _ = unsafe write(terminal, &newline, 1)
        case .deferring:
            if isDeferred(number) { return }
        case .asking:
            note(number)
            guard leave(.asking, for: .ending) else {
                // Either the question was answered, or another signal arrived first.
                if currentPhase == .ending || isDeferred(number) { return }
                break
            }
            unheardSignals.wrappingAdd(1, ordering: .sequentiallyConsistent)
            wake()
            return
        case .ending: return
        }
        // Ends the issuer's command, hook or editor, because no process would wait for it.
        RunningChildren.end()
        _exit(ExitStatus.signalled(number).rawValue)
    }

    /// Makes a question check for signals. The question may have been asked after the handler read the phase.
    private static func wake() {
        var byte: UInt8 = 0
        _ = unsafe write(state.pointee.wakening, &byte, 1)
    }

    /// Passes a signal on to the running programs, or counts it. Returns false if the signal must end the process.
    private static func isDeferred(_ number: Int32) -> Bool {
        note(number)
        let waits: Bool
        if number == SIGINT {
            waits = RunningChildren.signal(SIGINT)
        } else {
            let count = requests.wrappingAdd(1, ordering: .sequentiallyConsistent).newValue
            waits = RunningChildren.signal(count < 3 ? SIGTERM : SIGKILL)
        }
        if waits { return true }
        let count = unheardSignals.wrappingAdd(1, ordering: .sequentiallyConsistent).newValue
        if currentPhase == .asking { wake() }
        // If another thread has left the phase in the meantime, it no longer checks for signals.
        let now = currentPhase
        return unsafe now == .ending || (now != .idle && count <= state.pointee.tolerated)
    }
}
