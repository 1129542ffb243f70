#if NIOSSL
import Dispatch
import Foundation
import KeyfobPrimitives
import Synchronization

/// A queue of work from event loops to signing threads.
///
/// Adding takes no lock. With a lock, an event loop waited until its holder was scheduled again: up to eight
/// milliseconds on a busy machine (measured), whose cores the signing threads occupy. An event loop also sets no timer
/// for added work, since timers are behind a lock that every signature's completion takes.
///
/// The number of awake threads follows the token. One thread keeps up with a fast token, such as SoftHSM with EC keys,
/// and further threads would take cores from the event loops. A token that is slow, or hangs, gets all threads.
@safe final class SigningQueue: @unchecked Sendable {
    // Unchecked because of the semaphores, which are made for use by several threads; the compiler checks everything
    // else.
    /// One semaphore per thread, so that the first sleeping thread is woken, whose memory is still in the CPU caches.
    private let semaphores: UnsafeMutablePointer<sem_t>
    /// The most recently added node, which links to the one added before it. Nodes are not read before they are taken,
    /// and all are taken at once, so a reused address does no harm (no ABA problem).
    private let latest = unsafe Atomic<Unmanaged<Node>?>(nil)
    /// The nodes taken, oldest first. Only signing threads wait for this lock.
    private let taken = Lock<Node?>(nil)
    private let width: Int
    /// The number of work items added and not begun; it may be too low for a moment.
    private let waiting = Atomic(0)
    /// A bit for each thread that is asleep and is not being woken.
    private let asleep: Atomic<UInt64>
    /// The time when work was last begun, in nanoseconds.
    private let begun = Atomic<UInt64>(0)
    /// Averages: the CPU time of a work item in nanoseconds, and 1024 times the share of items that waited.
    private let cost = Atomic<UInt64>(0)
    private let waits = Atomic<UInt64>(0)
    private let hasEnded = Atomic(false)
    /// Wakes the watching thread; `isWatched` tells whether it is awake or about to be.
    private let watcher: UnsafeMutablePointer<sem_t>
    private let isWatched = Atomic(false)

    /// Work that takes more CPU time than this, in nanoseconds, is spread over the cores.
    private static let slow: UInt64 = 300_000
    /// One in this many work items is measured, because asking the kernel costs a twentieth of a fast signature.
    private static let measured = 8
    private static let cores = ProcessInfo.processInfo.activeProcessorCount

    /// `before` is written before other threads can see the node. Afterwards both links are protected by the lock of
    /// `taken`.
    @safe private final class Node: @unchecked Sendable {
        let work: @Sendable () -> Void
        var before: Unmanaged<Node>?
        var next: Node?

        init(_ work: @escaping @Sendable () -> Void) { self.work = work }
    }

    /// Creates a queue for `width` threads, up to 64. Each must call `run(_:)`, and one more thread must call
    /// `watch()`.
    init(width: Int) {
        self.width = width
        asleep = Atomic(width < 64 ? 1 << UInt64(width) - 1 : .max)
        unsafe semaphores = .allocate(capacity: width)
        unsafe semaphores.initialize(repeating: sem_t(), count: width)
        for index in 0..<width { unsafe sem_init(semaphores + index, 0, 0) }
        unsafe watcher = .allocate(capacity: 1)
        unsafe watcher.initialize(to: sem_t())
        unsafe sem_init(watcher, 0, 0)
    }

    deinit {
        // Release the remaining nodes one by one, since releasing a linked list recurses.
        var rest = takeAll()
        while let node = rest {
            rest = node.next
            node.next = nil
        }
        for index in 0..<width { unsafe sem_destroy(semaphores + index) }
        unsafe semaphores.deallocate()
        unsafe sem_destroy(watcher)
        unsafe watcher.deallocate()
    }

    /// Adds work, and wakes a thread if that helps. Never waits.
    func add(_ work: @escaping @Sendable () -> Void) {
        let node = Node(work)
        let reference = unsafe Unmanaged.passRetained(node)
        var before = unsafe latest.load(ordering: .relaxed)
        while true {
            unsafe node.before = before
            // Sequentially consistent with `asleep`: either this thread sees that no thread is awake, or that thread
            // sees the work.
            let (isExchanged, original) = unsafe latest.weakCompareExchange(
                expected: before, desired: reference, successOrdering: .sequentiallyConsistent,
                failureOrdering: .relaxed)
            if isExchanged { break }
            unsafe before = original
        }
        waiting.add(1, ordering: .relaxed)
        wakeOne()
    }

    /// Makes the threads end once no work is left.
    func end() {
        hasEnded.store(true, ordering: .sequentiallyConsistent)
        for index in 0..<width { unsafe sem_post(semaphores + index) }
        unsafe sem_post(watcher)
    }

