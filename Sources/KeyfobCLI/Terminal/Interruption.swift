// Either has sigaction(2): which of them, depends on the one that the compiler reads first.
import CLinux
import Glibc
import Keyfob
import Synchronization

/// What SIGINT, SIGTERM and SIGHUP do: restore the terminal and end with 128 and their number, or, while a
/// command does what must not be cut off, only ask it, and the program it waits for, to stop.
///
/// Handlers, not `signalfd`: threads of PKCS#11 modules do not block signals for us.
enum Interruption {
    /// What a signal finds the command at.
    private enum Phase: Int, AtomicRepresentable {
        /// Nothing that would be left half done: a signal ends the process.
        case idle
        /// A prompt without echo: so too, once the terminal is set as it was.
        case prompting
        /// What must not be cut off: a signal only asks it to stop, until there are too many.
        case deferring
        /// A question amidst that: the first signal is an answer, which ends all of it.
        case asking
        /// What there is to put away after such an answer: no signal keeps it from that.
        case ending
    }

    private struct State {
        var phase = Phase.idle
        /// While `prompting`: the terminal, the settings of the prompt, whether it is still to have them, and those
        /// that the terminal had before.
        var terminal: Int32 = -1
        var silent = termios()
        var isSilent = false
        var settings = termios()
        /// While `deferring`: how many signals it goes on after that no program heard of.
        var tolerated = 1
        /// What wakes a question up: a pipe for the life of the process, since a handler on another thread may write
        /// to it when the question has long been answered.
        var (waking, wakening): (Int32, Int32) = (-1, -1)
    }

    // Modules have threads, and a handler may run on any of them while the main thread goes on.
    private static let phase = Atomic(Phase.idle)
    /// While `deferring` and after: the signal that came first, 0 for none, and how many came that no program heard of.
    private static let firstSignal = Atomic<Int32>(0)
    private static let unheardSignals = Atomic(0)
    /// How many signals other than SIGINT came while `deferring`.
    private static let requests = Atomic(0)

    // Reached by the handler, so it must be memory that no runtime lock guards. Written by the main
    // thread only, and by the handler.
    nonisolated(unsafe) private static let state: UnsafeMutablePointer<State> = {
        let pointer = UnsafeMutablePointer<State>.allocate(capacity: 1)
        unsafe pointer.initialize(to: State())
        return unsafe pointer
    }()

