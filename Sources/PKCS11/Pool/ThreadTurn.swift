import Glibc

/// The right of a thread to use sessions again for a few milliseconds while other threads wait for one.
///
/// Handing a session over needs two thread switches, which take as long as a signature of SoftHSM. So a thread that
/// waited for its session and uses sessions one directly after the other gets a turn. All other threads hand theirs
/// over at once.
enum ThreadTurn {
    /// With four sessions, each of 64 threads waits 80 ms at most for its next turn.
    static let length = Duration.milliseconds(5)
    /// The longest time between returning a session and requesting the next that counts as directly.
    private static let pause = Duration.microseconds(100)

    /// The times are kept per thread, because a thread's turn outlasts its use of one session.
    private static let returned = NumberOfThread()
    private static let end = NumberOfThread()

    /// Whether this thread returned a session just now, while other threads waited.
    static var isReturning: Bool { now() < returned.value + nanoseconds(pause) }

    /// Whether this thread's turn lasts.
    static var lasts: Bool { now() < end.value }

    /// Records that this thread returns a session while other threads wait.
    static func noteReturn() { returned.value = now() }

    /// Begins the turn of this thread, or records that it has none.
    static func begin(_ isEntitled: Bool) { end.value = isEntitled ? now() + nanoseconds(length) : 0 }

    private static func nanoseconds(_ duration: Duration) -> UInt64 { UInt64(duration / .nanoseconds(1)) }

    private static func now() -> UInt64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// A number that each thread has for itself; 0 at first.
    private struct NumberOfThread {
        private let key: pthread_key_t

        init() {
            var key = pthread_key_t()
            // Without a key, which a process has 1,024 of, all threads hand their sessions over.
            self.key = unsafe pthread_key_create(&key, nil) == 0 ? key : .max
        }

        var value: UInt64 {
            get { unsafe UInt64(UInt(bitPattern: pthread_getspecific(key))) }
            nonmutating set { unsafe pthread_setspecific(key, UnsafeRawPointer(bitPattern: UInt(newValue))) }
        }
    }
}
