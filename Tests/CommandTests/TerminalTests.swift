import Foundation
import Glibc
import Keyfob
import KeyfobPrimitives
import TestSupport
import Testing

@testable import KeyfobCLI

@Suite struct TerminalTests {
    @Test func `a secret is read without echo and the terminal is restored`() throws {
        let pair = try PseudoTerminal()
        let typist = pair.type(["hunter2\n"], after: "Value: ")
        let secret = try Terminal(mayAsk: true, device: pair.path).readSecret("Value: ", hint: "")
        let seen = typist.wait()
        #expect(secret == SecretBytes(utf8: "hunter2"))
        #expect(seen.contains("Value: ") && !seen.contains("hunter2"))
        #expect(pair.echoes)
    }

    @Test func `two entries that differ are asked for again`() throws {
        let pair = try PseudoTerminal()
        let typist = pair.type(["one\n", "two\n", "same\n", "same\n"], after: "PIN: ")
        let secret = try Terminal(mayAsk: true, device: pair.path).readNewSecret(
            "PIN: ", again: "Again PIN: ", hint: "")
        _ = typist.wait()
        #expect(secret == SecretBytes(utf8: "same"))
    }

    @Test(arguments: [("y\n", true), ("YES\n", true), ("\n", false), ("n\n", false), ("yess\n", false)])
    func `only yes is accepted as yes`(answer: String, expected: Bool) throws {
        let pair = try PseudoTerminal()
        let typist = pair.type([answer], after: "[y/N] ")
        #expect(try Terminal(mayAsk: true, device: pair.path).confirm("Delete it?") == expected)
        _ = typist.wait()
    }

