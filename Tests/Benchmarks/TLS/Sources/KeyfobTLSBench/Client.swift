import Foundation
import KeyfobPrimitives

/// A `Load` in a process of its own.
///
/// Not only to be told apart by perf(1): the memory allocator has eight parts for each core, and in a process with more
/// threads than parts, which the client's would make of a server on two cores, an event loop shares one with threads
/// that sign, and waits where one of them loses its core.
struct Client: Sendable {
    let port: Int

    /// Runs until a number of handshakes or a time is reached.
    func run(connections: Int, limit: Int = .max, seconds: Double) async throws -> Load.Result {
        try await BlockingExecutor.shared.run {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/proc/self/exe")
            process.arguments = ["load", "\(port)", "\(connections)", "\(limit)", "\(seconds)"]
            let output = Pipe()
            process.standardOutput = output
            try process.run()
            let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            guard let result = Load.Result(text) else { throw CocoaError(.fileReadCorruptFile) }
            return result
        }
    }
}

extension Load.Result {
    /// What `load` printed.
    init?(_ text: String) {
        let words = text.split(whereSeparator: \.isWhitespace)
        guard words.count == 3, let handshakes = Int(words[0]), let failures = Int(words[1]),
            let seconds = Double(words[2])
        else { return nil }
        self.init(handshakes: handshakes, failures: failures, seconds: seconds)
    }

    /// What `load` prints.
    var text: String { "\(handshakes) \(failures) \(seconds)\n" }
}
