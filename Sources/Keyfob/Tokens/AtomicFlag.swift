import Synchronization

/// A fact that all copies of a value share, once it was found out.
final class AtomicFlag: Sendable {
    private let flag = Atomic(false)

    /// Whether it is so.
    var isSet: Bool { flag.load(ordering: .relaxed) }

    /// Takes note.
    func set(_ value: Bool) { flag.store(value, ordering: .relaxed) }
}
