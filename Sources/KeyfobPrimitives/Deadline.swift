public import Foundation

/// A time on the monotonic clock after which a wait gives up.
public struct Deadline: Sendable, Hashable {
    /// Nanoseconds of `CLOCK_MONOTONIC`; `nil` means no deadline.
    private let nanoseconds: UInt64?

    /// No deadline, for waits that are bounded in another way, such as a worker thread waiting for work.
    public static let never = Deadline(nanoseconds: nil)

    private init(nanoseconds: UInt64?) {
        self.nanoseconds = nanoseconds
    }

    /// Returns the time `duration` from now. A negative duration gives a deadline that has passed.
    public static func after(_ duration: Duration) -> Deadline {
        let parts = duration.components
        let delta = max(0, Double(parts.seconds) * 1e9 + Double(parts.attoseconds) / 1e9)
        return Deadline(nanoseconds: now() &+ UInt64(min(delta, 1e18)))
    }

    /// Whether the deadline has passed.
    public var hasPassed: Bool {
        guard let nanoseconds else { return false }
        return Self.now() >= nanoseconds
    }

    /// The time left; zero if the deadline has passed, `nil` if there is none.
    public var remaining: Duration? {
        guard let nanoseconds else { return nil }
        let now = Self.now()
        return .nanoseconds(nanoseconds > now ? Int64(nanoseconds - now) : 0)
    }

    /// The deadline for `pthread_cond_timedwait` on a monotonic condition; `nil` if there is none.
    public var monotonicTime: timespec? {
        guard let nanoseconds else { return nil }
        return timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    }

    private static func now() -> UInt64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
