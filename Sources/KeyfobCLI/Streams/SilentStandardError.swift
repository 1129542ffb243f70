import Glibc
import Keyfob
import KeyfobPrimitives
import Synchronization

extension StandardError {
    /// The original standard error while the stream is silenced or detached; -1 otherwise.
    private static let spoken = Atomic<Int32>(-1)
    /// Whether descriptor 2 leads to `/dev/null` for the rest of the process.
    private static let isDetached = Atomic(false)

    /// The descriptor of our own messages.
    static var descriptor: Int32 {
        let spoken = isDetached.load(ordering: .acquiring) ? spoken.load(ordering: .acquiring) : -1
        return spoken >= 0 ? spoken : STDERR_FILENO
    }

    /// Discards what libraries write to descriptor 2 from now on, without losing our own messages.
    ///
    /// Our messages and the programs that we start get a duplicate of the descriptor. Nothing changes if there is no
    /// free descriptor.
    static func detach() {
        saved.withLock { saved in
            guard !isDetached.load(ordering: .acquiring) else { return }
            if saved < 0 { saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3) }
            let nowhere = unsafe open("/dev/null", O_WRONLY | O_CLOEXEC)
            guard saved >= 0, nowhere >= 0 else {
                if nowhere >= 0 { close(nowhere) }
                return
            }
            spoken.store(saved, ordering: .releasing)
            isDetached.store(true, ordering: .releasing)
            ChildProcess.standardError.store(saved, ordering: .releasing)
            dup2(nowhere, STDERR_FILENO)
            close(nowhere)
        }
    }

    /// The duplicate of the original standard error; -1 before the first use.
    ///
    /// It is never closed: another thread may be about to write to it, and the number must not be reused for another
    /// file.
    private static let saved = Lock<Int32>(-1)

    /// Writes the last message before the process ends. May be called from any thread, also while another thread has
    /// silenced the stream.
    ///
    /// Waits at most 200 ms if the reader does not read.
    static func writeLast(_ text: String) {
        let saved = spoken.load(ordering: .acquiring)
        let descriptor = saved >= 0 ? saved : STDERR_FILENO
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        guard unsafe poll(&entry, 1, 200) == 1, entry.revents & Int16(POLLOUT) != 0 else { return }
        // Overwrites a progress line on a terminal. A pipe that is ready for writing takes 4000 bytes without blocking.
        let start = isatty(descriptor) == 1 ? "\r\u{1B}[K" : ""
        var text = start + String(decoding: text.utf8.prefix(4000), as: UTF8.self)
        text.withUTF8 { _ = unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }

    /// Runs `body` while standard error leads to `/dev/null`.
    ///
    /// Used to load modules that the user did not name; some print greetings or complain about missing cards. Only for
    /// commands with one thread; our own messages are lost too.
    static func silenced<Result>(_ body: () throws -> Result) rethrows -> Result {
        guard !isDetached.load(ordering: .acquiring) else { return try body() }
        let saved = saved.withLock { saved in
            if saved < 0 { saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3) }
            return saved
        }
        let nowhere = unsafe open("/dev/null", O_WRONLY | O_CLOEXEC)
        guard saved >= 0, nowhere >= 0 else {
            if nowhere >= 0 { close(nowhere) }
            return try body()
        }
        spoken.store(saved, ordering: .releasing)
        dup2(nowhere, STDERR_FILENO)
        close(nowhere)
        defer {
            // A library that writes to standard error may have been loaded in the meantime.
            if !isDetached.load(ordering: .acquiring) {
                dup2(saved, STDERR_FILENO)
                spoken.store(-1, ordering: .releasing)
            }
        }
        return try body()
    }
}
