import Glibc

extension StandardError {
    /// Runs `body` while whatever C libraries print to standard error goes nowhere.
    ///
    /// For loading modules that nobody asked for by name: some greet, some complain about cards that are not
    /// there. For a command with one thread; our own messages of that time are lost too.
    static func silenced<Result>(_ body: () throws -> Result) rethrows -> Result {
        let saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)
        let nowhere = unsafe open("/dev/null", O_WRONLY | O_CLOEXEC)
        guard saved >= 0, nowhere >= 0 else {
            if saved >= 0 { close(saved) }
            if nowhere >= 0 { close(nowhere) }
            return try body()
        }
        dup2(nowhere, STDERR_FILENO)
        close(nowhere)
        defer {
            dup2(saved, STDERR_FILENO)
            close(saved)
        }
        return try body()
    }
}
