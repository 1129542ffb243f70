import Foundation
import KeyfobPrimitives
import TestSupport
import Testing

@testable import Keyfob

/// Pipes that are full until a reader takes data.
@Suite struct FullPipeTests {
    private static let bytes = SecretBytes(Array(repeating: UInt8(ascii: "a"), count: 1 << 20))

    private static func write(to descriptor: Int32, by deadline: Deadline) throws {
        try #require(fcntl(descriptor, F_SETFL, O_WRONLY | O_NONBLOCK) == 0)
        try OpenFile(adopting: descriptor, path: "pipe").write(bytes, by: deadline)
    }

    @Test func `a write to a pipe without a reader waits until the deadline`() throws {
        let pipe = try SpawnedProcess.pipe()
        defer { close(pipe.reading) }
        let error = #expect(throws: KeychainError.self) {
            try Self.write(to: pipe.writing, by: .after(.milliseconds(100)))
        }
        #expect(error?.code == .timedOut)
    }

    @Test func `a late reader of a full pipe gets all the data`() throws {
        let (reading, writing) = try SpawnedProcess.pipe()
        let count = Lock(0)
        let thread = POSIXThread.start("reader") {
            // By now it is usually full.
            usleep(200_000)
            let read = (try? OpenFile(adopting: reading, path: "pipe").read(limit: 2 << 20).count) ?? 0
            count.withLock { $0 = read }
        }
        try Self.write(to: writing, by: .after(.seconds(120)))
        try #require(thread).join()
        #expect(count.withLock { $0 } == Self.bytes.count)
    }
}
