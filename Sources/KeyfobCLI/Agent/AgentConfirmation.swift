import CLinux
import Foundation
import Glibc
import Keyfob
import KeyfobPrimitives

/// Asks a person before each use of a key, as ssh-agent does: with a program (SSH_ASKPASS), else at the terminal.
struct AgentConfirmation: Sendable {
    private enum Way {
        case program(String)
        case terminal
    }

    /// How long a person may take to answer.
    private static let limit: Duration = .seconds(60)
    /// How long a question may take if another one is answered first.
    static let longestWait = limit * 2

    private let way: Way
    /// Whether no question is open: there is one at a time.
    private let turn = Lock(true)

    /// Finds a way to ask.
    ///
    /// - Parameter isDetached: Whether the process will leave its terminal.
    /// - Throws: `KeychainError.refused` if there is none.
    init(_ terminal: Terminal, isDetached: Bool) throws {
        if terminal.mayAsk, let program = Self.program() {
            way = .program(program)
        } else if !isDetached, terminal.canAsk {
            way = .terminal
        } else {
            let absence = isDetached
                ? "SSH_ASKPASS names no program, and an agent in the background has no terminal"
                : "SSH_ASKPASS names no program, and this process has no terminal"
            throw KeychainError(
                .refused, "--confirm has no way to ask: \(terminal.mayAsk ? absence : "questions are turned off").",
                hint: terminal.mayAsk
                    ? "Set SSH_ASKPASS to a program such as ssh-askpass; without a display, also set "
                        + "SSH_ASKPASS_REQUIRE=force."
                    : "Leave out --no-input, and check the variable KEYFOB_NO_INPUT.")
        }
    }

    /// The program that asks, by the variables that ssh(1) describes.
    private static func program() -> String? {
        let isRequired = Environment.value("SSH_ASKPASS_REQUIRE")?.lowercased()
        guard isRequired != "never" else { return nil }
        let hasDisplay = ["DISPLAY", "WAYLAND_DISPLAY"].contains { Environment.nonEmpty($0) != nil }
        guard hasDisplay || isRequired == "force" else { return nil }
        guard case .found(let file) = ProgramLookup.find(Environment.nonEmpty("SSH_ASKPASS") ?? "ssh-askpass") else {
            return nil
        }
        // An agent in the background changes its directory.
        return URL(fileURLWithPath: file).path
    }

    /// Whether the person allows one use of a key. No answer, and a question that cannot be asked, mean no.
    func allows(_ key: SSHAgentKey) async -> Bool {
        let isCancelled = Lock(false)
        return await withTaskCancellationHandler {
            do {
                return try await BlockingExecutor.patient.run {
                    ask(key) { isCancelled.withLock { $0 } }
                }
            } catch {
                return false
            }
        } onCancel: {
            isCancelled.withLock { $0 = true }
        }
    }

    private func ask(_ key: SSHAgentKey, isStopped: () -> Bool) -> Bool {
        let isOurs = turn.wait(until: .after(Self.limit)) { isFree -> Bool? in
            guard isFree else { return nil }
            isFree = false
            return true
        }
        guard isOurs == true, !isStopped() else {
            if isOurs == true { release() }
            return false
        }
        defer { release() }
        // The same text as ssh-agent's.
        let question = "Allow use of key \(key.comment)?\nKey fingerprint \(key.fingerprint)."
        let deadline = Deadline.after(Self.limit)
        switch way {
        case .program(let program): return Self.ask(question, with: program, deadline, isStopped)
        case .terminal: return Self.askAtTerminal(question, deadline, isStopped)
        }
    }

    private func release() {
        turn.withLock { $0 = true }
        turn.signal()
    }

    private static func ask(
        _ question: String, with program: String, _ deadline: Deadline, _ isStopped: () -> Bool
    ) -> Bool {
        do {
            let result = try ProgramRun.run(
                ["/bin/sh", "-c", "SSH_ASKPASS_PROMPT=confirm exec \"$@\"", "sh", program, question], limit: 4096,
                deadline: deadline, isStopped: isStopped)
            let answer = String(decoding: result.output, as: UTF8.self).prefix { !$0.isNewline }
            return result.status == 0 && (answer.isEmpty || answer.lowercased() == "yes")
        } catch {
            return false
        }
    }

    /// Asks at the terminal if this process is in its foreground, where reading does not stop it.
    private static func askAtTerminal(_ question: String, _ deadline: Deadline, _ isStopped: () -> Bool) -> Bool {
        guard let terminal = OpenFile(path: "/dev/tty", flags: O_RDWR | O_NOCTTY),
            tcgetpgrp(terminal.descriptor) == getpgrp()
        else { return false }
        var settings = termios()
        // Without line mode another program reads single keys, and would share them with the question.
        guard unsafe tcgetattr(terminal.descriptor, &settings) == 0, settings.c_lflag & tcflag_t(ICANON) != 0 else {
            return false
        }
        // Text that was typed before the question is not an answer to it.
        tcflush(terminal.descriptor, TCIFLUSH)
        do { try FileDescriptor.write("\(question) [y/N] ", to: terminal.descriptor) } catch { return false }
        while !deadline.hasPassed, !isStopped() {
            var entry = pollfd(fd: terminal.descriptor, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&entry, 1, 200) > 0 else { continue }
            var line = [UInt8](repeating: 0, count: 256)
            let count = unsafe read(terminal.descriptor, &line, line.count)
            let answer = String(decoding: line.prefix(max(0, count)), as: UTF8.self).trimmingBlanks.lowercased()
            return ["y", "yes"].contains(answer)
        }
        // Otherwise the next message would appear on the line of the question.
        do { try FileDescriptor.write("\n", to: terminal.descriptor) } catch {}
        return false
    }
}
