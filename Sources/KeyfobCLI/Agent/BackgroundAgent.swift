import CLinux
import Glibc
import Keyfob
import KeyfobPrimitives

/// An agent in the background: another process of this program.
///
/// A process with threads and a loaded module cannot be forked, so the agent is started anew. It asks for the PIN while
/// it still has the terminal, prints its variables, and then leaves the terminal and the session.
enum BackgroundAgent {
    /// Starts the agent and prints what it prints.
    ///
    /// Blocks until the agent serves, which may take as long as its questions.
    ///
    /// - Parameter pinSource: The value of `--pin-source`.
    /// - Throws: `ExitCode` if the agent has failed and said why; `KeychainError` if it cannot be started.
    static func start(pinSource: String?) throws {
        var (reading, writing): (Int32, Int32) = (-1, -1)
        guard unsafe keyfob_pipe(&reading, &writing) == 0 else {
            throw KeychainError(.failed, "cannot start the agent: too many files are open (errno \(errno)).")
        }
        let result = OpenFile(adopting: reading, path: "the agent")
        var words = CommandLine.arguments
        // Behind it, the option would belong to a program.
        if words.last == "--" { words.removeLast() }
        let agent = UserProgram(file: "/proc/self/exe", arguments: words + ["--detached"])
        let earlier = RunningChildren.signals
        let started = agent.start(
            environment: EnvironmentVariable.ofCaller(), output: writing,
            keeping: descriptor(of: pinSource ?? EnvironmentVariable.value("KEYFOB_PIN_SOURCE")))
        close(writing)
        let identifier: Int32
        switch started {
        case .success(let number): identifier = number
        case .failure(let number): throw KeychainError.file("start", "the agent", number.value)
        }
        // A signal to this process ends the agent until the caller has its variables: no program could find it.
        let target = RunningChildren.target(identifier, isGroup: false)
        RunningChildren.add(target, since: earlier)
        defer { RunningChildren.remove(target) }
        let text: SecretBytes
        do {
            text = try result.read(limit: 1 << 20)
            try StandardOutput.write(text)
        } catch {
            kill(identifier, SIGTERM)
            throw error
        }
        guard !text.isEmpty else {
            RunningChildren.remove(target)
            var status: Int32 = 0
            while unsafe waitpid(identifier, &status, 0) < 0, errno == EINTR {}
            throw (status & 0x7F == 0 ? ExitStatus(rawValue: status >> 8) : .signalled(status & 0x7F)).code
        }
    }

    /// The descriptor of a PIN source, which is otherwise withheld from programs.
    private static func descriptor(of pinSource: String?) -> Int32? {
        guard let pinSource, pinSource.hasPrefix("fd:"), let number = Int32(pinSource.dropFirst(3)), number > 2,
            InheritedDescriptors.contains(number)
        else { return nil }
        return number
    }

    /// Leaves the caller's session and closes its descriptors, so that no caller waits for their end.
    static func leaveCaller() {
        setsid()
        _ = unsafe chdir("/")
        let nowhere = unsafe keyfob_open("/dev/null", O_RDWR | O_CLOEXEC, 0)
        if nowhere >= 0 {
            for stream in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, StandardError.descriptor] {
                dup2(nowhere, stream)
            }
            close(nowhere)
        }
        InheritedDescriptors.closeAll()
    }
}
