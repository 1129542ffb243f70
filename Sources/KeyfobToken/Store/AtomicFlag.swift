import Synchronization

/// A fact that, once found out, is shared by all copies of a value.
package final class AtomicFlag: Sendable {
    private let flag = Atomic(false)

    /// Creates a flag that is not set.
    package init() {}

    /// Whether the flag is set.
    package var isSet: Bool { flag.load(ordering: .relaxed) }

    /// Sets or clears the flag.
    package func set(_ value: Bool) { flag.store(value, ordering: .relaxed) }
}
