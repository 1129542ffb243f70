import Foundation
import KeyfobPrimitives
import TestSupport
import Testing

@testable import Keyfob

/// Pipes that hold no more until somebody reads them.
@Suite struct FullPipeTests {
    private static let bytes = SecretBytes(Array(repeating: UInt8(ascii: "a"), count: 1 << 20))

    private static func write(to descriptor: Int32, by deadline: Deadline) throws {
        try #require(fcntl(descriptor, F_SETFL, O_WRONLY | O_NONBLOCK) == 0)
        try OpenFile(adopting: descriptor, path: "pipe").write(bytes, by: deadline)
    }

    @Test func `a pipe that nobody reads is written to until the deadline`() throws {
        let pipe = try SpawnedProcess.pipe()
        defer { close(pipe.reading) }
        let error = #expect(throws: KeychainError.self) {
            try Self.write(to: pipe.writing, by: .after(.milliseconds(100)))
        }
        #expect(error?.code == .timedOut)
    }

    @Test func `whoever reads a full pipe late is given all the same`() throws {
        let (reading, writing) = try SpawnedProcess.pipe()
        let count = Lock(0)
        let thread = POSIXThread.start("reader") {
            // By now it is full, as a rule.
            usleep(200_000)
            let read = (try? OpenFile(adopting: reading, path: "pipe").read(limit: 2 << 20).count) ?? 0
            count.withLock { $0 = read }
        }
        try Self.write(to: writing, by: .after(.seconds(120)))
        try #require(thread).join()
        #expect(count.withLock { $0 } == Self.bytes.count)
    }
}
