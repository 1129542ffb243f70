import Foundation
import Keyfob
import KeyfobPrimitives
import Testing

@testable import KeyfobCLI

@Suite struct SecretStreamTests {
    @Test(arguments: [([0x00, 0x01], false), (Array("-----BEGIN PRIVATE KEY-----".utf8), true)] as [([UInt8], Bool)])
    func `binary data and private keys stay off the terminal`(bytes: [UInt8], isPrivateKey: Bool) throws {
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

    @Test(arguments: [("a\n", "a"), ("a\r\n", "a"), ("a\n\n", "a\n"), ("a", "a"), ("\n", ""), ("", ""), ("a\r", "a\r")])
    func `one newline at the end is no part of a secret`(text: String, expected: String) {
        #expect(SecretBytes(utf8: text).withoutLastNewline == SecretBytes(utf8: expected))
    }

    @Test(arguments: [0, 1, 65_536, 200_001])
    func `all of a pipe is read, in order`(count: Int) throws {
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
    @Test func `the process leaves no core and no readable files`() async {
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
}
