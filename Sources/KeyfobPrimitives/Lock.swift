public import Glibc

/// A value protected by a `pthread_mutex_t`, with a condition to wait on.
///
/// This is the only lock of the project. `Synchronization.Mutex` cannot wait for a condition, and on Linux it makes
/// ThreadSanitizer report races in correct code.
///
/// If only the mutex is needed, wrap a number: for a value without bytes, ThreadSanitizer uses the address of the lock
/// itself.
///
/// > Important: Never hold it across a C call that could run user code, nor across a suspension point.
@safe public final class Lock<Value>: @unchecked Sendable {
    // Unchecked because the value is accessed only through `withLock` and `wait`, under the mutex. A thread that locks
    // it again deadlocks before it can reach the value, so exclusivity holds.
    @exclusivity(unchecked) @usableFromInline var value: Value
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
    @usableFromInline let condition: UnsafeMutablePointer<pthread_cond_t>

    /// Creates an unlocked lock around `value`.
    public init(_ value: sending Value) {
        unsafe self.value = value
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(mutex, nil)
        unsafe condition = .allocate(capacity: 1)
        unsafe Self.initialize(condition)
    }

    private static func initialize(_ condition: UnsafeMutablePointer<pthread_cond_t>) {
        unsafe condition.initialize(to: pthread_cond_t())
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        // A deadline must not change when the system clock is set.
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        unsafe pthread_cond_init(condition, &attributes)
        unsafe pthread_condattr_destroy(&attributes)
    }

    deinit {
        unsafe pthread_cond_destroy(condition)
        unsafe pthread_mutex_destroy(mutex)
        unsafe condition.deallocate()
        unsafe mutex.deallocate()
    }

    // Inlined, because a generic function of another module would create the metadata of its argument types at each
    // call.

    /// Runs `body` with exclusive access to the value.
    ///
    /// - Throws: The errors of `body`.
    @inlinable public func withLock<Result, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try unsafe body(&value)
    }

    /// Runs `body` with exclusive access if that is possible without waiting. For event loops.
    ///
    /// - Returns: The result of `body`, or `nil` if another thread holds the lock.
    /// - Throws: The errors of `body`.
    @inlinable public func withLockIfFree<Result, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        guard unsafe pthread_mutex_trylock(mutex) == 0 else { return nil }
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try unsafe body(&value)
    }

    /// Runs `body` with exclusive access, waiting until `deadline` at most.
    ///
    /// For locks that are held across calls that may never end. It polls, so do not use it for short waits.
    ///
    /// - Returns: The result of `body`, or `nil` if another thread still holds the lock.
    /// - Throws: The errors of `body`.
    public func withLock<Result, Failure: Error>(
        until deadline: Deadline, _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        while unsafe pthread_mutex_trylock(mutex) != 0 {
            guard !deadline.hasPassed else { return nil }
            usleep(200)
        }
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try unsafe body(&value)
    }

    /// Waits until `body` returns a value, or until `deadline`.
    ///
    /// `body` runs once at the start, again after each `signal()` or `broadcast()`, and once at the deadline.
    ///
    /// - Returns: The value, or `nil` if there was none by the deadline.
    /// - Throws: The errors of `body`.
    @inlinable public func wait<Result, Failure: Error>(
        until deadline: Deadline, _ body: (inout sending Value) throws(Failure) -> sending Result?
    ) throws(Failure) -> sending Result? {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while true {
            if let result = try unsafe body(&value) { return result }
            guard var moment = deadline.monotonicTime else {
                unsafe pthread_cond_wait(condition, mutex)
                continue
            }
            if unsafe pthread_cond_timedwait(condition, mutex, &moment) == ETIMEDOUT {
                return try unsafe body(&value)
            }
        }
    }

    /// Wakes one thread in `wait(until:_:)`; use it if any of the waiting threads can handle the change.
    public func signal() {
        unsafe pthread_cond_signal(condition)
    }

    /// Wakes every thread in `wait(until:_:)`, which then evaluates its condition again.
    public func broadcast() {
        unsafe pthread_cond_broadcast(condition)
    }
}
