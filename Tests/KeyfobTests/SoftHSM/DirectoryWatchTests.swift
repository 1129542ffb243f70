import Foundation
import KeyfobTesting
import TestSupport
import Testing

@testable import Keyfob

/// The state of a token's files, which events of the kernel keep up to date.
@Suite struct DirectoryWatchTests {
    private func detector(_ test: TestKeychain) throws -> SoftHSMChangeDetector {
        SoftHSMChangeDetector(
            directory: SoftHSMDirectory(directories: test.directories), uri: test.keychain.token.uri)
    }

    @Test func `a watched state equals a full scan, whatever other processes did`() throws {
        let test = try TestKeychain()
        let watching = try detector(test)
        for _ in 0..<3 { _ = watching.snapshot() }
        func check(_ what: String) throws {
            // A new detector examines every file.
            #expect(try watching.snapshot() == detector(test).snapshot(), "\(what)")
        }
        var stamps: Set<Data?> = []
        for id in 1...4 {
            try test.tool(["--keypairgen", "--key-type", "EC:prime256v1", "--id", "0\(id)", "--label", "k\(id)"])
            try check("made")
            stamps.insert(watching.snapshot()?.stamp)
        }
        try test.tool(["--delete-object", "--type", "privkey", "--id", "02"])
        try check("removed")
        stamps.insert(watching.snapshot()?.stamp)
        #expect(stamps.count == 5)
        #expect(watching.snapshot()?.stamp == watching.snapshot()?.stamp)
    }

    @Test func `two watches of a directory report the same changes, and a removed directory is unknown`() throws {
        let directory = try TemporaryDirectory()
        let one = try #require(DirectoryWatch(directory.path))
        let two = try #require(DirectoryWatch(directory.path))
        try directory.write(Data([1]), to: "a")
        #expect(one.changes() == .names(["a"]) && one.changes() == .names([]))
        try FileManager.default.removeItem(at: directory.url("a"))
        #expect(one.changes() == .names(["a"]) && two.changes() == .names(["a"]))
        // The kernel does not report the removal while the directory is open.
        let holder = unsafe open(directory.path, O_RDONLY | O_DIRECTORY)
        defer { close(holder) }
        try FileManager.default.removeItem(atPath: directory.path)
        #expect(one.changes() == .unknown && two.changes() == .unknown)
        try FileManager.default.createDirectory(atPath: directory.path, withIntermediateDirectories: false)
        let three = try #require(DirectoryWatch(directory.path))
        try directory.write(Data([1]), to: "b")
        #expect(three.changes() == .names(["b"]) && one.changes() == .unknown)
    }

    @Test func `a directory whose path leads elsewhere is soon reported as touched`() throws {
        let directory = try TemporaryDirectory()
        let (above, other) = (directory.url("above"), directory.url("other"))
        let path = above.appendingPathComponent("watched").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let watch = try #require(DirectoryWatch(path))
        #expect(watch.isUntouched() && watch.isUntouched())
        // The kernel reports no event for this.
        try FileManager.default.moveItem(at: above, to: other)
        // Longer than any tick of the kernel's clock.
        usleep(50_000)
        #expect(!watch.isUntouched())
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        #expect(!watch.isUntouched())
        try FileManager.default.removeItem(at: above)
        try FileManager.default.moveItem(at: other, to: above)
        #expect(watch.isUntouched())
    }

    @Test func `a file system that other machines may change is not watched`() { #expect(DirectoryWatch("/proc/self") == nil) }
}
