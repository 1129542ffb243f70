import CLinux
import Foundation
import Glibc
import KeyfobPrimitives

/// A child process in a process group of its own, with no signal blocked, whatever thread of ours started it.
///
/// Not Foundation's `Process`: that passes the mask of the thread on, so that SIGTERM may not end what a test starts,
/// and its waiting has no limit.
public final class SpawnedProcess: Sendable {
    /// Its process identifier, and that of its group.
    public let identifier: Int32
    /// The exit status, as soon as the child was waited for.
    private let status = Lock<Int32?>(nil)

    /// Starts a program with standard streams of the given descriptors.
    ///
    /// It is looked up in the `PATH` that it is given: Python, for one, looks there for its own library, and must find
    /// itself and not another version.
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
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK))
        unsafe posix_spawnattr_setpgroup(&attributes, 0)
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)

        var argumentPointers = unsafe command.map { unsafe strdup($0) } + [nil]
        var environmentPointers = unsafe environment.map { unsafe strdup("\($0.key)=\($0.value)") } + [nil]
        defer {
            for unsafe pointer in unsafe argumentPointers { unsafe free(pointer) }
            for unsafe pointer in unsafe environmentPointers { unsafe free(pointer) }
        }
        var child = pid_t()
        let program = Self.find(command[0], in: environment["PATH"])
        let code = unsafe posix_spawnp(&child, program, &actions, &attributes, &argumentPointers, &environmentPointers)
        guard code == 0 else {
            throw RunError.notStarted(executable: command[0], reason: unsafe String(cString: strerror(code)))
        }
        identifier = child
    }

    deinit { kill() }

    /// The path of a program; its name, which can only be looked up in our own `PATH`, where there is none.
    private static func find(_ program: String, in path: String?) -> String {
        guard !program.contains("/"), let path else { return program }
        let candidates = path.split(separator: ":").lazy.map { "\($0)/\(program)" }
        return candidates.first { unsafe access($0, X_OK) == 0 } ?? program
    }

    /// A pipe of which a child gets only what it is given: an end that another child holds would keep it open.
    ///
    /// - Throws: `RunError.notStarted` where no descriptor is left.
    public static func pipe() throws -> (reading: Int32, writing: Int32) {
        var ends: (reading: Int32, writing: Int32) = (-1, -1)
        guard unsafe keyfob_pipe(&ends.reading, &ends.writing) == 0 else {
            throw RunError.notStarted(executable: "a pipe", reason: "errno \(errno)")
        }
        return ends
    }

    /// Ends the child, and what it started and left in its group, at once.
    public func kill() {
        // A group whose leader was waited for and that has no member may be somebody else's by now, but for the
        // identifiers to come round within a test.
        _ = Glibc.kill(-identifier, SIGKILL)
        _ = wait(timeout: 5)
    }

    /// The exit status, or 128 plus the signal that ended it; `nil` when it had to be killed after `timeout` seconds.
    public func wait(timeout: Double) -> Int32? {
        let end = Date().addingTimeInterval(timeout)
        var pause: UInt32 = 500
        while true {
            if let known = poll() { return known }
            guard Date() < end else { break }
            usleep(pause)
            pause = min(pause * 2, 10_000)
        }
        _ = Glibc.kill(-identifier, SIGKILL)
        while poll() == nil { usleep(500) }
        return nil
    }

    /// The exit status, if it has ended.
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
