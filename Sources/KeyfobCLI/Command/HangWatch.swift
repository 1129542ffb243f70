import Glibc
import Keyfob
import KeyfobPrimitives
import PKCS11

/// Ends the command if a call of the token's module does not return.
///
/// A call inside a module cannot be cancelled, and SoftHSM waits for the file locks of other processes without a limit.
/// So the command ends as if it were killed. The next command undoes or finishes what this one began.
///
/// The limit applies to each call. Time spent in prompts, editors, issuers and hooks does not count: the time of a
/// pending call is measured anew afterwards.
enum HangWatch {
    private static let chosen = Lock(Duration?.none)
    private static let drafts = Lock(0)
    private static let isStopped = Lock(false)
    private static let unfinished = Lock<Set<String>>([])

    /// Sets the limit for each call: the value of `--timeout`.
    static func choose(_ limit: Duration) { chosen.withLock { $0 = limit } }

    /// Starts watching, on a separate thread.
    ///
    /// - Parameter isSilent: Whether to end without a message, as when a line is being completed.
    static func begin(isSilent: Bool = false) {
        let limits = Limits(chosen: chosen.withLock { $0 })
        // If the thread cannot be started, a call that hangs is not ended; everything else works.
        _ = POSIXThread.startDetached("keyfob-hangs") { watch(limits, isSilent: isSilent) }
    }

    /// Runs `body` while text that the user typed exists only in our memory: the command then reports what it waits
    /// for, and does not end.
    static func keepingDraft<Result>(_ body: () throws -> Result) rethrows -> Result {
        drafts.withLock { $0 += 1 }
        defer { drafts.withLock { $0 -= 1 } }
        return try body()
    }

    /// Stops watching, for a process that serves others: each of their requests has a limit of its own.
    static func stop() { isStopped.withLock { $0 = true } }

    /// Registers an empty file to be removed if the command is ended before it writes to the file. Otherwise the name
    /// would stay taken.
    static func removeAtEnd(_ path: String) { unfinished.withLock { _ = $0.insert(path) } }

    /// Undoes `removeAtEnd`.
    static func keep(_ path: String) { unfinished.withLock { _ = $0.remove(path) } }

    /// How long a call may last.
    ///
    /// One second more than `--timeout`: a thread that waits for another thread's call reports the timeout itself.
    struct Limits {
        /// The value of `--timeout`.
        let chosen: Duration?

        /// How long to wait for one lock of another process.
        var lock: Duration { (chosen ?? .seconds(10)) + .seconds(1) }

        /// Whether a call hangs.
        ///
        /// A process that computes gets more time than an idle one: SoftHSM generates keys and reads large tokens in
        /// this process, and the machine may be busy.
        func isExceeded(by age: CallAges.Age, isInterrupted: Bool) -> Bool {
            if isInterrupted { return age.idle >= .seconds(1) || age.total >= .seconds(5) }
            let minutes = Duration.seconds(600)
            // A card needs up to two seconds to answer, even if no other program uses it.
            let quick = chosen.map { max($0, .seconds(2)) + .seconds(1) }
            let (idle, total): (Duration, Duration) =
                switch (age.call.mayTakeMinutes, quick) {
                case (true, let quick?): (age.call.awaitsPerson ? minutes : quick, minutes)
                case (true, nil): (minutes, minutes)
                case (false, let quick?): (quick, max(quick, .seconds(5)))
                // A key that requires a touch waits 15 seconds for it.
                case (false, nil): (.seconds(20), .seconds(60))
                }
            return age.idle >= idle || age.total >= total
        }
    }

    private static func error(_ lock: AwaitedLock?, _ age: CallAges.Age) -> KeychainError {
        guard let lock else { return .hanging(age.call, for: age.total) }
        return KeychainError(
            .timedOut, "\(lock.holderName) holds a lock on a file of SoftHSM and does not release it.",
            hint: "If the process is stopped, resume it: kill -CONT \(lock.holder)",
            details: ["pid": String(lock.holder)])
    }

    private static func watch(_ limits: Limits, isSilent: Bool) {
        let interval = min(max(limits.lock / 10, .milliseconds(100)), .seconds(1))
        var (lock, waited) = (AwaitedLock?.none, Duration.zero)
        var ages = CallAges()
        var told: UInt64?
        while true {
            usleep(UInt32(interval / .microseconds(1)))
            guard isStopped.withLock({ !$0 }) else { return }
            guard !Interruption.isPrompting, !RunningChildren.isAnyRunning else {
                (lock, waited, ages) = (nil, .zero, CallAges())
                continue
            }
            let pending = ages.look(after: interval)
            let current = pending.isEmpty ? nil : AwaitedLock.current()
            // Many short waits for a busy process, with work in between, do not count as one long wait.
            let isStuck = current != nil && current == lock && pending.contains { $0.idle > .zero }
            waited = isStuck ? waited + interval : .zero
            lock = current
            let isInterrupted = Interruption.isRequested
            let age = pending.first { limits.isExceeded(by: $0, isInterrupted: isInterrupted) }
            guard let oldest = age ?? (waited >= limits.lock ? pending.first : nil) else { continue }
            guard drafts.withLock({ $0 == 0 }) else {
                let subject =
                    lock.map { "\($0.holderName), which holds a lock on a file of SoftHSM" }
                    ?? "\(oldest.call.function) of the module \(TerminalSafe.text(oldest.call.module))"
                if told != oldest.call.number { StandardError.writeLast("keyfob: waiting for \(subject)…\n") }
                told = oldest.call.number
                continue
            }
            end(error(lock, oldest), isSilent: isSilent)
        }
    }

    private static func end(_ error: KeychainError, isSilent: Bool) -> Never {
        let remedy: Remedy = "The next command undoes what this one began; it finishes a removal."
        let failure = Failure(error.replacing(remedies: error.remedies + [remedy]))
        if !isSilent { StandardError.writeLast(ErrorForm.current.text(of: failure)) }
        // A recorded signal determines the exit status.
        let status = Interruption.request.map { ExitStatus.signalled($0) } ?? failure.status
        RunningChildren.end()
        for path in unfinished.withLock({ $0 }) { unsafe unlink(path) }
        _exit(status.rawValue)
    }
}
