import Foundation
import KeyfobPrimitives
import TestSupport
import Testing

struct BlockingExecutorTests {
    @Test func `work queued behind work that hangs is done`() {
        let executor = BlockingExecutor(width: 1)
        let isOver = Lock(false)
        for _ in 0..<2 {
            executor.start { _ = isOver.wait(until: .never) { $0 ? true : nil } }
        }
        let isDone = Lock(false)
        executor.start {
            isDone.withLock { $0 = true }
            isDone.broadcast()
        }
        let isReached = isDone.wait(until: .after(.seconds(120))) { $0 ? true : nil }
        #expect(isReached == true)
        isOver.withLock { $0 = true }
        isOver.broadcast()
    }

    private struct Tally {
        var now = 0
        var most = 0
        var done = 0
    }

    /// The largest number of work items that an executor of two threads runs at once, if none hangs; `nil` if they are
    /// not done within two minutes.
    private static func mostAtOnce() -> Int? {
        let executor = BlockingExecutor(width: 2)
        let tally = Lock(Tally())
        // Longer in total than the time after which threads count as hanging.
        for _ in 0..<400 {
            executor.start {
                tally.withLock { tally in
                    tally.now += 1
                    tally.most = max(tally.most, tally.now)
                }
                usleep(10_000)
                tally.withLock { tally in
                    tally.now -= 1
                    tally.done += 1
                }
                tally.broadcast()
            }
        }
        return tally.wait(until: .after(.seconds(120))) { $0.done == 400 ? $0.most : nil }
    }

    @Test func `work that ends runs on as many threads as the executor is wide`() {
        // If a busy machine runs neither thread for a second, they seem to hang.
        let tries = (0..<3).lazy.map { _ in Self.mostAtOnce() }
        #expect(tries.contains { $0.map { $0 <= 2 } == true })
    }
}
