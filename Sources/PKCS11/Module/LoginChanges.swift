import KeyfobPrimitives

/// The logins and logouts in progress with the tokens of one module.
///
/// Each concerns all sessions with the token. A search during a change misses private objects, although the user is
/// logged in before and after it.
final class LoginChanges: Sendable {
    /// The slots of the changes in progress.
    private let slots = Lock<[UInt]>([])

    /// Runs `change`, which logs in or out on the token in a slot.
    func during<Failure: Error>(_ slot: UInt, _ change: () throws(Failure) -> Void) throws(Failure) {
        slots.withLock { $0.append(slot) }
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
    /// - Returns: `false` if one still is at `deadline`.
    func settle(in slot: UInt, until deadline: Deadline) -> Bool {
        slots.wait(until: deadline) { $0.contains(slot) ? nil : true } ?? false
    }
}
