#if NIOSSL
import Dispatch
import Foundation
import KeyfobPrimitives
import Synchronization

/// Work on its way from event loops to signing threads.
///
/// Adding takes no lock. Behind one, an event loop waited for whichever thread held it to get a core again, up to eight
/// milliseconds on a machine that was busy (measured); and the threads that sign are those that take the cores.
///
/// No more threads are awake than the token has use for. One keeps up with a token that is quick, as SoftHSM is with EC
/// keys, and each further one would take the event loops' cores from them; a token that is slow, or hangs, gets them all.
@safe final class SigningQueue: @unchecked Sendable {
    // Unchecked for the semaphore, which is made for many threads; everything else checks itself.
    private let semaphore: UnsafeMutablePointer<sem_t>
    /// The latest addition, each of which knows the one before it. Nobody looks into a node before it is taken, and only
    /// all of them are, so that an address which comes back does no harm.
    private let latest = unsafe Atomic<Unmanaged<Node>?>(nil)
    /// What was taken, in the order in which it was added; only signing threads wait for each other here.
    private let taken = Lock<Node?>(nil)
    private let width: Int
    /// How much was added and not begun; for a moment less than it is.
    private let waiting = Atomic(0)
    /// Threads that are awake, or are being woken.
    private let active = Atomic(0)
    /// When work was last begun, and how long it takes on average, in nanoseconds.
    private let begun = Atomic<UInt64>(0)
    private let average = Atomic<UInt64>(0)
    private let hasEnded = Atomic(false)

    /// From here on threads wait for the token rather than for a core.
    private static let slow: UInt64 = 300_000

    /// `before` is written before others can see the node; both are under the lock of `taken` afterwards.
    @safe private final class Node: @unchecked Sendable {
        let work: @Sendable () -> Void
        var before: Unmanaged<Node>?
        var next: Node?

        init(_ work: @escaping @Sendable () -> Void) { self.work = work }
    }

    /// A queue for `width` threads, each of which has to call `run()`.
    init(width: Int) {
        self.width = width
        unsafe semaphore = .allocate(capacity: 1)
        unsafe semaphore.initialize(to: sem_t())
        unsafe sem_init(semaphore, 0, 0)
    }

    deinit {
        // What was never done, one by one: not each from within the end of the one before.
        var rest = takeAll()
        while let node = rest {
            rest = node.next
            node.next = nil
        }
        unsafe sem_destroy(semaphore)
        unsafe semaphore.deallocate()
    }

    /// Adds work, and wakes a thread where that is of use. Never waits.
    func add(_ work: @escaping @Sendable () -> Void) {
        let node = Node(work)
        let reference = unsafe Unmanaged.passRetained(node)
        var before = unsafe latest.load(ordering: .relaxed)
        while true {
            unsafe node.before = before
            // In one order with `active`: either this thread sees that nobody is awake, or that one sees the work.
            let (isExchanged, original) = unsafe latest.weakCompareExchange(
                expected: before, desired: reference, successOrdering: .sequentiallyConsistent,
                failureOrdering: .relaxed)
            if isExchanged { break }
            unsafe before = original
        }
        waiting.add(1, ordering: .relaxed)
        if joins() { unsafe sem_post(semaphore) }
    }

    /// Has the threads end once there is no work left.
    func end() {
        hasEnded.store(true, ordering: .sequentiallyConsistent)
        for _ in 0..<width {
            active.add(1, ordering: .sequentiallyConsistent)
            unsafe sem_post(semaphore)
        }
    }

    /// What a thread does until the end.
    func run() {
        while !hasEnded.load(ordering: .sequentiallyConsistent) {
            // Again where a signal interrupted it. Who wakes a thread has counted it as awake.
            while unsafe sem_wait(semaphore) != 0 {}
            repeat {
                while let work = next() { perform(work) }
                active.subtract(1, ordering: .sequentiallyConsistent)
                // What was added meanwhile relied on this thread.
            } while unsafe latest.load(ordering: .sequentiallyConsistent) != nil && joins()
        }
    }

    private func perform(_ work: @Sendable () -> Void) {
        let start = Self.now()
        begun.store(start, ordering: .relaxed)
        if waiting.load(ordering: .relaxed) > 0, joins() { unsafe sem_post(semaphore) }
        work()
        let last = average.load(ordering: .relaxed)
        average.store(last - last / 8 + (Self.now() - start) / 8, ordering: .relaxed)
    }

    /// Counts one thread more as awake, where it has something to do that the others do not get done soon.
    private func joins() -> Bool {
        var count = active.load(ordering: .sequentiallyConsistent)
        while count == 0 || count < width && isBehind(count) {
            let (isExchanged, original) = active.compareExchange(
                expected: count, desired: count + 1, ordering: .sequentiallyConsistent)
            if isExchanged { return true }
            count = original
        }
        return false
    }

    private func isBehind(_ count: Int) -> Bool {
        if average.load(ordering: .relaxed) > Self.slow || waiting.load(ordering: .relaxed) > 8 * count { return true }
        // It was quick until now.
        let (begun, now) = (begun.load(ordering: .relaxed), Self.now())
        return now > begun && now - begun > 3 * Self.slow
    }

    private static func now() -> UInt64 { DispatchTime.now().uptimeNanoseconds }

    /// The next work, if there is any.
    private func next() -> (@Sendable () -> Void)? {
        taken.withLock { taken in
            guard let node = taken ?? takeAll() else { return nil }
            taken = node.next
            node.next = nil
            waiting.subtract(1, ordering: .relaxed)
            return node.work
        }
    }

    /// Takes what was added, and returns the oldest, which leads to the others.
    private func takeAll() -> Node? {
        var reference = unsafe latest.exchange(nil, ordering: .sequentiallyConsistent)
        var first: Node?
        while let taken = unsafe reference {
            let node = unsafe taken.takeRetainedValue()
            unsafe reference = node.before
            unsafe node.before = nil
            node.next = first
            first = node
        }
        return first
    }
}
#endif
