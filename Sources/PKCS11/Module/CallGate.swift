import Synchronization

/// Keeps finalisation from running while C calls are in progress.
///
/// The behaviour of `C_Finalize` is undefined while other threads are inside the library (PKCS#11 2.40, 5.4). A lock
/// around every call would make all calls wait for the slowest, so calls only count themselves in and out. Finalisation
/// shuts the gate to new calls and waits until the count is zero.
final class CallGate: Sendable {
    /// Twice the generation of the module, plus one while the gate is shut. The sign bit is set once the gate is shut
    /// for good.
    private let state = Atomic<Int>(0)
    private let calls = Atomic<Int>(0)

    /// The number of times the module has been initialised again.
    var generation: Int { (state.load(ordering: .sequentiallyConsistent) & .max) >> 1 }

    /// Counts a call in and returns true if the gate is open and the module is in `generation`; `leave()` must then
    /// follow.
    @inline(__always)
    func enter(generation: Int) -> Bool {
        calls.add(1, ordering: .sequentiallyConsistent)
        // Load after incrementing: either this thread sees the shut gate, or the finalising thread sees this call.
        if state.load(ordering: .sequentiallyConsistent) == generation << 1 { return true }
        leave()
        return false
    }

    /// Counts a call in, in any generation; returns false while the gate is shut.
    func enter() -> Bool {
        enter(generation: generation)
    }

    /// Counts the finalising thread in while the gate is shut.
    func enterAlone() { calls.add(1, ordering: .sequentiallyConsistent) }

    /// Counts a call out.
    @inline(__always)
    func leave() {
        calls.subtract(1, ordering: .sequentiallyConsistent)
    }

    /// Turns new calls away. Only one thread at a time may call this.
    func shut() {
        state.add(1, ordering: .sequentiallyConsistent)
    }

    /// Whether no call is in progress.
    var isQuiet: Bool { calls.load(ordering: .sequentiallyConsistent) == 0 }

    /// Lets calls in again, in a new generation, or in the old one if the library was not finalised.
    func open(newGeneration: Bool) {
        state.add(newGeneration ? 1 : -1, ordering: .sequentiallyConsistent)
    }

    /// Whether new calls are turned away for good.
    var hasEnded: Bool { state.load(ordering: .sequentiallyConsistent) < 0 }

    /// Turns new calls away for good; a later `open(newGeneration:)` does not let them in again.
    func end() {
        state.bitwiseOr(.min, ordering: .sequentiallyConsistent)
    }
}
