import Foundation
import Glibc
import TestSupport

/// A server for one test: a Python program that prints its port first, and is killed at the end.
final class TestServer {
    let port: String
    private let process: SpawnedProcess

    init(_ program: String, _ argument: String) throws {
        let pipe = try SpawnedProcess.pipe()
        defer { close(pipe.reading) }
        do {
            defer { close(pipe.writing) }
            process = try SpawnedProcess(
                ["python3", "-c", program, argument], environment: ["PATH": "/usr/bin:/bin"],
                streams: (0, pipe.writing, 2))
        }
        var text = [UInt8](repeating: 0, count: 16)
        let count = unsafe read(pipe.reading, &text, text.count)
        port = String(decoding: text.prefix(max(0, count)), as: UTF8.self).trimmingCharacters(in: .newlines)
    }

    deinit { process.kill() }
}
