import Foundation
import TestSupport
import Testing

/// A SoftHSM token file with changed bytes: SoftHSM then reports the correct PIN as wrong.
@Suite struct DamagedTokenFileTests {
    /// A home with a locked keychain that has a password `a`.
    private static func household() throws -> (TestHome, file: String) {
        let household = try TestHome.unattended()
        try household.set("a", "value")
        try #require(try household.keyfob(["lock"]).status == 0)
        let tokens = household.data + "/tokens"
        let names = try FileManager.default.contentsOfDirectory(atPath: tokens)
        return (household, "\(tokens)/\(try #require(names.first))/token.object")
    }

    private static func damage(_ file: String, at range: Range<Int>) throws {
        var bytes = try #require(FileManager.default.contents(atPath: file))
        for offset in range { bytes[offset] ^= 0xFF }
        // In place, like damage on a disk.
        let handle = try #require(FileHandle(forWritingAtPath: file))
        handle.write(bytes)
        try handle.close()
    }

    private static func copies(_ household: TestHome) -> String { household.data + "/token-copies" }

    private static func memory(_ household: TestHome) -> String {
        household.directory.file("home/.local/state/keyfob/wrong-pins.json")
    }

    /// Offsets within the counter, the label, the serial number, the flags, and the data that the PINs decrypt.
    @Test(arguments: [0, 33, 65, 88, 127, 128, 176, 223, 246, 260, 300, 319])
    func `a token file with one changed byte is replaced by its copy`(offset: Int) throws {
        let (household, file) = try Self.household()
        try Self.damage(file, at: offset..<offset + 1)
        let got = try household.keyfob(["get", "a"])
        #expect(got.output == "value\n", "\(got.error)")
        #expect(!FileManager.default.fileExists(atPath: Self.memory(household)))
        let checked = try household.keyfob(["keychain", "check", "--secrets"])
        #expect(checked.status == 0, "\(checked.output)\(checked.error)")
    }

    @Test(arguments: [1, 72])
    func `without a copy, the right PIN works again once a backup is restored`(count: Int) throws {
        let (household, file) = try Self.household()
        let backup = try #require(FileManager.default.contents(atPath: file))
        try FileManager.default.removeItem(atPath: Self.copies(household))
        try Self.damage(file, at: (320 - count)..<320)
        for code in ["pin.incorrect", "pin.known_wrong"] {
            #expect(try household.failure(["get", "a"]).code == code)
        }
        try backup.write(to: URL(fileURLWithPath: file))
        let got = try household.keyfob(["get", "a"])
        #expect(got.output == "value\n", "\(got.error)")
    }

    @Test func `a damaged copy does not replace the file`() throws {
        let (household, file) = try Self.household()
        let copies = Self.copies(household)
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: copies).first)
        try Self.damage("\(copies)/\(name)/token.object", at: 300..<301)
        let before = FileManager.default.contents(atPath: file)?.dropFirst(8)
        let got = try household.keyfob(["get", "a"])
        #expect(got.output == "value\n", "\(got.error)")
        #expect(FileManager.default.contents(atPath: file)?.dropFirst(8).suffix(72) == before?.suffix(72))
        // The login has made a new copy, which is used now.
        try Self.damage(file, at: 300..<301)
        #expect(try household.keyfob(["lock"]).status == 0)
        #expect(try household.keyfob(["get", "a"]).output == "value\n")
    }

    @Test func `a PIN that another program has set stays set`() throws {
        let (household, file) = try Self.household()
        let old = try #require(FileManager.default.contents(atPath: household.keychain() + "/pin"))
        let changed = try Tool(
            "/usr/bin/env",
            [
                "pkcs11-tool", "--module", TestToken.modulePath, "--login", "--pin",
                String(decoding: old, as: UTF8.self), "--change-pin", "--new-pin", "123456",
            ], environment: ["SOFTHSM2_CONF": household.data + "/softhsm2.conf"]
        ).run()
        try #require(changed.status == 0, "\(changed.error)")
        let before = FileManager.default.contents(atPath: file)?.suffix(72)
        #expect(try household.failure(["get", "a"]).code == "pin.incorrect")
        #expect(FileManager.default.contents(atPath: file)?.suffix(72) == before)
        let pin = try household.directory.write(Array("123456".utf8), to: "pin")
        #expect(try household.keyfob(["get", "a", "--pin-source", "file:\(pin)"]).output == "value\n")
    }
}
