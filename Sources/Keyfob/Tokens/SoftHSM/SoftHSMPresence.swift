import CLinux
import Synchronization

/// Tracks whether SoftHSM is loaded in this process, and whether a thread may be executing it.
enum SoftHSMPresence {
    private enum State {
        /// Unknown: other code that loads the library may also use it.
        static let unknown = 0
        /// Loaded only because Keyfob has mapped it ahead of its use.
        static let mapped = 1
        static let used = 2
    }

    private static let state = Atomic(State.unknown)

    /// Whether the library is loaded, by Keyfob or other code.
    static var isLoaded: Bool { unsafe keyfob_is_library_loaded("libsofthsm2.so") != 0 }

    /// Whether a thread of this process may be executing SoftHSM.
    ///
    /// Certainly none is as long as Keyfob has only mapped the library, for a thread that is still checking the token's
    /// files.
    static var mayBeInUse: Bool { state.load(ordering: .acquiring) != State.mapped && isLoaded }

    /// Call this before Keyfob maps the library ahead of its use.
    static func willBeMapped() {
        guard !isLoaded else { return }
        // Unless another thread is already about to use it.
        _ = state.compareExchange(
            expected: State.unknown, desired: State.mapped, ordering: .acquiringAndReleasing)
    }

    /// Call this before Keyfob initializes the library.
    static func willBeUsed() { state.store(State.used, ordering: .releasing) }
}
