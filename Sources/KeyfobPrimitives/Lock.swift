public import Glibc

/// A value behind a `pthread_mutex_t`, with a condition to wait on.
///
/// The one lock of the project. `Synchronization.Mutex` cannot wait for a condition, and on Linux it
/// makes ThreadSanitizer report races in correct code, which would cost us the sanitizer.
///
/// No other thread holds it in the moment of a fork(2), so that a child can go on using it; see ``ForkSafety``.
///
/// Of a value that has no bytes, ThreadSanitizer takes the lock itself for the address: where only the mutex is
/// wanted, wrap a number.
///
/// > Important: Never hold it across a C call into which user code could run, nor across a suspension.
@safe public final class Lock<Value>: @unchecked Sendable {
    // Unchecked because the value is reached only through `withLock` and `wait`, under the mutex; whoever holds it and
    // comes again waits for ever, and never gets as far as to meet himself at the value.
    @exclusivity(unchecked) @usableFromInline var value: Value
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
    @usableFromInline let condition: UnsafeMutablePointer<pthread_cond_t>
    private let node: UnsafeMutablePointer<ForkSafety.Node>

    /// Wraps `value`, unlocked.
    public init(_ value: sending Value) {
        unsafe self.value = value
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(mutex, nil)
        unsafe condition = .allocate(capacity: 1)
        unsafe Self.initialize(condition)
        unsafe node = .allocate(capacity: 1)
        unsafe node.initialize(to: ForkSafety.Node(mutex: mutex, condition: condition))
        unsafe ForkSafety.insert(node)
    }

    /// Makes a condition on which nobody waits, whatever was there.
    static func initialize(_ condition: UnsafeMutablePointer<pthread_cond_t>) {
        unsafe condition.initialize(to: pthread_cond_t())
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        // A deadline must not move when somebody sets the clock.
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        unsafe pthread_cond_init(condition, &attributes)
        unsafe pthread_condattr_destroy(&attributes)
    }

    deinit {
        unsafe ForkSafety.remove(node)
        unsafe node.deallocate()
        unsafe pthread_cond_destroy(condition)
        unsafe pthread_mutex_destroy(mutex)
        unsafe condition.deallocate()
        unsafe mutex.deallocate()
    }

    // Inlined: a generic function of another module would make the types of its arguments at each call.

    /// Runs `body` with exclusive access to the value. - Throws: What `body` throws.
    @inlinable public func withLock<Result, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try unsafe body(&value)
    }

    /// As `withLock(_:)`, without waiting: `nil` where another thread has the value. For event loops.
    @inlinable public func withLockIfFree<Result, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        guard unsafe pthread_mutex_trylock(mutex) == 0 else { return nil }
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try unsafe body(&value)
    }

    /// As `withLock(_:)`, waiting until `deadline` at the longest; `nil` where another thread has the value still.
    ///
    /// For what is held across calls that may never end. It looks again and again: not for what is fast.
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

    /// Waits until `body` returns a value, or until `deadline`; `nil` in the latter case.
    ///
    /// `body` runs once at the start and again after each `broadcast()`. - Throws: What `body` throws.
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

    /// Takes the lock for the time of a fork; whether that was possible in time. For a ``ForkParticipant`` only.
    package func holdForFork(until deadline: Deadline) -> Bool { unsafe ForkSafety.pin(node, until: deadline) }

    /// Gives up what `holdForFork` has taken.
    package func releaseAfterFork() { unsafe ForkSafety.release(node) }

    /// Wakes one thread in `wait(until:_:)`; for values of which each thread that waits can take the change.
    public func signal() {
        unsafe pthread_cond_signal(condition)
    }

    /// Wakes every thread in `wait(until:_:)`, which then looks at the value again.
    public func broadcast() {
        unsafe pthread_cond_broadcast(condition)
    }
}
