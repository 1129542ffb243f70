import Foundation
import Glibc
import KeyfobPrimitives
import TestSupport
import Testing

@testable import Keyfob

/// The process that is named to those that wait for a lock.
@Suite struct LockHolderTests {
    @Test func `a process that has ended is not named, even if its number is in the file`() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("keyfob (pid \(getpid()))".utf8, to: "lock")
        #expect(LockHolder.name(in: file) == "keyfob (pid \(getpid()))")
        // Larger than any process number.
        try directory.write("keyfob (pid 1073741823)".utf8, to: "lock")
        #expect(LockHolder.name(in: file) == nil)
        try directory.write("".utf8, to: "lock")
        #expect(LockHolder.name(in: file) == nil)
    }
}
