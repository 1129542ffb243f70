#if NIOSSL
import Foundation
import Glibc
import Synchronization
import Testing

@testable import KeyfobNIOSSL

/// A signing thread checks for work once more after it has announced that it sleeps. Work added in between was added
/// for a thread that seemed awake, and depends on that check.
@Suite(.timeLimit(.minutes(30)))
struct FallingAsleepTests {
    /// Stops a thread at any instruction, so that a window of a few nanoseconds becomes long enough to be hit.
    private enum Hold {
        static let begun = Atomic(0)

        static func install() {
            _ = begun.load(ordering: .relaxed)
            var action = sigaction()
            unsafe action.__sigaction_handler.sa_handler = { _ in
                Hold.begun.add(1, ordering: .sequentiallyConsistent)
                // The handler calls only nanosleep(2), which is safe here.
                var time = timespec(tv_sec: 0, tv_nsec: 60_000)
                unsafe nanosleep(&time, nil)
            }
            action.sa_flags = SA_RESTART
            unsafe sigaction(SIGUSR2, &action, nil)
        }

        /// Lets the calling thread be stopped. Threads of dispatch block all signals, and the threads that they start
        /// inherit that.
        static func accept() {
            var set = sigset_t()
            unsafe sigemptyset(&set)
            unsafe sigaddset(&set, SIGUSR2)
            unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil)
        }
    }

    private final class Bench: Sendable {
        let queue: SigningQueue
        let done = Atomic(0)
        let worker = Atomic<UInt>(0)
        let isLost = Atomic(false)
        let isOver = Atomic(false)

        init(width: Int) {
            queue = SigningQueue(width: width)
            for index in 0..<width {
                Thread { [self] in
                    Hold.accept()
                    queue.run(index)
                }.start()
            }
        }

        /// Spins until `count` items are done, for two minutes at most.
        func wait(for count: Int) -> Bool {
            let end = Date().addingTimeInterval(120)
            while done.load(ordering: .relaxed) < count {
                for _ in 0..<1000 where done.load(ordering: .relaxed) < count {}
                // On a busy machine the thread may have no core.
                if done.load(ordering: .relaxed) < count { sched_yield() }
                if Date() > end { return false }
            }
            return true
        }

        func add() {
            queue.add { [self] in
                worker.store(UInt(pthread_self()), ordering: .relaxed)
                done.add(1, ordering: .sequentiallyConsistent)
            }
        }

        /// Adds an item, stops the thread a moment after it is done, and adds another while the thread is stopped.
        ///
        /// - Parameter seconds: The duration, but a hundred times in any case.
        func run(seconds: TimeInterval) {
            let end = Date().addingTimeInterval(seconds)
            var round = 0
            defer { isOver.store(true, ordering: .sequentiallyConsistent) }
            while round < 100 || Date() < end {
                round += 1
                let before = done.load(ordering: .relaxed)
                add()
                guard wait(for: before + 1) else { return isLost.store(true, ordering: .relaxed) }
                // From the end of the work to deep sleep, in small steps.
                for _ in 0..<(round * 7) % 600 { _ = done.load(ordering: .relaxed) }
                let holds = Hold.begun.load(ordering: .relaxed)
                pthread_kill(pthread_t(worker.load(ordering: .relaxed)), SIGUSR2)
                while Hold.begun.load(ordering: .sequentiallyConsistent) == holds { sched_yield() }
                add()
                guard wait(for: before + 2) else { return isLost.store(true, ordering: .relaxed) }
            }
        }
    }

    @Test(arguments: [1, 4])
    func `an item added while a thread falls asleep is done`(width: Int) async throws {
        Hold.install()
        let bench = Bench(width: width)
        Thread { bench.run(seconds: 3) }.start()
        while !bench.isOver.load(ordering: .relaxed) { try await Task.sleep(for: .milliseconds(10)) }
        let isLost = bench.isLost.load(ordering: .relaxed)
        #expect(!isLost)
        bench.queue.end()
    }
}
#endif
