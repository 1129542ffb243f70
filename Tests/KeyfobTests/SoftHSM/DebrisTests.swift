import Foundation
import TestSupport
import Testing

@testable import Keyfob

/// The files of killed processes in the directory of the default token.
@Suite struct DebrisTests {
    private static let hour: TimeInterval = 3600
    private static let notDebris: Set = ["full", "full's lock", "other", "generation", "whole"]

    /// Makes the files of a row and returns the token's directory.
    private func makeDebris(_ softHSM: SoftHSMProcess, age: TimeInterval) throws -> (URL, [String: URL]) {
        let token = try softHSM.makeToken("debris")
        try softHSM.makeKey("debris")
        func file(_ name: String, _ content: String = "") throws -> URL {
            let url = token.directory.appendingPathComponent(name)
            try Data(content.utf8).write(to: url)
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -age)], ofItemAtPath: url.path)
            return url
        }
        let (empty, orphan, full) = (UUID().uuidString, UUID().uuidString, UUID().uuidString)
        let (defaults, whole) = (UUID().uuidString, UUID().uuidString)
        // The counter, CKA_CLASS of a private key, CKA_LABEL: as it is first, and as it is when somebody gave one.
        let privateKey = "\0\0\0\0\0\0\0\u{1}" + "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\u{2}\0\0\0\0\0\0\0\u{3}"
            + "\0\0\0\0\0\0\0\u{3}\0\0\0\0\0\0\0\u{3}\0\0\0\0\0\0\0"
        let files = [
            "empty": try file("\(empty).object"), "its lock": try file("\(empty).lock"),
            "orphan": try file("\(orphan).lock"), "full": try file("\(full).object", "x"),
            "full's lock": try file("\(full).lock"), "other": try file("note.lock"),
            "generation": try file("generation"), "defaults": try file("\(defaults).object", privateKey + "\0"),
            "whole": try file("\(whole).object", privateKey + "\u{1}a"),
        ]
        return (token.directory, files)
    }

    private func left(_ files: [String: URL]) -> Set<String> {
        Set(files.filter { FileManager.default.fileExists(atPath: $0.value.path) }.keys)
    }

    @Test func `empty objects and orphaned locks of an hour ago go, and the key still signs`() throws {
        let softHSM = try SoftHSMProcess()
        let (_, files) = try makeDebris(softHSM, age: Self.hour + 60)
        #expect(try softHSM.directory.heal() == .init(restored: [], unusable: []))
        #expect(left(files) == Self.notDebris)
        for name in ["full", "whole"] { try FileManager.default.removeItem(at: try #require(files[name])) }
        #expect(try softHSM.keySigns("debris"))
    }

    @Test func `what is younger than an hour stays, and the next look is an hour away`() throws {
        let softHSM = try SoftHSMProcess()
        let (_, files) = try makeDebris(softHSM, age: Self.hour - 60)
        try softHSM.directory.heal()
        #expect(left(files) == Set(files.keys))
        for url in files.values {
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -2 * Self.hour)], ofItemAtPath: url.path)
        }
        try softHSM.directory.heal()
        #expect(left(files) == Set(files.keys))
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -Self.hour - 1)],
            ofItemAtPath: softHSM.directory.sweepMark.path)
        try softHSM.directory.heal()
        #expect(left(files) == Self.notDebris)
    }

    @Test func `a look that a clock has dated into the future is not waited for`() throws {
        let softHSM = try SoftHSMProcess()
        let (_, files) = try makeDebris(softHSM, age: -2 * Self.hour)
        try softHSM.directory.heal()
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: 1000 * Self.hour)],
            ofItemAtPath: softHSM.directory.sweepMark.path)
        #expect(left(files) == Set(files.keys))
        for url in files.values {
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -2 * Self.hour)], ofItemAtPath: url.path)
        }
        try softHSM.directory.heal()
        #expect(left(files) == Self.notDebris)
    }

    @Test(arguments: ["", "# Mine\ndirectories.tokendir = %\n", "# Written by Keyfob for others\ndirectories.tokendir = /tmp\n"])
    func `a directory that is not ours is left alone`(text: String) throws {
        let softHSM = try SoftHSMProcess()
        let (directory, files) = try makeDebris(softHSM, age: 2 * Self.hour)
        let tokens = directory.deletingLastPathComponent().path
        try text.replacingOccurrences(of: "%", with: tokens)
            .write(to: softHSM.directory.configuration, atomically: true, encoding: .utf8)
        try softHSM.directory.heal()
        #expect(left(files) == Set(files.keys))
        #expect(!FileManager.default.fileExists(atPath: softHSM.directory.sweepMark.path))
    }
}