    /// Runs on the watching thread until the end.
    ///
    /// Wakes a thread for work that waits behind a signature that hangs, since the caller that added it saw an awake
    /// thread.
    func watch() {
        var rounds = Self.patience
        while !hasEnded.load(ordering: .sequentiallyConsistent) {
            if rounds >= Self.patience {
                rounds = 0
                isWatched.store(false, ordering: .sequentiallyConsistent)
                // Sequentially consistent with `perform`: a thread that began in the meantime has seen that the watcher
                // sleeps, or is seen here.
                if !isBusy || isWatched.exchange(true, ordering: .sequentiallyConsistent) {
                    while unsafe sem_wait(watcher) != 0 {}
                }
            }
            usleep(5000)
            if waiting.load(ordering: .relaxed) > 0 { wakeOne() }
            rounds = isBusy ? 0 : rounds + 1
        }
    }

    /// The number of rounds without work before the watcher sleeps; waking it costs a signing thread more.
    private static let patience = 4

    private var isBusy: Bool {
        asleep.load(ordering: .sequentiallyConsistent).nonzeroBitCount < width
    }

    /// Runs on the signing thread of the given index until the end.
    func run(_ index: Int) {
        var count = 0
        while !hasEnded.load(ordering: .sequentiallyConsistent) {
            // Repeat if a signal interrupted the wait. The waking thread clears this thread's bit.
            while unsafe sem_wait(semaphores + index) != 0 {}
            repeat {
                while let work = next() {
                    perform(work, isMeasured: count % Self.measured == 0)
                    count &+= 1
                }
                asleep.bitwiseOr(1 << UInt64(index), ordering: .sequentiallyConsistent)
                // A thread that added work in the meantime may have relied on this one.
            } while unsafe latest.load(ordering: .sequentiallyConsistent) != nil && rises(1 << UInt64(index)) != nil
        }
    }

    private func perform(_ work: @Sendable () -> Void, isMeasured: Bool) {
        let before = isMeasured ? ThreadUsage.now() : nil
        begun.store(Self.now(), ordering: .relaxed)
        if waiting.load(ordering: .relaxed) > 0 { wakeOne() }
        if !isWatched.load(ordering: .sequentiallyConsistent),
            !isWatched.exchange(true, ordering: .sequentiallyConsistent)
        {
            unsafe sem_post(watcher)
        }
        work()
        guard let before else { return }
        let after = ThreadUsage.now()
        // Threads may overwrite each other's values, which does not matter in an average.
        let (cost, waits) = (cost.load(ordering: .relaxed), waits.load(ordering: .relaxed))
        self.cost.store(cost - cost / 8 + (after.nanoseconds - before.nanoseconds) / 8, ordering: .relaxed)
        self.waits.store(waits - waits / 8 + (after.waits > before.waits ? 128 : 0), ordering: .relaxed)
    }

    /// Wakes a thread if the awake ones will not do the work soon.
    private func wakeOne() {
        if let index = rises(.max) { unsafe sem_post(semaphores + index) }
    }

    /// Clears the bit of the first sleeping thread in `mask`, if there is work that the awake threads will not do soon.
    ///
    /// - Returns: The index of that thread, or `nil`.
    private func rises(_ mask: UInt64) -> Int? {
        var sleepers = asleep.load(ordering: .sequentiallyConsistent)
        while sleepers & mask != 0 {
            let active = width - sleepers.nonzeroBitCount
            guard active == 0 || isBehind(active) else { return nil }
            let index = (sleepers & mask).trailingZeroBitCount
            let (isExchanged, original) = asleep.compareExchange(
                expected: sleepers, desired: sleepers & ~(1 << UInt64(index)), ordering: .sequentiallyConsistent)
            if isExchanged { return index }
            sleepers = original
        }
        return nil
    }

    private func isBehind(_ active: Int) -> Bool {
        // The token makes threads wait, or there is enough work for one more thread.
        if waits.load(ordering: .relaxed) > 512 || waiting.load(ordering: .relaxed) > 8 * active { return true }
        if active < Self.cores, cost.load(ordering: .relaxed) > Self.slow { return true }
        // The token was fast until now.
        let (begun, now) = (begun.load(ordering: .relaxed), Self.now())
        return now > begun && now - begun > 10 * Self.slow
    }

    private static func now() -> UInt64 { DispatchTime.now().uptimeNanoseconds }

    /// Takes the next work item, if there is one.
    private func next() -> (@Sendable () -> Void)? {
        taken.withLock { taken in
            guard let node = taken ?? takeAll() else { return nil }
            taken = node.next
            node.next = nil
            waiting.subtract(1, ordering: .relaxed)
            return node.work
        }
    }

    /// Takes all nodes added, and returns the oldest, which links to the others.
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

/// The resources that the calling thread has used so far.
private struct ThreadUsage {
    /// CPU time.
    let nanoseconds: UInt64
    /// The number of times that the thread gave up its core in order to wait.
    let waits: Int

    static func now() -> ThreadUsage {
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        var usage = rusage()
        // RUSAGE_THREAD, which is not imported into Swift.
        unsafe getrusage(1, &usage)
        return ThreadUsage(
            nanoseconds: UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec), waits: usage.ru_nvcsw)
    }
}
#endif
