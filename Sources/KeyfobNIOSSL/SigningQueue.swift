#if NIOSSL
import Dispatch
import Foundation
import KeyfobPrimitives
import Synchronization

/// Work on its way from event loops to signing threads.
///
/// Adding takes no lock. Behind one, an event loop waited for whichever thread held it to get a core again, up to eight
/// milliseconds on a machine that was busy (measured); and the threads that sign are those that take the cores. Nor
/// does an event loop look after what it has added: its own timers are behind a lock that every signature's answer
/// takes.
///
/// No more threads are awake than the token has use for. One keeps up with a token that is quick, as SoftHSM is with EC
/// keys, and each further one would take the event loops' cores from them; a token that is slow, or hangs, gets them
/// all.
@safe final class SigningQueue: @unchecked Sendable {
    // Unchecked for the semaphores, which are made for many threads; everything else checks itself.
    /// One for each thread, so that of those that sleep the first is woken, whose memory the caches still have.
    private let semaphores: UnsafeMutablePointer<sem_t>
    /// The latest addition, each of which knows the one before it. Nobody looks into a node before it is taken, and
    /// only all of them are, so that an address which comes back does no harm.
    private let latest = unsafe Atomic<Unmanaged<Node>?>(nil)
    /// What was taken, in the order in which it was added; only signing threads wait for each other here.
    private let taken = Lock<Node?>(nil)
    private let width: Int
    /// How much was added and not begun; for a moment less than it is.
    private let waiting = Atomic(0)
    /// A bit for each thread that sleeps, and that nobody is waking.
    private let asleep: Atomic<UInt64>
    /// When work was last begun, in nanoseconds.
    private let begun = Atomic<UInt64>(0)
    /// On average: nanoseconds of a core that work takes, and 1024 times how often it waits for something else.
    private let cost = Atomic<UInt64>(0)
    private let waits = Atomic<UInt64>(0)
    private let hasEnded = Atomic(false)
    /// Wakes the thread that watches, and whether it is awake or about to be.
    private let watcher: UnsafeMutablePointer<sem_t>
    private let isWatched = Atomic(false)

    /// Work that takes more of a core than this is shared among the cores.
    private static let slow: UInt64 = 300_000
    /// Of so much work one piece is measured: to ask the kernel costs a twentieth of a quick signature.
    private static let measured = 8
    private static let cores = ProcessInfo.processInfo.activeProcessorCount

    /// `before` is written before others can see the node; both are under the lock of `taken` afterwards.
    @safe private final class Node: @unchecked Sendable {
        let work: @Sendable () -> Void
        var before: Unmanaged<Node>?
        var next: Node?

        init(_ work: @escaping @Sendable () -> Void) { self.work = work }
    }

    /// A queue for `width` threads, up to 64, each of which has to call `run(_:)`, and one that calls `watch()`.
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
        // What was never done, one by one: not each from within the end of the one before.
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

    /// Adds work, and wakes a thread where that is of use. Never waits.
    func add(_ work: @escaping @Sendable () -> Void) {
        let node = Node(work)
        let reference = unsafe Unmanaged.passRetained(node)
        var before = unsafe latest.load(ordering: .relaxed)
        while true {
            unsafe node.before = before
            // In one order with `asleep`: either this thread sees that nobody is awake, or that one sees the work.
            let (isExchanged, original) = unsafe latest.weakCompareExchange(
                expected: before, desired: reference, successOrdering: .sequentiallyConsistent,
                failureOrdering: .relaxed)
            if isExchanged { break }
            unsafe before = original
        }
        waiting.add(1, ordering: .relaxed)
        wakeOne()
    }

    /// Has the threads end once there is no work left.
    func end() {
        hasEnded.store(true, ordering: .sequentiallyConsistent)
        for index in 0..<width { unsafe sem_post(semaphores + index) }
        unsafe sem_post(watcher)
    }

    /// What one more thread does until the end: it has work done that waits behind a signature that hangs, for whoever
    /// added it saw a thread that is awake.
    func watch() {
        var rounds = Self.patience
        while !hasEnded.load(ordering: .sequentiallyConsistent) {
            if rounds >= Self.patience {
                rounds = 0
                isWatched.store(false, ordering: .sequentiallyConsistent)
                // In one order with what `perform` does: a thread that began meanwhile has seen that nobody watches, or
                // is seen here.
                if !isBusy || isWatched.exchange(true, ordering: .sequentiallyConsistent) {
                    while unsafe sem_wait(watcher) != 0 {}
                }
            }
            usleep(5000)
            if waiting.load(ordering: .relaxed) > 0 { wakeOne() }
            rounds = isBusy ? 0 : rounds + 1
        }
    }

    /// For how many rounds without any work somebody goes on watching: to be woken costs a signing thread more.
    private static let patience = 4

    private var isBusy: Bool {
        asleep.load(ordering: .sequentiallyConsistent).nonzeroBitCount < width
    }

    /// What the thread of a number does until the end.
    func run(_ index: Int) {
        var count = 0
        while !hasEnded.load(ordering: .sequentiallyConsistent) {
            // Again where a signal interrupted it. Who wakes a thread takes its bit.
            while unsafe sem_wait(semaphores + index) != 0 {}
            repeat {
                while let work = next() {
                    perform(work, isMeasured: count % Self.measured == 0)
                    count &+= 1
                }
                asleep.bitwiseOr(1 << UInt64(index), ordering: .sequentiallyConsistent)
                // What was added meanwhile may have relied on this thread.
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
        // Threads may overwrite each other's, which is of no weight in an average.
        let (cost, waits) = (cost.load(ordering: .relaxed), waits.load(ordering: .relaxed))
        self.cost.store(cost - cost / 8 + (after.nanoseconds - before.nanoseconds) / 8, ordering: .relaxed)
        self.waits.store(waits - waits / 8 + (after.waits > before.waits ? 128 : 0), ordering: .relaxed)
    }

    /// Wakes a thread if there is work that those awake do not get done soon.
    private func wakeOne() {
        if let index = rises(.max) { unsafe sem_post(semaphores + index) }
    }

    /// Takes the bit of the first of some threads, if it sleeps and has something to do that the others do not get
    /// done soon.
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
        // A token that is waited for, or enough work for one more.
        if waits.load(ordering: .relaxed) > 512 || waiting.load(ordering: .relaxed) > 8 * active { return true }
        if active < Self.cores, cost.load(ordering: .relaxed) > Self.slow { return true }
        // It was quick until now.
        let (begun, now) = (begun.load(ordering: .relaxed), Self.now())
        return now > begun && now - begun > 10 * Self.slow
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

/// What the calling thread has used so far.
private struct ThreadUsage {
    /// Of a core.
    let nanoseconds: UInt64
    /// How often it gave its core away because it had to wait.
    let waits: Int

    static func now() -> ThreadUsage {
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        var usage = rusage()
        // RUSAGE_THREAD, which Swift does not see.
        unsafe getrusage(1, &usage)
        return ThreadUsage(
            nanoseconds: UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec), waits: usage.ru_nvcsw)
    }
}
#endif
