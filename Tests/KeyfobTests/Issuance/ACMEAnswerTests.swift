import Foundation
import Keyfob
import TestSupport
import Testing

@testable import KeyfobACME

/// Answers to challenges in a web server's directory, which other users may write, and in the DNS.
@Suite struct ACMEAnswerTests {
    private func challenge() throws -> ACMEChallenge {
        try ACMEChallenge(name: "web.example", token: "token-of-a-challenge_1", keyAuthorization: "the.answer")
    }

    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test func `a symbolic link in place of the answer is replaced, and its target stays unchanged`() throws {
        let root = try TemporaryDirectory()
        let challenge = try challenge()
        let file = root.file(String(challenge.path.dropFirst()))
        let folder = root.file(".well-known/acme-challenge")
        let secret = try root.write("secret".utf8, to: "secret")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: secret)
        let answer = try ACMEFile(challenge, root: root.path)
        #expect(try mode(secret) == 0o600 && root.read("secret") == Array("secret".utf8))
        #expect(try mode(file) == 0o644 && Data(contentsOf: URL(fileURLWithPath: file)) == Data("the.answer".utf8))
        // No temporary file is left.
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [challenge.token])
        answer.withdraw()
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
    }

    @Test func `a directory in place of the answer is not emptied`() throws {
        let root = try TemporaryDirectory()
        let challenge = try challenge()
        let path = String(challenge.path.dropFirst())
        let answer = try ACMEFile(challenge, root: root.path)
        try FileManager.default.removeItem(at: root.url(path))
        try FileManager.default.createDirectory(at: root.url(path), withIntermediateDirectories: false)
        try root.write("a".utf8, to: path + "/kept")
        answer.withdraw()
        #expect(try root.read(path + "/kept") == Array("a".utf8))
    }

    @Test(arguments: [("exit 3", "3"), ("kill -9 $$", "137")])
    func `a command that failed to add a record is run again to remove it`(end: String, status: String) throws {
        let directory = try TemporaryDirectory()
        let hook = try directory.writeProgram(
            "echo \"$1 $2\" >> '\(directory.file("calls"))'; [ $1 = remove ] || { \(end); }", to: "hook")
        let challenge = try challenge()
        let error = #expect(throws: KeychainError.self) { try ACMERecord(challenge, by: [hook]) }
        #expect(error?.code == .issuerFailed && error?.details["status"] == status)
        let calls = String(decoding: try directory.read("calls"), as: UTF8.self)
        #expect(calls == "add _acme-challenge.web.example\nremove _acme-challenge.web.example\n")
    }
}
