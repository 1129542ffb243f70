import Glibc
import KeyfobSystem

/// The socket that systemd passes to this process (sd_listen_fds(3)).
enum InheritedSocket {
    /// The first descriptor that systemd passes.
    private static let first: Int32 = 3

    /// The descriptor of the only socket; `nil` if none is passed.
    ///
    /// - Throws: `UsageError` if several are passed.
    static func descriptor() throws -> Int32? {
        // The variables may be those of another process, which started this one.
        guard Environment.value("LISTEN_PID") == String(getpid()), let count = Environment.nonEmpty("LISTEN_FDS") else {
            return nil
        }
        guard count == "1" else {
            throw UsageError(
                "the caller passes \(count) sockets; this command serves one.",
                hint: "Give the unit one ListenStream= line.")
        }
        return InheritedDescriptors.contains(first) ? first : nil
    }
}
