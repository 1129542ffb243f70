import Foundation
import KeyfobPrimitives
import Testing

@testable import Keyfob

@Suite struct UnkillableProgramTests {
    @Test(.enabled(if: geteuid() == 0, "only root can start what it may not kill once it is another user"))
    func `a program that may not be killed is not waited for after its time is over`() async {
        await #expect(processExitsWith: .exitCode(7)) {
            // Ends this process if it is waited for all the same: the program runs that long.
            alarm(120)
            let program = "while kill -0 \(getpid()) 2> /dev/null; do sleep 0.1; done"
            do {
                // Asked when the program runs. From then on it belongs to another user, as if sudo had started it.
                _ = try ProgramRun.run(
                    ["sh", "-c", program], deadline: .after(.zero), isStopped: { setuid(65_534) != 0 })
            } catch let error as KeychainError {
                guard error.code == .timedOut, let process = error.details["process"].flatMap({ pid_t($0) }) else {
                    exit(2)
                }
                // It exists, and this process may not signal it.
                exit(kill(process, 0) == -1 && errno == EPERM ? 7 : 3)
            }
        }
    }
}
