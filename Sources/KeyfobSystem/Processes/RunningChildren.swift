import CLinux
import Foundation
import KeyfobPrimitives
import Synchronization

/// The programs that were started and have not ended, for a signal handler that ends the process.
///
/// They are in a fixed number of slots in memory that never moves, because a handler may interrupt the thread that
/// writes a slot. A signal does not reach a program for which there was no slot.
@safe package enum RunningChildren {
    private static let count = 64
    // A handler reads it, so no lock may guard it from reading; `lock` keeps writers apart.
    nonisolated(unsafe) private static let slots: UnsafeMutablePointer<Int32> = {
        let pointer = UnsafeMutablePointer<Int32>.allocate(capacity: count)
        unsafe pointer.initialize(repeating: 0, count: count)
        return unsafe pointer
    }()
    private static let lock = Lock(0)
    /// The number of signals that were passed on, times 256, plus the last signal.
    private static let passedOn = Atomic(0)

    /// Makes the slots, so that no handler is the first to do it.
    package static func prepare() {
        _ = unsafe slots
        _ = signals
    }

    /// The signals so far, for `add(_:since:)`.
    package static var signals: Int { passedOn.load(ordering: .sequentiallyConsistent) }

    /// The argument of kill(2) for a program: its process id, negative for its whole group.
    package static func target(_ identifier: Int32, isGroup: Bool) -> Int32 { isGroup ? -identifier : identifier }

    /// Adds a program that was started, and sends it a signal that arrived before it was added.
    ///
    /// - Parameter signals: The value of `signals` before the program was started.
    package static func add(_ target: Int32, since signals: Int) {
        lock.withLock { _ in
            for index in 0..<count where unsafe slots[index] == 0 {
                unsafe slots[index] = target
                return
            }
        }
        // Sequentially consistent with `signal(_:)`: either the handler finds the program, or this finds the signal.
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        let now = self.signals
        let number = Int32(now & 0xFF)
        if now != signals, passes(number, to: target) { send(number, to: target) }
    }

    /// Removes a program. Call it before waiting for the program, after which its process id is free.
    package static func remove(_ target: Int32) {
        lock.withLock { _ in
            for index in 0..<count where unsafe slots[index] == target { unsafe slots[index] = 0 }
        }
    }

    /// Whether this process passes a signal on to a program. A terminal sends SIGINT to our whole group itself.
    private static func passes(_ number: Int32, to target: Int32) -> Bool { number != SIGINT || target < 0 }

    /// Sends a signal to all programs and to what they have started; SIGINT only to those in groups of their own.
    ///
    /// Async-signal-safe.
    ///
    /// - Returns: Whether there was a program.
    @discardableResult
    package static func signal(_ number: Int32) -> Bool {
        passedOn.store((signals & ~0xFF) + 0x100 + Int(number), ordering: .sequentiallyConsistent)
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        var isAny = false
        for index in 0..<count {
            let target = unsafe slots[index]
            guard target != 0 else { continue }
            isAny = true
            if passes(number, to: target) { send(number, to: target) }
        }
        return isAny
    }

    /// Ends all programs and what they have started: sends SIGTERM, and SIGKILL to those that have not ended in time.
    ///
    /// Async-signal-safe. Blocks for `gracePeriod` at most.
    package static func end() {
        guard signal(SIGTERM) else { return }
        for _ in 0..<(gracePeriod / pause) {
            guard isAnyRunning else { return }
            _ = poll(nil, 0, pause)
        }
        // A program that ignores signals would go on beside the next one that is started in its place.
        signal(SIGKILL)
    }

    /// The time in which a program may clean up, and the interval of the checks, in milliseconds.
    private static let gracePeriod: Int32 = 3000
    private static let pause: Int32 = 10

    /// Whether a program has not ended.
    package static var isAnyRunning: Bool {
        for index in 0..<count {
            let target = unsafe slots[index]
            if target != 0, keyfob_is_running(target < 0 ? -target : target) != 0 { return true }
        }
        return false
    }

    /// Sends a signal to a program and to what it has started.
    ///
    /// A program that may ask at the terminal is in our own group, with the script that runs us and the rest of a
    /// pipeline. Its descendants are therefore looked up one by one.
    package static func send(_ number: Int32, to target: Int32) {
        if target < 0 { kill(target, number) } else { keyfob_signal_tree(target, number) }
    }
}