    /// Installs the handlers.
    ///
    /// A signal that our parent ignores stays ignored, as `nohup` and shells without job control expect.
    static func install() {
        // A module that writes to a daemon which has gone must get an error, and the command go on. A handler, not
        // SIG_IGN: exec(3) gives a program the default back. `FileDescriptor` ends the command where the pipe is ours.
        signal(SIGPIPE) { _ in }
        // A parent that ignores SIGCHLD would hand that on, and an editor's or a hook's failure be lost with its
        // status.
        signal(SIGCHLD, SIG_DFL)
        // Touched here so that the handler never is the first to run the initialiser.
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

    /// Goes from one phase to another, unless somebody else has left it meanwhile.
    private static func leave(_ current: Phase, for next: Phase) -> Bool {
        phase.compareExchange(expected: current, desired: next, ordering: .sequentiallyConsistent).exchanged
    }

    private static func resetSignals() {
        firstSignal.store(0, ordering: .sequentiallyConsistent)
        unheardSignals.store(0, ordering: .sequentiallyConsistent)
        requests.store(0, ordering: .sequentiallyConsistent)
    }

    /// Whether the command waits for a person to answer.
    static var isPrompting: Bool { [.prompting, .asking].contains(currentPhase) }

    /// Whether a signal came while `deferring` was running.
    static var isRequested: Bool { request != nil }

    /// The signal that came first while `deferring` was running.
    static var request: Int32? {
        let number = firstSignal.load(ordering: .sequentiallyConsistent)
        return number == 0 ? nil : number
    }

    /// Takes note of a signal unless one came before.
    private static func note(_ number: Int32) {
        _ = firstSignal.compareExchange(expected: 0, desired: number, ordering: .sequentiallyConsistent)
    }

    /// How many signals came meanwhile that no program heard of.
    static var unheard: Int { unheardSignals.load(ordering: .sequentiallyConsistent) }

    /// Throws `CancellationError` where a signal came while `deferring` was running that no program heard of.
    static func check() throws {
        guard unheard == 0 else { throw CancellationError() }
    }

    /// Runs `body`, which looks at `isRequested` between its steps; a second signal ends the process.
    ///
    /// Not so while `body` waits for a program: it has something to put away when that ends. Signals are passed on to
    /// the program, those other than SIGINT as SIGKILL from the third on; but Ctrl-C not to one at our terminal, which
    /// has it from there. None of them counts after the program's end. Nor while `body` asks a question: see
    /// `waitForAnswer(at:)`.
    ///
    /// - Parameter tolerated: How many signals that no program hears of `body` goes on after.
    static func deferring<Value>(tolerating tolerated: Int = 1, _ body: () throws -> Value) rethrows -> Value {
        resetSignals()
        unsafe state.pointee.tolerated = tolerated
        let outer = currentPhase
        enter(.deferring)
        defer { enter(outer) }
        return try body()
    }

    /// Runs `body`, which has something to put away however it ends; as `deferring` does, but only the third signal
    /// that no program hears of ends the process, for one that is stuck.
    ///
    /// A closing terminal sends more than one, and the second may come when the first has ended the program.
    ///
    /// - Throws: What `body` throws; `CancellationError` where a signal came that no program heard of.
    static func finishing<Value>(_ body: () throws -> Value) throws -> Value {
        let result = Result { try deferring(tolerating: 2, body) }
        // Behind it, whatever has come of `body`: from here on a signal ends the process.
        try check()
        return try result.get()
    }

    /// Waits until a line was entered at `terminal`, where the question is asked in the midst of `deferring`; returns
    /// at once elsewhere, where a signal ends the process.
    ///
    /// - Throws: `CancellationError` when a signal comes, or has come and no program has heard of it: what `deferring`
    ///   is for is then put away while the error is on its way. `KeychainError` where no descriptor is left.
    static func waitForAnswer(at terminal: Int32) throws {
        guard currentPhase == .deferring else { return }
        if unsafe state.pointee.waking < 0 {
            var (waking, wakening): (Int32, Int32) = (-1, -1)
            guard unsafe keyfob_pipe(&waking, &wakening) == 0 else {
                throw KeychainError(.failed, "no answer can be waited for: too many files are open (errno \(errno)).")
            }
            unsafe (state.pointee.waking, state.pointee.wakening) = (waking, wakening)
        }
        let waking = unsafe state.pointee.waking
        // Before it is looked whether one has come: from here on a signal is an answer.
        enter(.asking)
        while currentPhase == .asking, unheard == 0 {
            var entries = [waking, terminal].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            guard unsafe poll(&entries, 2, -1) >= 0 else {
                if errno == EINTR { continue }
                break
            }
            guard entries[0].revents != 0 else { break }
            // It may be about a question before this one.
            var byte: UInt8 = 0
            _ = unsafe read(waking, &byte, 1)
        }
        // A signal until here has made it `ending`; from here on it is one while `deferring`.
        guard leave(.asking, for: .deferring) else { throw CancellationError() }
        guard unheard == 0 else {
            enter(.ending)
            throw CancellationError()
        }
    }

    /// Runs `body` while `terminal` is set to `silent`, and gives it `settings` back however `body` or the process
    /// ends.
    ///
    /// A shell sets its terminal as it likes while we are stopped, so a process that is continued sets it anew. SIGQUIT
    /// and SIGALRM, which come from outside here, end the process as they otherwise do.
    static func silencing<Result, Failure: Error>(
        _ terminal: Int32, from settings: termios, to silent: termios, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        unsafe state.pointee.settings = settings
        unsafe state.pointee.silent = silent
        unsafe state.pointee.isSilent = true
        unsafe state.pointee.terminal = terminal
        let outer = currentPhase
        enter(.prompting)
        let previous = [SIGCONT, SIGQUIT, SIGALRM].compactMap { number in
            replaceAction(of: number) { Interruption.handleAtPrompt($0) }.map { (number, $0) }
        }
        // TCSAFLUSH drops what was typed ahead: it was meant for something else, and was echoed.
        unsafe tcsetattr(terminal, TCSAFLUSH, &state.pointee.silent)
        defer {
            // First: who is continued from here on must not take the echo away again.
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

    /// Installs a handler and returns what was there before; `nil` where our parent has the signal ignored, which it
    /// then stays.
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

    /// Calls only what signal-safety(7) allows.
    private static func handleAtPrompt(_ number: Int32) {
        let terminal = unsafe state.pointee.terminal
        let failure = errno
        if number == SIGCONT {
            // From the background this stops the process once more, until it is in the foreground.
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

    /// Calls only what signal-safety(7) allows.
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
                // Answered, or another signal was quicker.
                if currentPhase == .ending || isDeferred(number) { return }
                break
            }
            unheardSignals.wrappingAdd(1, ordering: .sequentiallyConsistent)
            wake()
            return
        case .ending: return
        }
        // An issuer's command, a hook, an editor: nobody is left to wait for what they do.
        RunningChildren.end()
        _exit(ExitStatus.signalled(number).rawValue)
    }

    /// Has a question look whether a signal came; one may have been asked since the handler looked.
    private static func wake() {
        var byte: UInt8 = 0
        _ = unsafe write(state.pointee.wakening, &byte, 1)
    }

    /// Passes a signal on to the programs that are waited for, or notes it; false where it is to end the process.
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
        // Who has gone on meanwhile on another thread does not look for it any more.
        let now = currentPhase
        return unsafe now == .ending || (now != .idle && count <= state.pointee.tolerated)
    }
}
