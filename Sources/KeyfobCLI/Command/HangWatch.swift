import Glibc
import Keyfob
import KeyfobPrimitives
import PKCS11

/// Ends the command where a call of the token's module does not return.
///
/// A call inside a module cannot be cancelled, and SoftHSM waits there for the file locks of other processes without a
/// limit. So the command ends, as by a kill: the next command undoes or finishes what this one has begun.
///
/// Each call has the whole limit. The time of prompts, editors, issuers and hooks does not count: a call that is
/// pending meanwhile is looked at anew afterwards.
enum HangWatch {
    private static let chosen = Lock(Duration?.none)
    private static let drafts = Lock(0)
    private static let unfinished = Lock<Set<String>>([])

    /// Chooses how long a call is waited for: the value of `--timeout`.
    static func choose(_ limit: Duration) { chosen.withLock { $0 = limit } }

    /// Begins to watch, on a thread of its own.
    ///
    /// - Parameter isSilent: Whether nothing is said in the end, as in the middle of a line that is being typed.
    static func begin(isSilent: Bool = false) {
        let limits = Limits(chosen: chosen.withLock { $0 })
        // Without a thread nothing ends a call that hangs, and nothing else is lost.
        _ = POSIXThread.startDetached("keyfob-hangs") { watch(limits, isSilent: isSilent) }
    }

    /// Runs `body` while what a person has typed is in our memory alone: the command says what it waits for, and does
    /// not end.
    static func keepingDraft<Result>(_ body: () throws -> Result) rethrows -> Result {
        drafts.withLock { $0 += 1 }
        defer { drafts.withLock { $0 -= 1 } }
        return try body()
    }

    /// Has an empty file go where the command is ended before something is written to it: its name would be taken.
    static func removeAtEnd(_ path: String) { unfinished.withLock { _ = $0.insert(path) } }

    /// Takes back what `removeAtEnd` has asked for.
    static func keep(_ path: String) { unfinished.withLock { _ = $0.remove(path) } }

    /// How long a call may last.
    ///
    /// A second more than the option says: a thread that waits for another thread's call reports that itself.
    struct Limits {
        /// The value of `--timeout`.
        let chosen: Duration?

        /// How long one and the same lock of another process is waited for.
        var lock: Duration { (chosen ?? .seconds(10)) + .seconds(1) }

        /// Whether a call hangs.
        ///
        /// A process that computes gets more time than one that does nothing: SoftHSM makes keys and reads large
        /// tokens in here, and the machine may be busy.
        func isExceeded(by age: CallAges.Age, isInterrupted: Bool) -> Bool {
            if isInterrupted { return age.idle >= .seconds(1) || age.total >= .seconds(5) }
            let minutes = Duration.seconds(600)
            // A card answers within two seconds also where no other program is to be waited for.
            let quick = chosen.map { max($0, .seconds(2)) + .seconds(1) }
            let (idle, total): (Duration, Duration) =
                switch (age.call.mayTakeMinutes, quick) {
                case (true, let quick?): (age.call.awaitsPerson ? minutes : quick, minutes)
                case (true, nil): (minutes, minutes)
                case (false, let quick?): (quick, max(quick, .seconds(5)))
                // A key that wants a touch waits 15 seconds for it.
                case (false, nil): (.seconds(20), .seconds(60))
                }
            return age.idle >= idle || age.total >= total
        }
    }

    private static func error(_ lock: AwaitedLock?, _ age: CallAges.Age) -> KeychainError {
        guard let lock else { return .hanging(age.call, for: age.total) }
        return KeychainError(
            .timedOut, "\(lock.holderName) holds a lock on a file of SoftHSM's, and does not let it go.",
            hint: "If it was stopped, it goes on after: kill -CONT \(lock.holder)",
            details: ["pid": String(lock.holder)])
    }

    private static func watch(_ limits: Limits, isSilent: Bool) {
        let interval = min(max(limits.lock / 10, .milliseconds(100)), .seconds(1))
        var (lock, waited) = (AwaitedLock?.none, Duration.zero)
        var ages = CallAges()
        var told: UInt64?
        while true {
            usleep(UInt32(interval / .microseconds(1)))
            guard !Interruption.isPrompting, !RunningChildren.isAnyRunning else {
                (lock, waited, ages) = (nil, .zero, CallAges())
                continue
            }
            let pending = ages.look(after: interval)
            let current = pending.isEmpty ? nil : AwaitedLock.current()
            // Many short waits for one busy process, with work in between, are not a long one.
            let isStuck = current != nil && current == lock && pending.contains { $0.idle > .zero }
            waited = isStuck ? waited + interval : .zero
            lock = current
            let isInterrupted = Interruption.isRequested
            let age = pending.first { limits.isExceeded(by: $0, isInterrupted: isInterrupted) }
            guard let oldest = age ?? (waited >= limits.lock ? pending.first : nil) else { continue }
            guard drafts.withLock({ $0 == 0 }) else {
                let subject =
                    lock.map { "\($0.holderName), which holds a lock on a file of SoftHSM's" }
                    ?? "\(oldest.call.function) of the module \(TerminalSafe.text(oldest.call.module))"
                if told != oldest.call.number { StandardError.writeLast("keyfob: waiting for \(subject)…\n") }
                told = oldest.call.number
                continue
            }
            end(error(lock, oldest), isSilent: isSilent)
        }
    }

    private static func end(_ error: KeychainError, isSilent: Bool) -> Never {
        let failure = Failure(
            KeychainError(
                error.code, error.message,
                remedies: error.remedies
                    + ["The next command undoes what this one has begun; it finishes a removal."],
                details: error.details))
        let form = ErrorForm(Array(CommandLine.arguments.dropFirst()))
        if !isSilent { StandardError.writeLast(form.isJSON ? failure.json : failure.text(verbose: form.isVerbose)) }
        // A signal that the command had noted ends it now.
        let status = Interruption.request.map { ExitStatus.signalled($0) } ?? failure.status
        RunningChildren.end()
        for path in unfinished.withLock({ $0 }) { unsafe unlink(path) }
        _exit(status.rawValue)
    }
}
