import Foundation
import KeyfobPrimitives
import TestSupport
import Testing

@testable import Keyfob

/// Files that claim the largest possible length; tmpfs has such files.
@Suite(.enabled(if: FileManager.default.isWritableFile(atPath: "/dev/shm"))) struct SparseFileTests {
    private static func withLargestFile(_ body: (String) throws -> Void) throws {
        let path = "/dev/shm/keyfob-test-" + UUID().uuidString
        let descriptor = unsafe open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        defer {
            close(descriptor)
            unsafe unlink(path)
        }
        try #require(ftruncate(descriptor, .max) == 0)
        try body(path)
    }

    @Test func `a file of any length can be read up to a limit`() throws {
        try Self.withLargestFile { path in
            guard let file = OpenFile(path: path, flags: O_RDONLY) else {
                throw KeychainError.file("read", path, errno)
            }
            #expect(try file.read(limit: 100).count == 100)
            #expect(try SoftHSMFile(path, limit: 100)?.bytes.count == 100)
            #expect(try SoftHSMFile(path, limit: 0)?.bytes.isEmpty == true)
        }
    }

    @Test func `a PIN in the largest file is refused as too long`() throws {
        try Self.withLargestFile { path in
            let error = #expect(throws: KeychainError.self) {
                try PINSource.file(path).read(PINPurpose.unlock(keychain: "site"), from: PINEnvironment())
            }
            #expect(error?.code == .invalidArgument)
        }
    }
}
