import Foundation
import Keyfob
import KeyfobTesting
import TestSupport
import Testing

@testable import KeychainServices

/// The keychain and access groups of a call.
@Suite struct SelectionTests {
    @Test func `A block has its own keychain and groups, and an inner block changes only what it names`() throws {
        let first = try TestKeychain.make()
        let second = try TestKeychain.make()
        try SecKeychainUse(first.keychain, accessGroups: ["a", "b"]) {
            try #expect(currentKeychain() === first.keychain)
            try #expect(currentAccessGroups().names == ["a", "b", "com.apple.token"])
            try SecKeychainUse(second.keychain) {
                try #expect(currentKeychain() === second.keychain)
                try #expect(currentAccessGroups().defaultGroup == "a")
            }
            try SecKeychainUse(nil, accessGroups: ["c"]) {
                try #expect(currentKeychain() === first.keychain)
                try #expect(currentAccessGroups().defaultGroup == "c")
            }
            try #expect(currentAccessGroups().defaultGroup == "a")
        }
    }

    @Test func `Tasks inherit the keychain of the block that starts them`() async throws {
        let throwaway = try TestKeychain.make()
        try await SecKeychainUse(throwaway.keychain, accessGroups: ["a"]) {
            try await withThrowingTaskGroup { group in
                for _ in 0..<4 { group.addTask { try currentKeychain() === throwaway.keychain } }
                for try await isSame in group { #expect(isSame) }
            }
        }
    }

    @Test(arguments: [
        (["a"], "a" as String?), ([], nil), ([""], ""), (["com.apple.token", "a"], "a"), (["com.apple.token"], nil),
        (["*"], ""), (["*", "a"], "a"), (["a", "*"], "a"),
    ]) func `The first group that can be written is the default`(names: [String], group: String?) {
        #expect(AccessGroups(names).defaultGroup == group)
    }

    @Test func `The group of tokens is last, once, and never written`() {
        let groups = AccessGroups(["com.apple.token", "a", "b", "a"])
        #expect(groups.names == ["a", "b", "com.apple.token"])
        #expect(groups.allowsReading("com.apple.token"))
        #expect(!groups.allowsWriting("com.apple.token"))
        #expect(!AccessGroups(["*"]).allowsWriting("com.apple.token"))
    }

    @Test func `A list allows its members, and a star allows everything`() {
        #expect(AccessGroups(["a"]).allowsWriting("a"))
        #expect(!AccessGroups(["a"]).allowsReading("b"))
        #expect(!AccessGroups(["a"]).allowsReading(""))
        #expect(AccessGroups(["*"]).allowsWriting("b"))
        #expect(AccessGroups(["*"]).searched == nil)
        #expect(AccessGroups(["a"]).searched == ["a", "com.apple.token"])
        #expect(AccessGroups([]).isEmpty)
        #expect(!AccessGroups(["a"]).isEmpty)
    }

    @Test(arguments: [
        ("a,b", ["a", "b"]), (" a , b c ,", ["a", "b c"]), (",,", []), ("*", ["*"]), ("a,a", ["a"]),
    ]) func `A text of groups has commas between them`(text: String, names: [String]) {
        #expect(AccessGroups(parsing: text).names == names + ["com.apple.token"])
    }

    @Test func `The configuration of a keychain has its groups`() throws {
        let throwaway = try TestKeychain.make()
        let file = throwaway.directories.data
            .appending(path: "keychains/\(throwaway.keychain.name)/keychain.json")
        let text = try String(contentsOf: file, encoding: .utf8)
        try text.replacingOccurrences(of: "\"name\"", with: "\"accessGroups\": [\"team.app\", \"\"], \"name\"")
            .write(to: file, atomically: true, encoding: .utf8)
        // Rewriting the file gives it the mode of the umask; others must not be able to read it.
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        let again = try Keychain.open(throwaway.keychain.name, in: throwaway.directories)
        try SecKeychainUse(again) {
            try #expect(currentAccessGroups().names == ["team.app", "", "com.apple.token"])
        }
        try SecKeychainUse(throwaway.keychain) {
            try #expect(currentAccessGroups() == .fallback)
        }
    }
}
