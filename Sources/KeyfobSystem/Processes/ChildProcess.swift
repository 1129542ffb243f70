import CLinux
import Foundation
package import KeyfobPrimitives
package import Synchronization

/// A program that was started to give a secret; killed and reaped when it goes out of scope, as by `end()`.
@safe package struct ChildProcess: ~Copyable {
    /// The descriptor that programs get as their standard error; -1 for that of this process.
    package static let standardError = Atomic<Int32>(-1)

    package let identifier: Int32
    private let ownsGroup: Bool
    /// Whether it was waited for, or is by a thread.
    private var isSettled = false

    /// Starts `arguments[0]`, looked up in `PATH`, with the given standard input and output.
    ///
    /// Its standard error is ours, and so is its environment without secrets (`EnvironmentVariable.inherited`). With
    /// `inOwnGroup` it can be killed with all it started, but is no longer in the terminal's foreground.
    ///
    /// - Parameter kept: A descriptor that it and what it starts shall have, too, such as that of a lock.
    /// - Throws: `fileUnavailable` when it cannot be started.
    package init(
        _ arguments: [String], input: Int32, output: Int32, inOwnGroup: Bool, keeping kept: Int32? = nil
    ) throws(KeychainError) {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, input, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, output, 1)
        let error = Self.standardError.load(ordering: .acquiring)
        if error >= 0 { unsafe posix_spawn_file_actions_adddup2(&actions, error, 2) }
        // Onto itself: what is taken away is the mark that closes it.
        if let kept { unsafe posix_spawn_file_actions_adddup2(&actions, kept, kept) }

        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK
        if inOwnGroup { flags |= POSIX_SPAWN_SETPGROUP }
        unsafe posix_spawnattr_setflags(&attributes, Int16(flags))
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe posix_spawnattr_setsigmask(&attributes, &signals)
        // What the command ignores, and hosts such as Python.
        unsafe sigaddset(&signals, SIGPIPE)
        unsafe sigaddset(&signals, SIGXFSZ)
        unsafe posix_spawnattr_setsigdefault(&attributes, &signals)

        let environment = EnvironmentVariable.inherited().map { "\($0.key)=\($0.value)" }
        var identifier: Int32 = 0
        let earlier = RunningChildren.signals
        let result = unsafe withCStrings(arguments) { arguments in
            unsafe withCStrings(environment) { environment in
                guard let program = unsafe arguments[0] else { return ENOENT }
                return unsafe posix_spawnp(&identifier, program, &actions, &attributes, arguments, environment)
            }
        }
        guard result == 0 else { throw .file("start", arguments.first ?? "a command", result) }
        self.identifier = identifier
        ownsGroup = inOwnGroup
        RunningChildren.add(RunningChildren.target(identifier, isGroup: inOwnGroup), since: earlier)
    }

    deinit {
        if !isSettled { _ = Self.terminate(identifier, group: ownsGroup) }
    }

    /// Its exit status if it has ended: 0...255, or 128 plus the signal; `nil` while it runs.
    package mutating func exitStatus() -> Int32? {
        // Looked at before it is reaped: as long as it runs, a handler of signals must find it.
        if keyfob_is_running(identifier) != 0 { return nil }
        var status: Int32 = 0
        RunningChildren.remove(RunningChildren.target(identifier, isGroup: ownsGroup))
        var result = unsafe waitpid(identifier, &status, 0)
        while result < 0, errno == EINTR { result = unsafe waitpid(identifier, &status, 0) }
        isSettled = true
        // A host process that ignores SIGCHLD has its children reaped by the kernel; the status is lost
        // then, and only the output can tell whether the command worked.
        if result < 0 { return 0 }
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
    }

    /// Waits for the end until `deadline`; `nil` if it still runs then.
    package mutating func exitStatus(by deadline: Deadline) -> Int32? {
        while true {
            if let status = exitStatus() { return status }
            if deadline.hasPassed { return nil }
            usleep(2000)
        }
    }

    /// Kills it, with all that it has started, and waits for its end: three seconds at the most.
    ///
    /// The system does not let us kill what another user runs, as a program does that `sudo` has started, and one that
    /// waits for a disk that does not answer ends when that does. A thread reaps it whenever that is.
    ///
    /// - Returns: Whether it has ended.
    package mutating func end() -> Bool {
        guard !isSettled else { return true }
        isSettled = true
        return Self.terminate(identifier, group: ownsGroup)
    }

    private static func terminate(_ identifier: Int32, group: Bool) -> Bool {
        let target = RunningChildren.target(identifier, isGroup: group)
        RunningChildren.remove(target)
        RunningChildren.send(SIGKILL, to: target)
        let deadline = Deadline.after(.seconds(3))
        while keyfob_is_running(identifier) != 0 {
            guard !deadline.hasPassed else {
                // Where there are no more threads it stays a zombie for as long as this process lasts.
                _ = POSIXThread.startDetached("keyfob-reap") { ChildProcess.reap(identifier) }
                return false
            }
            usleep(500)
        }
        reap(identifier)
        return true
    }

    private static func reap(_ identifier: Int32) {
        var status: Int32 = 0
        while unsafe waitpid(identifier, &status, 0) < 0, errno == EINTR {}
    }
}

/// Waits until `descriptor` can be read, at most `limit` and at most until `deadline`; false if it cannot.
package func waitForInput(_ descriptor: Int32, _ deadline: Deadline, limit: Duration = .seconds(3600)) -> Bool {
    waitUntilReady(descriptor, for: POLLIN, deadline, limit: limit)
}

/// Waits until `descriptor` can be written to, at most an hour and at most until `deadline`; false if it cannot.
package func waitForRoom(_ descriptor: Int32, _ deadline: Deadline) -> Bool {
    waitUntilReady(descriptor, for: POLLOUT, deadline, limit: .seconds(3600))
}

private func waitUntilReady(_ descriptor: Int32, for events: Int32, _ deadline: Deadline, limit: Duration) -> Bool {
    let remaining = min(deadline.remaining ?? limit, limit).components
    let milliseconds = remaining.seconds * 1000 + (remaining.attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
    return unsafe poll(&entry, 1, Int32(clamping: milliseconds)) > 0
}
