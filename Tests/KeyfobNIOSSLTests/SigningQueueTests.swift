#if NIOSSL
import Foundation
import KeyfobPrimitives
import Synchronization
import Testing

@testable import KeyfobNIOSSL

@Suite(.timeLimit(.minutes(30)))
struct SigningQueueTests {
    /// A queue with threads that counts the threads that have ended.
    private final class Crew: Sendable {
        let queue: SigningQueue
        let ended = Atomic(0)
        let done = Atomic(0)

        init(_ width: Int) {
            queue = SigningQueue(width: width)
            for index in 0...width {
                Thread { [self] in
                    if index < width { queue.run(index) } else { queue.watch() }
                    ended.add(1, ordering: .sequentiallyConsistent)
                }.start()
            }
        }

        func wait(until isTrue: () -> Bool) async throws -> Bool {
            for attempt in 0..<12_000 {
                if isTrue() { return true }
                try await Task.sleep(for: attempt < 100 ? .microseconds(50) : .milliseconds(10))
            }
            return isTrue()
        }
    }

    @Test(arguments: [1, 4])
    func `every item that is added is done exactly once, and the threads end`(width: Int) async throws {
        let crew = Crew(width)
        let (adders, each) = (4, 20_000)
        for number in 0..<adders {
            Thread {
                for index in 0..<each {
                    crew.queue.add { crew.done.add(1, ordering: .relaxed) }
                    // From time to time long enough for every thread to fall asleep.
                    if (index + number) % 64 == 0 { usleep(200) }
                }
            }.start()
        }
        #expect(try await crew.wait { crew.done.load(ordering: .relaxed) == adders * each })
        // A single item must be noticed, even while threads fall asleep.
        for index in 0..<20_000 {
            let before = crew.done.load(ordering: .relaxed)
            crew.queue.add { crew.done.add(1, ordering: .relaxed) }
            for _ in 0..<index % 50 * 100 where crew.done.load(ordering: .relaxed) == before {}
            guard crew.done.load(ordering: .relaxed) == before else { continue }
            try #require(try await crew.wait { crew.done.load(ordering: .relaxed) == before + 1 })
        }
        crew.queue.end()
        #expect(try await crew.wait { crew.ended.load(ordering: .relaxed) == width + 1 })
        #expect(crew.done.load(ordering: .relaxed) == adders * each + 20_000)
    }

    @Test(arguments: [false, true])
    func `work that hangs does not delay the work that follows it`(isRested: Bool) async throws {
        let threads = try SigningThreads(width: 2)
        for _ in 1...10 {
            // Long enough for the watching thread to have fallen asleep.
            if isRested { try await Task.sleep(for: .milliseconds(100)) }
            let (isOver, hasBegun, isDone) = (Lock(false), Lock(false), Lock(false))
            defer { isOver.withLock { $0 = true } }
            threads.start {
                hasBegun.withLock { $0 = true }
                while !isOver.withLock({ $0 }) { usleep(1000) }
            }
            // At once: an item added some milliseconds later sees by itself that a thread hangs.
            while !hasBegun.withLock({ $0 }) { await Task.yield() }
            threads.start { isDone.withLock { $0 = true } }
            for _ in 0..<10_000 where !isDone.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(10)) }
            try #require(isDone.withLock { $0 })
        }
    }
}
#endif
