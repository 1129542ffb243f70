import Glibc
import KeyfobPrimitives
import Synchronization

extension StandardError {
    /// Where standard error leads while it is silenced; -1 while it is not.
    private static let spoken = Atomic<Int32>(-1)
    /// The same, once it was silenced; -1 before. Never closed: a number that somebody is about to write to must not
    /// become that of another file.
    private static let saved = Lock<Int32>(-1)

    /// Writes `text` from any thread, also while another one has silenced the stream, in front of what a process ends
    /// with: waits for a fifth of a second at the most, where nobody reads.
    static func writeLast(_ text: String) {
        let saved = spoken.load(ordering: .acquiring)
        let descriptor = saved >= 0 ? saved : STDERR_FILENO
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        guard unsafe poll(&entry, 1, 200) == 1, entry.revents & Int16(POLLOUT) != 0 else { return }
        // A line that says how far something is gives way. A pipe that is ready takes so much at once.
        let start = isatty(descriptor) == 1 ? "\r\u{1B}[K" : ""
        var text = start + String(decoding: text.utf8.prefix(4000), as: UTF8.self)
        text.withUTF8 { _ = unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }

    /// Runs `body` while whatever C libraries print to standard error goes nowhere.
    ///
    /// For loading modules that nobody asked for by name: some greet, some complain about cards that are not
    /// there. For a command with one thread; our own messages of that time are lost too.
    static func silenced<Result>(_ body: () throws -> Result) rethrows -> Result {
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
            dup2(saved, STDERR_FILENO)
            spoken.store(-1, ordering: .releasing)
        }
        return try body()
    }
}
