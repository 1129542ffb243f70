import Foundation
import KeyfobTesting

@testable import Keyfob

/// `TestChild` at work on a keychain of this process.
final class Child {
    private let process = Process()
    private let output = Pipe()
    private let input = Pipe()
    private var buffered = Data()

    init(_ test: TestKeychain, _ arguments: [String], environment: [String: String] = [:]) throws {
        let products = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        process.executableURL = products.appendingPathComponent("TestChild")
        let root = test.throwaway.directories.configuration.deletingLastPathComponent()
        process.arguments = [root.path, test.throwaway.directories.tokens.path, test.keychain.name] + arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardOutput = output
        process.standardInput = input
        try process.run()
    }

    deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

    /// The next line, or `nil` at the end of what the child says.
    func line() -> String? {
        while true {
            if let end = buffered.firstIndex(of: 10) {
                let line = String(decoding: buffered[..<end], as: UTF8.self)
                buffered = Data(buffered[(end + 1)...])
                return line
            }
            let more = output.fileHandleForReading.availableData
            guard !more.isEmpty else { return nil }
            buffered += more
        }
    }

    func send(_ line: String) { input.fileHandleForWriting.write(Data((line + "\n").utf8)) }

    func endInput() throws { try input.fileHandleForWriting.close() }

    /// Kills the child and returns what it still had said.
    func kill9() -> [String] {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        var lines: [String] = []
        while let line = line() { lines.append(line) }
        return lines
    }

    func waitForEnd() -> (status: Int32, lines: [String]) {
        var lines: [String] = []
        while let line = line() { lines.append(line) }
        process.waitUntilExit()
        return (process.terminationStatus, lines)
    }
}
