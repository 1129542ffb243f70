#if NIOSSL
import Foundation
import KeyfobPrimitives
import Synchronization

/// Work on its way from event loops to signing threads.
///
/// Adding takes no lock. Behind one, an event loop waited for whichever thread held it to get a core again, up to eight
/// milliseconds on a machine that was busy (measured); and the threads that sign are those that take the cores.
@safe final class SigningQueue: @unchecked Sendable {
    // Unchecked for the semaphore, which is made for many threads; everything else checks itself.
    private let semaphore: UnsafeMutablePointer<sem_t>
    /// The latest addition, each of which knows the one before it. Nobody looks into a node before it is taken, and only
    /// all of them are, so that an address which comes back does no harm.
    private let latest = unsafe Atomic<Unmanaged<Node>?>(nil)
    /// What was taken, in the order in which it was added; only signing threads wait for each other here.
    private let taken = Lock<Node?>(nil)

    /// `before` is written before others can see the node; both are under the lock of `taken` afterwards.
    @safe private final class Node: @unchecked Sendable {
        let work: (@Sendable () -> Void)?
        var before: Unmanaged<Node>?
        var next: Node?

        init(_ work: (@Sendable () -> Void)?) { self.work = work }
    }

    init() {
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

    /// Adds work; `nil` tells one thread to end.
    func add(_ work: (@Sendable () -> Void)?) {
        let node = Node(work)
        let reference = unsafe Unmanaged.passRetained(node)
        var before = unsafe latest.load(ordering: .relaxed)
        while true {
            unsafe node.before = before
            let (isExchanged, original) = unsafe latest.weakCompareExchange(
                expected: before, desired: reference, successOrdering: .releasing, failureOrdering: .relaxed)
            if isExchanged { break }
            unsafe before = original
        }
        unsafe sem_post(semaphore)
    }

    /// The next work, for which it waits; `nil` when the thread should end.
    func next() -> (@Sendable () -> Void)? {
        // Again where a signal interrupted it.
        while unsafe sem_wait(semaphore) != 0 {}
        return taken.withLock { taken in
            // There is some: the semaphore has counted it.
            guard let node = taken ?? takeAll() else { return nil }
            taken = node.next
            node.next = nil
            return node.work
        }
    }

    /// Takes what was added, and returns the oldest, which leads to the others.
    private func takeAll() -> Node? {
        var reference = unsafe latest.exchange(nil, ordering: .acquiring)
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
