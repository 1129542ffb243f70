import Foundation
import KeyfobPrimitives
import TestSupport
import Testing

@testable import Keyfob

@Suite struct PrivateFileTests {
    private func code(_ body: () throws -> Void) -> KeychainError.Code? {
        #expect(throws: KeychainError.self, performing: body)?.code
    }

    private func mode(_ path: String) -> mode_t {
        var status = stat()
        return unsafe lstat(path, &status) == 0 ? status.st_mode & 0o777 : 0
    }

    @Test func `a file is written with mode 0600, replaced completely, and leaves nothing beside it`() throws {
        let directory = try TemporaryDirectory()
        let url = directory.url("secret")
        for text in ["first", "second, longer", ""] {
            try PrivateFile.write(SecretBytes(utf8: text), to: url)
            #expect(try PrivateFile.read(url, limit: 100)?.copyString() == text)
            #expect(mode(url.path) == 0o600)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["secret"])
        #expect(try PrivateFile.remove(url))
        #expect(try !PrivateFile.remove(url))
        #expect(try PrivateFile.read(url, limit: 100) == nil)
    }

    @Test(arguments: [
        (EROFS, "refused", "findmnt -T '/a b'"), (EACCES, "refused", "ls -ld '/a b' '/a b/c'"),
        (EIO, "file.unavailable", "dmesg"), (EMFILE, "file.unavailable", "ulimit -n"), (ENOSPC, "disk.full", "df -h"),
        (EDQUOT, "disk.full", "df -h"), (ENOENT, "file.unavailable", "mkdir -p '/a b'"),
    ] as [(Int32, String, String)])
    func `an error of the system is reported with a remedy`(number: Int32, code: String, hint: String) {
        let error = KeychainError.file("write", "/a b/c", number)
        #expect(error.code.rawValue == code && error.message.contains("/a b/c"))
        #expect(error.hint?.contains(hint) == true, "\(error)")
    }

    @Test func `a file that is too long, readable by others or a link is refused`() throws {
        let directory = try TemporaryDirectory()
        let url = directory.url("secret")
        try PrivateFile.write(SecretBytes(utf8: "12345"), to: url)
        #expect(code { _ = try PrivateFile.read(url, limit: 4) } == .fileDamaged)
        unsafe symlink(url.path, directory.file("link"))
        #expect(code { _ = try PrivateFile.read(directory.url("link"), limit: 9) } == .unsafeFile)
        unsafe chmod(url.path, 0o640)
        #expect(code { _ = try PrivateFile.read(url, limit: 9) } == .unsafeFile)
        // No process writes to it: the call must return all the same.
        unsafe mkfifo(directory.file("fifo"), 0o600)
        #expect(code { _ = try PrivateFile.read(directory.url("fifo"), limit: 9) } == .unsafeFile)
    }

    @Test func `a file behind links is judged by the directory that contains it`() throws {
        let directory = try TemporaryDirectory()
        for name in ["safe", "open"] {
            try PrivateFile.createDirectory(directory.url(name))
            try PrivateFile.write(SecretBytes(utf8: "1"), to: directory.url(name + "/file"))
        }
        unsafe symlink(directory.file("safe/file"), directory.file("open/link"))
        unsafe symlink(directory.file("open/file"), directory.file("safe/link"))
        unsafe symlink(directory.file("open"), directory.file("directory"))
        unsafe chmod(directory.file("open"), 0o777)
        try PrivateFile.requireUnwritableByOthers(directory.file("safe/file"))
        try PrivateFile.requireUnwritableByOthers(directory.file("open/link"))
        try PrivateFile.requireUnwritableByOthers(directory.file("open/missing"))
        for path in ["open/file", "safe/link", "directory/file", "directory/../open/file"] {
            #expect(code { try PrivateFile.requireUnwritableByOthers(directory.file(path)) } == .unsafeFile, "\(path)")
        }
        // Only its owner can replace it there.
        unsafe chmod(directory.file("open"), 0o1777)
        try PrivateFile.requireUnwritableByOthers(directory.file("open/file"))
    }

    @Test func `a directory that others can write, or that belongs to another user, is refused`() throws {
        let directory = try TemporaryDirectory()
        let url = directory.url("own")
        try PrivateFile.requireOwnDirectory(url)
        try PrivateFile.createDirectory(url)
        unsafe symlink(url.path, directory.file("link"))
        for mode: mode_t in [0o700, 0o755, 0o500] {
            unsafe chmod(url.path, mode)
            try PrivateFile.requireOwnDirectory(url)
        }
        for mode: mode_t in [0o720, 0o702, 0o777, 0o1777] {
            unsafe chmod(url.path, mode)
            #expect(code { try PrivateFile.requireOwnDirectory(url) } == .unsafeFile)
            #expect(code { try PrivateFile.requireOwnDirectory(directory.url("link")) } == .unsafeFile)
        }
    }

    @Test func `the error states what is wrong with a file`() throws {
        let directory = try TemporaryDirectory()
        let url = directory.url("secret")
        try PrivateFile.write(SecretBytes(utf8: "1"), to: url)
        for (mode, text) in [
            (0o644, "can be read"), (0o620, "can be written"), (0o666, "can be read and written"),
        ] as [(mode_t, String)] {
            unsafe chmod(url.path, mode)
            let error = #expect(throws: KeychainError.self) { _ = try PrivateFile.read(url, limit: 9) }
            #expect(error?.message.contains(" \(text) by other users (mode 0") == true)
            #expect(error?.hint == "chmod 600 \(url.path)")
        }
        // The remedy is one shell command for any name.
        let odd = directory.url("it's $HOME; 1")
        try PrivateFile.write(SecretBytes(utf8: "1"), to: odd)
        unsafe chmod(odd.path, 0o644)
        let error = #expect(throws: KeychainError.self) { _ = try PrivateFile.read(odd, limit: 9) }
        let remedy = try run("/bin/sh", ["-c", try #require(error?.hint)])
        #expect(remedy.status == 0 && mode(odd.path) == 0o600, "\(remedy.stderr)")
    }

    @Test
    func `a directory is created with its parents, narrowed if necessary, and refused if others can use it`() throws {
        let directory = try TemporaryDirectory()
        let url = directory.url("a/b/c")
        try PrivateFile.createDirectory(url)
        #expect(mode(url.path) == 0o700 && mode(directory.file("a/b")) == 0o700)
        unsafe chmod(url.path, 0o755)
        try PrivateFile.createDirectory(url)
        #expect(mode(url.path) == 0o700)
        unsafe chmod(url.path, 0o777)
        #expect(code { try PrivateFile.createDirectory(url) } == .unsafeFile)
        unsafe chmod(url.path, 0o700)
        unsafe symlink(url.path, directory.file("link"))
        #expect(code { try PrivateFile.createDirectory(directory.url("link")) } == .unsafeFile)
        if unsafe chown(url.path, 65534, 65534) == 0 {
            #expect(code { try PrivateFile.createDirectory(url) } == .unsafeFile)
        }
    }

    @Test func `a lock excludes a second holder until it is released, also after an error`() throws {
        let directory = try TemporaryDirectory()
        let url = directory.url("lock")
        try FileLock.holding(url, deadline: .after(.seconds(60))) { () throws(KeychainError) in
            #expect(code { try FileLock.holding(url, deadline: .after(.milliseconds(30))) {} } == .timedOut)
        }
        #expect(
            code {
                try FileLock.holding(url, deadline: .after(.seconds(60))) { () throws(KeychainError) in
                    throw KeychainError(.failed, "x")
                }
            }
                == .failed)
        try FileLock.holding(url, deadline: .after(.milliseconds(30))) {}
    }
}