    @Test func `end of file at a prompt cancels`() throws {
        let pair = try PseudoTerminal()
        let typist = pair.type(["\u{4}"], after: "PIN: ")
        let error = try #require(throws: KeychainError.self) {
            try Terminal(mayAsk: true, device: pair.path).readSecret("PIN: ", hint: "")
        }
        #expect(error.code == .cancelled)
        // The next message is on a line of its own.
        #expect(typist.wait().utf8.last == UInt8(ascii: "\n"))
        #expect(pair.echoes)
    }

    @Test(arguments: [
        ("-----BEGIN\nsecret\n", 2), ("one\ntwo", 2), ("a\u{1A}b\n", 2), ("\u{1B}[A\n", 2),
        (String(repeating: "x", count: 5000) + "\n", 12),
    ])
    func `a value that is not one whole line of text is refused`(typed: String, status: Int32) throws {
        let pair = try PseudoTerminal()
        let typist = pair.type([typed], after: "Value: ")
        let error = #expect(throws: (any Error).self) {
            try Terminal(mayAsk: true, device: pair.path).readValue("Value: ", hint: "")
        }
        #expect(!typist.wait().contains("secret"))
        #expect(try Failure(#require(error)).status.rawValue == status)
        #expect(pair.echoes)
        // A refused value is not read as another input.
        #expect(pair.waiting == 0)
    }

    @Test(arguments: ["v\tw\n", "v\tw\n\n", "v\tw\n \r\n"])
    func `a blank line after a value is not a second value`(typed: String) throws {
        let pair = try PseudoTerminal()
        let typist = pair.type([typed], after: "Value: ")
        let value = try Terminal(mayAsk: true, device: pair.path).readValue("Value: ", hint: "")
        #expect(value == SecretBytes(utf8: "v\tw"))
        _ = typist.wait()
    }

    @Test(arguments: [(false, "/dev/tty"), (true, "/nonexistent/tty")])
    func `no question is asked without a user to answer`(mayAsk: Bool, device: String) throws {
        let terminal = Terminal(mayAsk: mayAsk, device: device)
        #expect(!terminal.canAsk)
        let secret = try #require(throws: KeychainError.self) { try terminal.readSecret("PIN: ", hint: "h") }
        #expect(secret.code == .pinRequired)
        let question = try #require(throws: KeychainError.self) { try terminal.confirm("Delete it?") }
        #expect(question.code == .refused)
        #expect(question.message.contains("add --yes"))
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func `a signal at a prompt ends the command with its status and restores the echo`(number: Int32) async throws {
        let pair = try PseudoTerminal()
        let path = pair.path
        let directory = try TemporaryDirectory()
        let shown = directory.file("shown")
        Thread {
            guard pair.output(until: "PIN: ").contains("PIN: ") else { return }
            _ = FileManager.default.createFile(atPath: shown, contents: nil)
        }.start()
        await #expect(processExitsWith: .exitCode(128 + number)) {
            [path = path as String, shown = shown as String, number = number as Int32] in
            Interruption.install()
            let thread = Thread {
                TerminalTests.awaitFile(shown)
                kill(getpid(), number)
            }
            thread.start()
            _ = try Terminal(mayAsk: true, device: path).readSecret("PIN: ", hint: "")
        }
        #expect(pair.echoes)
    }

    /// Waits for a file, and ends the process if there is none after two minutes.
    private static func awaitFile(_ file: String) {
        for _ in 0..<12_000 {
            guard unsafe access(file, F_OK) != 0 else { return }
            usleep(10_000)
        }
        _exit(99)
    }

    /// Makes the file `shown` when the prompt is there.
    private func note(
        _ prompt: String, on pair: PseudoTerminal, in directory: TestSupport.TemporaryDirectory
    ) -> String {
        let shown = directory.file("shown")
        Thread {
            guard pair.output(until: prompt).contains(prompt) else { return }
            _ = FileManager.default.createFile(atPath: shown, contents: nil)
        }.start()
        return shown
    }

    @Test(arguments: [SIGQUIT, SIGALRM])
    func `a signal that ends every program restores the echo at a prompt`(number: Int32) async throws {
        let pair = try PseudoTerminal()
        let path = pair.path
        let directory = try TemporaryDirectory()
        let shown = note("PIN: ", on: pair, in: directory)
        await #expect(processExitsWith: .signal(number)) {
            [path = path as String, shown = shown as String, number = number as Int32] in
            Interruption.install()
            Thread {
                TerminalTests.awaitFile(shown)
                kill(getpid(), number)
            }.start()
            _ = try Terminal(mayAsk: true, device: path).readSecret("PIN: ", hint: "")
        }
        withExtendedLifetime(directory) { #expect(pair.echoes) }
    }

    @Test func `a prompt turns the echo off again if a shell has turned it on while the command was stopped`()
        async throws
    {
        let pair = try PseudoTerminal()
        let path = pair.path
        let directory = try TemporaryDirectory()
        let shown = note("PIN: ", on: pair, in: directory)
        await #expect(processExitsWith: .exitCode(7)) { [path = path as String, shown = shown as String] in
            Interruption.install()
            Thread {
                TerminalTests.awaitFile(shown)
                let terminal = unsafe open(path, O_RDWR | O_NOCTTY)
                var settings = termios()
                _ = unsafe tcgetattr(terminal, &settings)
                settings.c_lflag |= tcflag_t(ECHO)
                _ = unsafe tcsetattr(terminal, TCSANOW, &settings)
                // The signal that `fg` sends.
                kill(getpid(), SIGCONT)
                for _ in 0..<12_000 {
                    _ = unsafe tcgetattr(terminal, &settings)
                    if settings.c_lflag & tcflag_t(ECHO) == 0 { _exit(7) }
                    usleep(10_000)
                }
                _exit(1)
            }.start()
            _ = try Terminal(mayAsk: true, device: path).readSecret("PIN: ", hint: "")
        }
        withExtendedLifetime(directory) {}
    }

    @Test func `a command that has to ask in the background asks when it is brought to the foreground`() throws {
        let household = try TestHome.withPassphrase("opensesame")
        let terminal = try PseudoTerminal()
        let job = household.directory.file("job")
        let variables = ["PS1": "PS: ", "K": Tool.keyfob([]).path, "J": job]
        Thread {
            // Short: bash would break a longer line.
            _ = terminal.type(["\"$K\" unlock & echo $! > \"$J\"\r"], after: "PS: ").wait()
            // Until then the terminal has the settings that bash uses while a line is edited.
            for _ in 0..<12_000 where !Self.isStopped(job) { usleep(10_000) }
            _ = terminal.type(["fg\r"], after: "PS: ").wait()
            _ = terminal.type(["opensesame\r"], after: "\"login\": ").wait()
            _ = terminal.type(["exit\r"], after: "PS: ").wait()
        }.start()
        let script = "exec setsid --ctty --wait timeout --foreground -s KILL 200 \"$@\" < \"$0\" > \"$0\" 2>&1"
        _ = try Tool(
            "/bin/sh", ["-c", script, terminal.path, "bash", "--norc", "--noprofile", "-i"],
            environment: household.environment.merging(variables) { $1 }
        ).run()
        #expect(try household.document(["lock"])["changed"] as? Bool == true)
    }

    /// Whether the process whose number is in a file is stopped.
    private static func isStopped(_ file: String) -> Bool {
        guard let number = FileManager.default.contents(atPath: file).map({ String(decoding: $0, as: UTF8.self) }),
            let status = FileManager.default.contents(atPath: "/proc/\(number.trimmingBlanks)/stat")
        else { return false }
        return String(decoding: status, as: UTF8.self).split(separator: ")").last?.hasPrefix(" T") ?? false
    }
}
