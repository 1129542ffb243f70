import Foundation
import Glibc
import KeyfobTesting
import TestSupport
import Testing

@testable import Keyfob

/// `TestChild` working on a keychain of this process.
///
/// A child without output for four minutes is killed, and the test records an issue, so that a test fails instead of
/// hanging.
final class Child {
    private static let patience = 240.0
    private let process: SpawnedProcess
    private let output: FileHandle
    private let input: FileHandle
    private let arguments: [String]
    private var buffered = Data()

    /// - Parameter tracer: A command that runs the child, such as strace(1) with its options.
    convenience init(
        _ test: TestKeychain, _ arguments: [String], environment: [String: String] = [:], under tracer: [String] = []
    ) throws {
        let directories = test.directories
        try self.init(
            root: directories.configuration.deletingLastPathComponent().path, tokens: directories.tokens.path,
            keychain: test.keychain.name, arguments, environment: environment, under: tracer)
    }

    /// - Parameters:
    ///   - root: The directory of the keychains.
    ///   - tokens: The directory of SoftHSM's tokens.
    init(
        root: String, tokens: String, keychain: String, _ arguments: [String], environment: [String: String] = [:],
        under tracer: [String] = []
    ) throws {
        let products = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        let command =
            tracer + [products.appendingPathComponent("TestChild").path, root, tokens, keychain] + arguments
        let (own, others) = (try SpawnedProcess.pipe(), try SpawnedProcess.pipe())
        defer {
            close(own.reading)
            close(others.writing)
        }
        process = try SpawnedProcess(
            command, environment: ProcessInfo.processInfo.environment.merging(environment) { $1 },
            streams: (own.reading, others.writing, STDERR_FILENO))
        input = FileHandle(fileDescriptor: own.writing, closeOnDealloc: true)
        output = FileHandle(fileDescriptor: others.reading, closeOnDealloc: true)
        self.arguments = arguments
    }

    /// The next line, or `nil` at the end of the child's output.
    func line() -> String? {
        while true {
            if let end = buffered.firstIndex(of: 10) {
                let line = String(decoding: buffered[..<end], as: UTF8.self)
                buffered = Data(buffered[(end + 1)...])
                return line
            }
            var descriptor = pollfd(fd: output.fileDescriptor, events: Int16(POLLIN), revents: 0)
            if unsafe poll(&descriptor, 1, Int32(Self.patience * 1000)) == 0 {
                Issue.record("the child \(arguments) said nothing for \(Self.patience) s")
                process.kill()
            }
            let more = output.availableData
            guard !more.isEmpty else { return nil }
            buffered += more
        }
    }

    func send(_ line: String) { input.write(Data((line + "\n").utf8)) }

    func endInput() throws { try input.close() }

    /// Kills the child and returns the rest of its output.
    func kill9() -> [String] {
        process.kill()
        var lines: [String] = []
        while let line = line() { lines.append(line) }
        return lines
    }

    /// Kills the child at a random instant and returns the rest of its output.
    ///
    /// - Parameters:
    ///   - window: The latest instant, in microseconds from now or from the first completed change.
    ///   - afterAChange: Whether the child completes a change first, which it reports by a line that begins with `<`.
    ///     A machine that became slower since the window was measured may otherwise complete none in a whole test.
    func killAtRandom(within window: UInt32, afterAChange: Bool = false) -> [String] {
        var lines: [String] = []
        while afterAChange, lines.last?.hasPrefix("<") != true, let line = line() { lines.append(line) }
        usleep(.random(in: 0...window))
        return lines + kill9()
    }

    func waitForEnd() -> (status: Int32, lines: [String]) {
        var lines: [String] = []
        while let line = line() { lines.append(line) }
        return (process.wait(timeout: Self.patience) ?? -1, lines)
    }
}
