import Foundation
import Glibc
import KeyfobPrimitives
import TestSupport
import Testing

@testable import Keyfob

/// Who is named to those that wait for a lock.
@Suite struct LockHolderTests {
    @Test func `who has ended is not named, whatever he has written into the file`() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("keyfob (pid \(getpid()))".utf8, to: "lock")
        #expect(LockHolder.name(in: file) == "keyfob (pid \(getpid()))")
        // More than there are numbers for processes.
        try directory.write("keyfob (pid 1073741823)".utf8, to: "lock")
        #expect(LockHolder.name(in: file) == nil)
        try directory.write("".utf8, to: "lock")
        #expect(LockHolder.name(in: file) == nil)
    }
}
