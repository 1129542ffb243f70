import Foundation
import KeyfobPrimitives
import Testing

@Suite("Lock, Deadline and BlockingExecutor")
struct LockTests {
    @Test("Threads do not lose updates")
    func exclusion() async {
        let counter = Lock(0)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask { for _ in 0..<10_000 { counter.withLock { $0 += 1 } } }
            }
        }
        #expect(counter.withLock { $0 } == 80_000)
    }

    @Test("A wait ends at its deadline")
    func deadline() {
        let lock = Lock(0)
        let start = ContinuousClock().now
        let result: Int? = lock.wait(until: .after(.milliseconds(50))) { $0 == 1 ? $0 : nil }
        #expect(result == nil)
        #expect(ContinuousClock().now - start >= .milliseconds(50))
    }

    @Test("A wait ends when its value arrives")
    func broadcast() {
        let lock = Lock(0)
        Thread.detachNewThread {
            lock.withLock { $0 = 5 }
            lock.broadcast()
        }
        #expect(lock.wait(until: .after(.seconds(600))) { $0 == 5 ? $0 : nil } == 5)
    }

    @Test("A deadline in the past has passed, and never has no time")
    func deadlines() {
        #expect(Deadline.after(.seconds(-1)).hasPassed)
        #expect(!Deadline.after(.seconds(60)).hasPassed)
        #expect(!Deadline.never.hasPassed)
        #expect(Deadline.never.remaining == nil)
    }

    @Test("Blocking work runs in parallel, off the cooperative pool")
    func blocking() async throws {
        let executor = BlockingExecutor(width: 4)
        let barrier = Lock(0)
        // Each task waits for all four, so with fewer than four threads none would finish.
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    try await executor.run {
                        barrier.withLock { $0 += 1 }
                        barrier.broadcast()
                        return barrier.wait(until: .after(.seconds(600))) { $0 >= 4 ? true : nil } ?? false
                    }
                }
            }
            for try await result in group { #expect(result) }
        }
    }

    @Test("An error thrown by the work reaches the caller")
    func throwing() async {
        struct Failure: Error {}
        await #expect(throws: Failure.self) { try await BlockingExecutor(width: 1).run { throw Failure() } }
    }
}
