import KeyfobPrimitives
import Synchronization

/// The logins and logouts of this process with the tokens of one module.
///
/// Each concerns all sessions with the token. A search during a change misses private objects, although the user is
/// logged in before and after it.
final class LoginChanges: Sendable {
    // Atomic, because every use of a cached handle reads it.
    private let begun = Atomic(0)
    /// The slots of the changes in progress.
    private let slots = Lock<[UInt]>([])

    /// The number of changes begun.
    var count: Int { begun.load(ordering: .sequentiallyConsistent) }

    /// Runs `change`, which logs in or out on the token in a slot.
    func during<Failure: Error>(_ slot: UInt, _ change: () throws(Failure) -> Void) throws(Failure) {
        slots.withLock { slots in
            slots.append(slot)
            begun.add(1, ordering: .sequentiallyConsistent)
        }
        defer {
            slots.withLock { slots in
                if let index = slots.firstIndex(of: slot) { slots.remove(at: index) }
            }
            slots.broadcast()
        }
        try change()
    }

    /// Waits until no change is in progress in a slot.
    ///
    /// - Returns: `count` at that time; `nil` if there was none by `deadline`.
    func settledCount(of slot: UInt, until deadline: Deadline) -> Int? {
        slots.wait(until: deadline) { $0.contains(slot) ? nil : count }
    }
}
