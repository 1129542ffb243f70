import Foundation
import Glibc
import TestSupport
import Testing

@testable import Keyfob

@Suite struct OpenDirectoryTests {
    private func names(_ directory: borrowing OpenDirectory) throws(KeychainError) -> Set<String> {
        var names: Set<String> = []
        try unsafe directory.forEachName { names.insert(unsafe String(decoding: $0, as: UTF8.self)) }
        return names
    }

    @Test func `a directory is read to its end`() throws {
        let temporary = try TemporaryDirectory()
        let files = (0..<3000).map { "\($0).object" }
        for name in files { try temporary.write([], to: name) }
        guard let directory = OpenDirectory(path: temporary.path) else { throw KeychainError.file("read", "", errno) }
        let found = try names(directory)
        #expect(found == Set(files + [".", ".."]))
    }

    @Test func `an error in the middle of a directory is not its end`() throws {
        let temporary = try TemporaryDirectory()
        try temporary.write([], to: "file")
        guard let directory = OpenDirectory(path: temporary.path) else { throw KeychainError.file("read", "", errno) }
        // The system does not treat it as a directory any more.
        let file = unsafe open(temporary.file("file"), O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        let descriptor = directory.descriptor
        try #require(dup2(file, descriptor) == descriptor)
        let failure = code { _ = try names(directory) }
        #expect(failure == .fileUnavailable)
    }
}
