import Foundation
import KeyfobPrimitives
import Testing

@Suite struct POSIXThreadTests {
    @Test func `a thread runs beside the one that started it, and has ended after it is joined`() throws {
        // Each waits for the other, so they would not finish if they ran one after the other.
        let met = Lock(0)
        let hasEnded = Lock(false)
        let meet: @Sendable () -> Bool = {
            met.withLock { $0 += 1 }
            met.broadcast()
            return met.wait(until: .after(.seconds(60)), { $0 == 2 ? true : nil }) ?? false
        }
        let work: @Sendable () -> Void = {
            let didMeet = meet()
            usleep(20_000)
            hasEnded.withLock { $0 = didMeet }
        }
        let thread = try #require(POSIXThread.start("test", work))
        #expect(meet())
        thread.join()
        #expect(hasEnded.withLock { $0 })
    }

    /// The cores that the calling thread may run on.
    private static func allowedCores() throws -> Substring {
        let status = try String(contentsOfFile: "/proc/thread-self/status", encoding: .utf8)
        return try #require(status.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed:") })
    }

    @Test func `a thread that began on another core may run on every core that its starter may use`() throws {
        // The start on another core cannot be tested: the kernel may move either thread at any time.
        let isStarted = Lock(false)
        let seen = Lock<Substring?>(nil)
        let look: @Sendable () -> Void = {
            _ = isStarted.wait(until: .after(.seconds(60))) { $0 ? true : nil }
            // If the cores cannot be read, `seen` stays `nil` and the test fails.
            seen.withLock { $0 = try? Self.allowedCores() }
        }
        let thread = try #require(POSIXThread.start("test", elsewhere: true, look))
        isStarted.withLock { $0 = true }
        isStarted.broadcast()
        thread.join()
        #expect(try seen.withLock { $0 } == Self.allowedCores())
    }

    @Test func `the end of a thread wakes all its waiters, and a later waiter does not wait`() throws {
        let gate = Lock(false)
        let ended = Lock(0)
        let work: @Sendable () -> Void = { _ = gate.wait(until: .after(.seconds(60))) { $0 ? true : nil } }
        let thread = try #require(POSIXThread.start("test", work))
        let wait: @Sendable () -> Void = {
            thread.join()
            let isOpen = gate.withLock { $0 }
            ended.withLock { $0 += isOpen ? 1 : 100 }
        }
        let waiters = (0..<4).compactMap { _ in POSIXThread.start("waiter", wait) }
        // None of the waiting threads continues before the thread may end.
        usleep(20_000)
        #expect(ended.withLock { $0 } == 0)
        gate.withLock { $0 = true }
        gate.broadcast()
        for waiter in waiters { waiter.join() }
        thread.join()
        #expect(ended.withLock { $0 } == 4)
    }

    private final class Held: Sendable {}

    @Test func `a joined thread holds no reference to its work`() throws {
        weak var held: Held?
        for _ in 0..<50 {
            let made = Held()
            held = made
            let thread = POSIXThread.start("test") { [made] in withExtendedLifetime(made) {} }
            try #require(thread).join()
        }
        #expect(held == nil)
    }
}
