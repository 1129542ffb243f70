import Glibc
import Keyfob
import KeyfobPrimitives
import Synchronization

/// Ends the command where it waits too long for a lock that another process holds.
///
/// SoftHSM waits for the locks on its files inside of its calls, without a limit: for ever, where the other process was
/// stopped. No thread can be got out of there, and a signal must not interrupt the wait, for SoftHSM would go on without
/// the lock. So the command ends, as by a kill: what waits for a lock has changed nothing in the file yet, and what a
/// kill leaves the next command sees to. Only such waits count: neither work, nor what a person, a server or another
/// program takes its time for.
enum LockWatch {
    private static let chosen = Lock(Duration.seconds(10))
    private static let drafts = Lock(0)
    private static let unfinished = Lock<Set<String>>([])

    /// Chooses how long a lock is waited for: what `--timeout` says.
    static func choose(_ limit: Duration) { chosen.withLock { $0 = limit } }

    /// Begins to watch, on a thread of its own.
    ///
    /// - Parameter isSilent: Whether nothing is said in the end, as in the middle of a line that is being typed.
    static func begin(isSilent: Bool = false) {
        // A second more: who only waits for another thread of ours that waits there says so himself.
        let limit = chosen.withLock { $0 } + .seconds(1)
        // Without a thread nobody ends the command, and nothing else is lost.
        _ = POSIXThread.startDetached("keyfob-locks") { watch(limit, isSilent: isSilent) }
    }

    /// Runs `body` while what a person has typed is in our memory alone: it is told what is waited for, and waited on.
    static func keepingDraft<Result>(_ body: () throws -> Result) rethrows -> Result {
        drafts.withLock { $0 += 1 }
        defer { drafts.withLock { $0 -= 1 } }
        return try body()
    }

    /// Has an empty file go where the command is ended before something is written to it: its name would be taken.
    static func removeAtEnd(_ path: String) { unfinished.withLock { _ = $0.insert(path) } }

    /// Takes back what `removeAtEnd` has asked for.
    static func keep(_ path: String) { unfinished.withLock { _ = $0.remove(path) } }

    private static func watch(_ limit: Duration, isSilent: Bool) {
        let interval = min(max(limit / 10, .milliseconds(100)), .seconds(1))
        var (lock, told): (AwaitedLock?, AwaitedLock?)
        // By the looks that have seen it, not by the clock: the time for which this process was stopped is not its own.
        var (waited, work) = (Duration.zero, Duration.zero)
        while true {
            usleep(UInt32(interval / .microseconds(1)))
            let (current, done) = (AwaitedLock.current(), workOfOthers)
            // Many short waits for one busy process, with work in between, are not a long one.
            let isStuck = current != nil && current == lock && done - work < .milliseconds(2)
            waited = isStuck ? waited + interval : .zero
            (lock, work) = (current, done)
            guard let lock, waited >= limit else { continue }
            guard drafts.withLock({ $0 == 0 }) else {
                if told != lock {
                    StandardError.writeLast(
                        "keyfob: waiting for \(lock.holderName), which holds a lock on a file of SoftHSM's…\n")
                }
                told = lock
                continue
            }
            end(lock, isSilent: isSilent)
        }
    }

    /// How long the other threads of this process have run on a processor.
    private static var workOfOthers: Duration { time(CLOCK_PROCESS_CPUTIME_ID) - time(CLOCK_THREAD_CPUTIME_ID) }

    private static func time(_ clock: clockid_t) -> Duration {
        var now = timespec()
        // Both clocks are those of the caller: they are always there.
        _ = unsafe clock_gettime(clock, &now)
        return .seconds(now.tv_sec) + .nanoseconds(now.tv_nsec)
    }

    private static func end(_ lock: AwaitedLock, isSilent: Bool) -> Never {
        let error = KeychainError(
            .timedOut, "\(lock.holderName) holds a lock on a file of SoftHSM's, and does not let it go.",
            hint: "If it was stopped, it goes on after: kill -CONT \(lock.holder)\n"
                + "What this command had begun the next one undoes; a removal it finishes.",
            details: ["pid": String(lock.holder)])
        let failure = Failure(error)
        let form = ErrorForm(Array(CommandLine.arguments.dropFirst()))
        if !isSilent { StandardError.writeLast(form.isJSON ? failure.json : failure.text(verbose: form.isVerbose)) }
        // A signal that was to be heard of later is not heard of any more.
        let status = Interruption.request.map { ExitStatus.signalled($0) } ?? failure.status
        RunningChildren.end()
        for path in unfinished.withLock({ $0 }) { unsafe unlink(path) }
        _exit(status.rawValue)
    }
}
