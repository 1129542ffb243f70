import Foundation
import KeyfobPrimitives
import Testing

@testable import Keyfob

@Suite struct UnkillableProgramTests {
    @Test(.enabled(if: geteuid() == 0, "only root can start what it may not kill once it is another user"))
    func `a program that may not be killed is not waited for when its time is over`() async {
        await #expect(processExitsWith: .exitCode(7)) {
            // Ends this process where it is waited for all the same: the program goes on for as long.
            alarm(120)
            let program = "while kill -0 \(getpid()) 2> /dev/null; do sleep 0.1; done"
            do {
                // Asked when the program runs. As one that sudo has started, it is another user's from then on.
                _ = try ProgramRun.run(
                    ["sh", "-c", program], deadline: .after(.zero), isStopped: { setuid(65_534) != 0 })
            } catch let error as KeychainError {
                guard error.code == .timedOut, let process = error.details["process"].flatMap({ pid_t($0) }) else {
                    exit(2)
                }
                // It is there, and not ours to signal.
                exit(kill(process, 0) == -1 && errno == EPERM ? 7 : 3)
            }
        }
    }
}
