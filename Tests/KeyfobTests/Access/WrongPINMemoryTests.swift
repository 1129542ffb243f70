import Foundation
import KeyfobPrimitives
import TestSupport
import Testing

@testable import Keyfob

@Suite struct WrongPINMemoryTests {
    private let directory: TemporaryDirectory
    private let memory: WrongPINMemory
    // Computed at each use: a test may wait for a thread for minutes on a busy machine.
    private var patience: Deadline { .after(.seconds(120)) }

    init() throws {
        directory = try TemporaryDirectory()
        memory = WrongPINMemory(directories: Directories(root: URL(fileURLWithPath: directory.path)))
    }

    private func pin(_ text: String) -> SecretBytes { SecretBytes(utf8: text) }

    @Test func `a PIN that failed is recorded for its token only, until the token is forgotten`() throws {
        #expect(try !memory.contains(pin("1111"), serial: "a", label: "x"))
        try memory.remember(pin("1111"), serial: "a", label: "x", until: patience)
        try memory.remember(pin("1111"), serial: "a", label: "x", until: patience)
        let other = WrongPINMemory(directories: Directories(root: URL(fileURLWithPath: directory.path)))
        #expect(try other.contains(pin("1111"), serial: "a", label: "x"))
        #expect(try !other.contains(pin("2222"), serial: "a", label: "x"))
        #expect(try !other.contains(pin("1111"), serial: "b", label: "x"))
        #expect(try !other.contains(pin("1111"), serial: "a", label: "y"))
        try memory.remember(pin("1111"), serial: "b", label: "x", until: patience)
        try other.forget(serial: "a", label: "x", until: patience)
        #expect(try !memory.contains(pin("1111"), serial: "a", label: "x"))
        #expect(try memory.contains(pin("1111"), serial: "b", label: "x"))
    }

    @Test func `wrong PINs of a token are counted until a login, also by another process`() throws {
        #expect(try memory.failures(serial: "a", label: "x") == 0)
        for _ in 1...2 { try memory.countFailure(serial: "a", label: "x", until: patience) }
        let other = WrongPINMemory(directories: Directories(root: URL(fileURLWithPath: directory.path)))
        #expect(try other.failures(serial: "a", label: "x") == 2)
        #expect(try other.failures(serial: "a", label: "y") == 0)
        try other.resetFailures(serial: "a", label: "x", until: patience)
        #expect(try memory.failures(serial: "a", label: "x") == 0)
    }

    @Test func `the counts of other tokens are kept, and the oldest are dropped when there are too many`() throws {
        for number in 0...WrongPINMemory.capacity {
            try memory.countFailure(serial: "\(number)", label: "x", until: patience)
        }
        #expect(try memory.failures(serial: "0", label: "x") == 0)
        #expect(try memory.failures(serial: "1", label: "x") == 1)
        #expect(try memory.failures(serial: "\(WrongPINMemory.capacity)", label: "x") == 1)
    }

    @Test func `a wrong PIN is not recorded any more after the token gets another PIN`() throws {
        let (one, two) = (Data([1]), Data([2]))
        try memory.remember(pin("1111"), serial: "a", label: "x", edition: one, until: patience)
        #expect(try memory.contains(pin("1111"), serial: "a", label: "x", edition: one))
        #expect(try !memory.contains(pin("1111"), serial: "a", label: "x", edition: two))
        #expect(try memory.contains(pin("1111"), serial: "a", label: "x"))
    }

    @Test func `the file is private and bounded, and contains no PIN and no label`() throws {
        for number in 0..<12 {
            try memory.remember(pin("geheim-\(number)"), serial: "serial-1", label: "label-1", until: patience)
        }
        #expect(try !memory.contains(pin("geheim-0"), serial: "serial-1", label: "label-1"))
        #expect(try memory.contains(pin("geheim-11"), serial: "serial-1", label: "label-1"))
        let path = directory.file("state/wrong-pins.json")
        var status = stat()
        #expect(unsafe lstat(path, &status) == 0 && status.st_mode & 0o777 == 0o600 && status.st_size < 4096)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        for secret in ["geheim", "serial-1", "label-1", Data("geheim-11".utf8).base64EncodedString()] {
            #expect(!text.contains(secret))
        }
    }

    @Test func `records that many threads write at once are all there`() async throws {
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask { [memory] in
                    do {
                        let pin = SecretBytes(utf8: "pin-\(number)")
                        try memory.remember(pin, serial: "s\(number)", label: "l", until: .after(.seconds(120)))
                    } catch { Issue.record(error) }
                }
            }
        }
        for number in 0..<8 { #expect(try memory.contains(pin("pin-\(number)"), serial: "s\(number)", label: "l")) }
    }

    @Test func `another process that writes the file is waited for until the caller's deadline`() throws {
        try memory.remember(pin("1111"), serial: "a", label: "x", until: patience)
        let lock = directory.url("state/wrong-pins.json.lock")
        try FileLock.holding(lock, deadline: patience) { () throws(KeychainError) -> Void in
            #expect(
                code { try memory.remember(pin("2222"), serial: "a", label: "x", until: .after(.zero)) } == .timedOut)
            #expect(code { try memory.forget(serial: "a", label: "x", until: .after(.zero)) } == .timedOut)
        }
        #expect(try memory.contains(pin("1111"), serial: "a", label: "x"))
        #expect(try !memory.contains(pin("2222"), serial: "a", label: "x"))
    }

    @Test func `a damaged file counts as empty and is replaced`() throws {
        try memory.remember(pin("1111"), serial: "a", label: "x", until: patience)
        try PrivateFile.write(pin("{"), to: directory.url("state/wrong-pins.json"))
        #expect(try !memory.contains(pin("1111"), serial: "a", label: "x"))
        try memory.remember(pin("1111"), serial: "a", label: "x", until: patience)
        #expect(try memory.contains(pin("1111"), serial: "a", label: "x"))
    }
}
