package import CLinux
import Foundation
import KeyfobPrimitives
import Synchronization

/// The programs that were started and have not ended, for a handler of signals that ends the process.
///
/// A fixed number of slots in memory that never moves: a handler may interrupt whoever writes one. A program for which
/// there is no slot is one that such a signal does not reach.
@safe package enum RunningChildren {
    private static let count = 64
    // A handler reads it, so no lock may guard it from reading; `lock` keeps writers apart.
    nonisolated(unsafe) private static let slots: UnsafeMutablePointer<pid_t> = {
        let pointer = UnsafeMutablePointer<pid_t>.allocate(capacity: count)
        unsafe pointer.initialize(repeating: 0, count: count)
        return unsafe pointer
    }()
    private static let lock = Lock(0)
    /// How many signals were passed on, times 256, and the last one.
    private static let passedOn = Atomic(0)

    /// Makes the slots, so that no handler is the first to do it.
    package static func prepare() {
        _ = unsafe slots
        _ = signals
    }

    /// The signals so far, for `add(_:since:)`.
    package static var signals: Int { passedOn.load(ordering: .sequentiallyConsistent) }

    /// What kill(2) is given for a program: its identifier, negative for its whole group.
    package static func target(_ identifier: pid_t, isGroup: Bool) -> pid_t { isGroup ? -identifier : identifier }

    /// Notes a program that was started, and passes on to it what came while it was not noted yet.
    ///
    /// - Parameter signals: The signals before it was started.
    package static func add(_ target: pid_t, since signals: Int) {
        lock.withLock { _ in
            for index in 0..<count where unsafe slots[index] == 0 {
                unsafe slots[index] = target
                return
            }
        }
        // In one order with `signal(_:)`: a handler finds the program, or is found here.
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        let now = self.signals
        let number = Int32(now & 0xFF)
        if now != signals, passes(number, to: target) { send(number, to: target) }
    }

    /// Forgets a program: before it is waited for, since its number is free once it was.
    package static func remove(_ target: pid_t) {
        lock.withLock { _ in
            for index in 0..<count where unsafe slots[index] == target { unsafe slots[index] = 0 }
        }
    }

    /// Whether a program is to hear of a signal from us: SIGINT is what a terminal sends to our whole group itself, and
    /// to no other.
    private static func passes(_ number: Int32, to target: pid_t) -> Bool { number != SIGINT || target < 0 }

    /// Sends a signal to all of them, with what they have started, and says whether there was one; SIGINT only to those
    /// that are in groups of their own.
    ///
    /// Calls only what signal-safety(7) allows.
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

    /// Ends all of them, with what they have started, for who ends himself: asks them to with SIGTERM, and kills
    /// those that have not ended `patience` later. Blocks that long at most.
    ///
    /// Calls only what signal-safety(7) allows.
    package static func end() {
        guard signal(SIGTERM) else { return }
        for _ in 0..<(patience / pause) {
            guard isAnyRunning else { return }
            _ = poll(nil, 0, pause)
        }
        // One that ignores signals would do its work for nobody, beside the next that is started for it.
        signal(SIGKILL)
    }

    /// How long a program may clean up, and how often it is looked at; in milliseconds.
    private static let patience: Int32 = 3000
    private static let pause: Int32 = 10

    /// Whether there is one that has not ended.
    package static var isAnyRunning: Bool {
        for index in 0..<count {
            let target = unsafe slots[index]
            if target != 0, keyfob_is_running(target < 0 ? -target : target) != 0 { return true }
        }
        return false
    }

    /// Sends a signal to a target and to what it has started.
    ///
    /// A program in our own group, as one must be that may ask at the terminal, shares that group with us, with the
    /// script that runs us and with the rest of a pipeline: its descendants are looked up one by one.
    package static func send(_ number: Int32, to target: pid_t) {
        if target < 0 { kill(target, number) } else { keyfob_signal_tree(target, number) }
    }
}
