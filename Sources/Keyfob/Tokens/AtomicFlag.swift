import Synchronization

/// A fact that, once found out, is shared by all copies of a value.
final class AtomicFlag: Sendable {
    private let flag = Atomic(false)

    /// Whether the flag is set.
    var isSet: Bool { flag.load(ordering: .relaxed) }

    /// Sets or clears the flag.
    func set(_ value: Bool) { flag.store(value, ordering: .relaxed) }
}
