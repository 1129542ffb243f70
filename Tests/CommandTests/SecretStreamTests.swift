import Foundation
import Keyfob
import KeyfobPrimitives
import Testing

@testable import KeyfobCLI

@Suite struct SecretStreamTests {
    @Test(arguments: [([0x00, 0x01], false), (Array("-----BEGIN PRIVATE KEY-----".utf8), true)] as [([UInt8], Bool)])
    func `binary data and private keys are not written to the terminal`(bytes: [UInt8], isPrivateKey: Bool) throws {
        let error = try #require(throws: KeychainError.self) {
            try SensitiveOutput.write(SecretBytes(bytes), isPrivateKey: isPrivateKey, force: false, toTerminal: true)
        }
        #expect(error.code == .refused)
        #expect(error.hint?.contains("--force") == true)
    }

    @Test(arguments: [
        ("correct horse", true), ("two\nlines\t\n", true), ("\u{1B}[2J", false), ("a\u{0}", false), ("ключ", true),
    ])
    func `text is what a terminal may show`(text: String, expected: Bool) {
        #expect(SensitiveOutput.isReadable(SecretBytes(utf8: text)) == expected)
    }

    @Test(arguments: [("a\n", "a"), ("a\r\n", "a\r"), ("a\n\n", "a\n"), ("a", "a"), ("\n", ""), ("", ""), ("a\r", "a\r")])
    func `one newline at the end is not part of a secret`(text: String, expected: String) {
        #expect(SecretBytes(utf8: text).withoutLastNewline == SecretBytes(utf8: expected))
    }

    @Test(arguments: [0, 1, 65_536, 200_001])
    func `a pipe is read completely, in order`(count: Int) throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let secret = try reading(Data(bytes)) { try StandardInput.readSecret(from: $0) }
        #expect(secret == SecretBytes(bytes))
    }

    @Test func `more than the limit is refused, exactly the limit is not`() throws {
        let secret = try reading(Data(count: 1000)) { try StandardInput.readSecret(limit: 1000, from: $0) }
        #expect(secret.count == 1000)
        let error = try #require(throws: KeychainError.self) {
            try reading(Data(count: 1001)) { try StandardInput.readSecret(limit: 1000, from: $0) }
        }
        #expect(error.code == .dataTooLarge)
    }

    private func reading<Result>(_ data: Data, _ body: (Int32) throws -> Result) throws -> Result {
        let pipe = Pipe()
        let thread = Thread {
            do {
                try pipe.fileHandleForWriting.write(contentsOf: data)
                try pipe.fileHandleForWriting.close()
            } catch {
                Issue.record(error)
            }
        }
        thread.start()
        return try body(pipe.fileHandleForReading.fileDescriptor)
    }
}

@Suite struct HardeningTests {
    @Test func `the process leaves no core dump and no readable files`() async {
        await #expect(processExitsWith: .success) {
            Hardening.apply()
            var limit = rlimit()
            let isRead = unsafe getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit) == 0
            guard isRead, limit.rlim_cur == 0, limit.rlim_max == 0, umask(0) == 0o077 else { exit(1) }
        }
    }

    @Test func `a first signal only asks a resumable command to stop, a second ends it`() async {
        await #expect(processExitsWith: .exitCode(130)) {
            Interruption.install()
            Interruption.deferring {
                // To the process: threads of the cooperative pool block signals, and `raise` sends to the thread.
                kill(getpid(), SIGINT)
                for _ in 0..<6000 where !Interruption.isRequested { usleep(10_000) }
                guard Interruption.isRequested else { exit(1) }
                kill(getpid(), SIGINT)
                sleep(60)
                exit(2)
            }
        }
    }

    @Test func `signals after one that was passed to a program allow a cleanup, up to the third`() async {
        await #expect(processExitsWith: .exitCode(7)) {
            Interruption.install()
            do {
                try Interruption.finishing { try Self.endProgram(thenSignal: 2) }
            } catch is CancellationError { exit(7) }
        }
        await #expect(processExitsWith: .exitCode(130)) {
            Interruption.install()
            try Interruption.finishing { try Self.endProgram(thenSignal: 3) }
        }
    }

    /// Ends a program by a signal to this process, and then sends more signals, each after the previous one was
    /// recorded.
    private static func endProgram(thenSignal times: Int) throws {
        var program = try ChildProcess(["sleep", "300"], input: STDIN_FILENO, output: STDOUT_FILENO, inOwnGroup: true)
        kill(getpid(), SIGHUP)
        guard program.exitStatus(by: .after(.seconds(60))) != nil, Interruption.unheard == 0 else { exit(1) }
        for count in 1...times {
            kill(getpid(), SIGINT)
            for _ in 0..<6000 where Interruption.unheard < count { usleep(10_000) }
            guard Interruption.unheard == count else { exit(2) }
        }
    }

    @Test func `each question is answered by a line or by a signal, and leaks no descriptor`() async {
        await #expect(processExitsWith: .exitCode(7)) {
            Interruption.install()
            // Pipes stand in for a terminal.
            let (line, silence) = (Pipe(), Pipe())
            try line.fileHandleForWriting.write(contentsOf: Data("y\n".utf8))
            func descriptors() throws -> Int {
                try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
            }
            try Interruption.finishing { try Interruption.waitForAnswer(at: line.fileHandleForReading.fileDescriptor) }
            let count = try descriptors()
            for number in Array(repeating: [SIGINT, SIGTERM], count: 10).joined() {
                do {
                    try Interruption.finishing {
                        try Interruption.waitForAnswer(at: line.fileHandleForReading.fileDescriptor)
                        kill(getpid(), number)
                        try Interruption.waitForAnswer(at: silence.fileHandleForReading.fileDescriptor)
                    }
                    exit(1)
                } catch is CancellationError {}
            }
            // Other threads of this process have one open for a moment from time to time.
            exit(try descriptors() < count + 10 ? 7 : 2)
        }
    }
}
