import CLinux
import Synchronization

/// Whether SoftHSM is in this process, and whether a thread may be inside of it.
enum SoftHSMPresence {
    private enum State {
        /// Nothing is known of it: whoever loads it may use it, too.
        static let unknown = 0
        /// It is here only because Keyfob has mapped it ahead of its use.
        static let mapped = 1
        static let used = 2
    }

    private static let state = Atomic(State.unknown)

    /// Whether the library is loaded, by whomever.
    static var isLoaded: Bool { unsafe keyfob_is_library_loaded("libsofthsm2.so") != 0 }

    /// Whether a thread of this process may be inside of SoftHSM. Certainly none is while nobody has done more than to
    /// map it for a thread that is still looking after the token's files.
    static var mayBeInUse: Bool { state.load(ordering: .acquiring) != State.mapped && isLoaded }

    /// To be said before Keyfob maps the library ahead of its use.
    static func willBeMapped() {
        guard !isLoaded else { return }
        // Not where another thread is about to use it already.
        _ = state.compareExchange(
            expected: State.unknown, desired: State.mapped, ordering: .acquiringAndReleasing)
    }

    /// To be said before Keyfob initialises the library.
    static func willBeUsed() { state.store(State.used, ordering: .releasing) }
}
