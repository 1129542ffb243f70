import Foundation
import Glibc

/// Runs code in a child made by fork(2), which has one thread and a copy of its parent's memory.
public enum ForkedChild {
    /// Forks, and runs `body` in the child. The child must end by `_exit`, in `body` or later on another thread.
    ///
    /// - Returns: The child's exit status; `nil` if it did not end within a minute, or was ended by a signal.
    public static func run(_ body: () throws -> Void) rethrows -> Int32? {
        // Swift hides fork(2), because little of a Swift program may be used after it.
        guard let symbol = unsafe dlsym(nil, "fork") else { return nil }
        let child = unsafe unsafeBitCast(symbol, to: (@convention(c) () -> Int32).self)()
        guard child != 0 else {
            do { try body() } catch { _exit(98) }
            sleep(60)
            _exit(99)
        }
        guard child > 0 else { return nil }
        var status: Int32 = 0
        for _ in 0..<6000 {
            let ended = unsafe waitpid(child, &status, WNOHANG)
            if ended == child { return status & 0x7F == 0 ? status >> 8 : nil }
            usleep(10_000)
        }
        kill(child, SIGKILL)
        unsafe waitpid(child, &status, 0)
        return nil
    }
}
