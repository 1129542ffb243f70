import CLinux
import Foundation
import Glibc
import KeyfobPrimitives

/// A child process in its own process group, with no signal blocked or ignored, and only its standard streams open.
///
/// This holds in whatever state this process and its thread are. A shell ignores SIGINT in background processes, such
/// as those of `Scripts/test-part`, and some machines leave descriptors open in all processes that they start.
///
/// Foundation's `Process` is not used: it passes the thread's signal mask on, so that SIGTERM may not end the child,
/// and its waiting has no timeout.
public final class SpawnedProcess: Sendable {
    /// The process identifier, which is also that of the group.
    public let identifier: Int32
    /// The exit status, set once the child was waited for.
    private let status = Lock<Int32?>(nil)

    /// Starts a program with the given descriptors as standard streams.
    ///
    /// The program is looked up in the child's `PATH`, which may be shorter than that of this process. An earlier entry
    /// of ours may hold a script that needs more environment variables than the test passes.
    ///
    /// - Throws: `RunError.notStarted`.
    public init(
        _ command: [String], environment: [String: String], streams: (input: Int32, output: Int32, error: Int32)
    ) throws {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        for (target, descriptor) in [streams.input, streams.output, streams.error].enumerated() {
            unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(target))
        }
        unsafe keyfob_close_from(&actions, 3)
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        let flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
        unsafe posix_spawnattr_setflags(&attributes, Int16(flags))
        unsafe posix_spawnattr_setpgroup(&attributes, 0)
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        var all = sigset_t()
        unsafe sigfillset(&all)
        unsafe posix_spawnattr_setsigdefault(&attributes, &all)
        _ = Self.keepsChildren

        let program = Self.find(command[0], in: environment["PATH"] ?? "/usr/bin:/bin")
        var argumentPointers = unsafe command.map { unsafe strdup($0) } + [nil]
        var environmentPointers = unsafe environment.map { unsafe strdup("\($0.key)=\($0.value)") } + [nil]
        defer {
            for unsafe pointer in unsafe argumentPointers { unsafe free(pointer) }
            for unsafe pointer in unsafe environmentPointers { unsafe free(pointer) }
        }
        var child = pid_t()
        let code = unsafe posix_spawn(
            &child, program, &actions, &attributes, &argumentPointers, &environmentPointers)
        guard code == 0 else {
            throw RunError.notStarted(executable: command[0], reason: unsafe String(cString: strerror(code)))
        }
        identifier = child
    }

    private static func find(_ name: String, in path: String) -> String {
        guard !name.contains("/") else { return name }
        let candidates = path.split(separator: ":").map { $0 + "/" + name }
        return candidates.first { unsafe access($0, X_OK) == 0 } ?? name
    }

    deinit { kill() }

    /// Whether ended children stay until they are waited for; they would not if the parent process ignores SIGCHLD.
    private static let keepsChildren: Bool = {
        signal(SIGCHLD, SIG_DFL)
        return true
    }()

    /// Creates a pipe whose ends children do not inherit, because an end held by another child would keep it open.
    ///
    /// - Throws: `RunError.notStarted` if no descriptor is left.
    public static func pipe() throws -> (reading: Int32, writing: Int32) {
        var ends: (reading: Int32, writing: Int32) = (-1, -1)
        guard unsafe keyfob_pipe(&ends.reading, &ends.writing) == 0 else {
            throw RunError.notStarted(executable: "a pipe", reason: "errno \(errno)")
        }
        return ends
    }

    /// Kills the child and the processes in its group.
    public func kill() {
        // If the leader was waited for and the group is empty, its identifier could have been reused. That would
        // require all identifiers to wrap around within a test.
        _ = Glibc.kill(-identifier, SIGKILL)
        _ = wait(timeout: 5)
    }

    /// Waits for the exit status, or 128 plus the signal that ended the child; `nil` if it was killed after `timeout`
    /// seconds.
    public func wait(timeout: Double) -> Int32? {
        let end = Deadline.after(.seconds(timeout))
        var pause: UInt32 = 500
        while true {
            if let known = poll() { return known }
            guard !end.hasPassed else { break }
            usleep(pause)
            pause = min(pause * 2, 10_000)
        }
        _ = Glibc.kill(-identifier, SIGKILL)
        let last = Deadline.after(.seconds(60))
        while poll() == nil, !last.hasPassed { usleep(500) }
        return nil
    }

    /// Returns the exit status if the child has ended.
    private func poll() -> Int32? {
        status.withLock { status in
            if let status { return status }
            var raw: Int32 = 0
            guard unsafe waitpid(identifier, &raw, WNOHANG) == identifier else { return nil }
            let signal = raw & 0x7f
            status = signal == 0 ? (raw >> 8) & 0xff : 128 + signal
            return status
        }
    }
}
