import Synchronization

/// Keeps C calls and the finalisation of a module apart.
///
/// `C_Finalize` is undefined while other threads are inside the library (PKCS#11 2.40, 5.4), yet a lock in the
/// path of every call would make all of them wait for the slowest. So calls only count themselves in and out,
/// and a finalisation turns new ones away and waits for the count to fall to nothing.
final class CallGate: Sendable {
    /// Twice the generation of the module, plus one while the gate is shut; the sign bit besides, once it is for good.
    private let state = Atomic<Int>(0)
    private let calls = Atomic<Int>(0)

    /// How often the module has been initialised again.
    var generation: Int { (state.load(ordering: .sequentiallyConsistent) & .max) >> 1 }

    /// Counts a call in, if the gate is open and the module still in `generation`; `leave()` must follow then.
    @inline(__always)
    func enter(generation: Int) -> Bool {
        calls.add(1, ordering: .sequentiallyConsistent)
        // Read after the count went up: either this sees the shut gate, or `shut` sees this call.
        if state.load(ordering: .sequentiallyConsistent) == generation << 1 { return true }
        leave()
        return false
    }

    /// Counts a call in, whatever the generation; false while the gate is shut.
    func enter() -> Bool {
        enter(generation: generation)
    }

    /// Counts in what runs while the gate is shut: the finalisation itself.
    func enterAlone() { calls.add(1, ordering: .sequentiallyConsistent) }

    /// Counts a call out.
    @inline(__always)
    func leave() {
        calls.subtract(1, ordering: .sequentiallyConsistent)
    }

    /// Turns new calls away. Only one thread may do so at a time.
    func shut() {
        state.add(1, ordering: .sequentiallyConsistent)
    }

    /// Whether no call is in progress.
    var isQuiet: Bool { calls.load(ordering: .sequentiallyConsistent) == 0 }

    /// Lets calls in again, in a new generation or, when nothing was finalised, in the old one.
    func open(newGeneration: Bool) {
        state.add(newGeneration ? 1 : -1, ordering: .sequentiallyConsistent)
    }

    /// Turns new calls away for good, whoever opens the gate afterwards.
    func end() {
        state.bitwiseOr(.min, ordering: .sequentiallyConsistent)
    }
}
