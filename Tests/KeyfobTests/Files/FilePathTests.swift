import Foundation
import Testing

@testable import Keyfob

@Suite struct FilePathTests {
    @Test(arguments: [
        "/", "/tmp", "/tmp/", "/tmp/a b", "/tmp/a%20b", "/tmp/50%", "/tmp/ü/日本/", "/tmp/a?b#c;d", "relative", "a/b/",
        "/tmp/../etc", "/tmp//double", ".", "/tmp/new\nline",
    ])
    func `the path for system calls is Foundation's path`(path: String) {
        for isDirectory in [true, false] {
            let url = URL(fileURLWithPath: path, isDirectory: isDirectory)
            #expect(url.filePath == url.path)
            let below = url.appendingPathComponent("x y%41", isDirectory: isDirectory)
            #expect(below.filePath == below.path)
            #expect(below.filePath.hasSuffix("/x y%41"))
        }
    }

    @Test(arguments: [
        "/", "/a", "/a/b/", "/a//b", "//a", "/a/./b", "/./a", "/a/../b", "/../a", "/a/b/..", "/a/b/.", "/a/b//", "/a/.b",
        "/a/..b", "/a/b.", "/a/b..", "/a/...", "/a/.../b", "/a/....", "/a b/%2e", "relative", "./a", "a/../b", "..", ".",
    ])
    func `a standardised path is Foundation's`(path: String) {
        let url = URL(fileURLWithPath: path)
        #expect(url.standardizedPath.filePath == url.standardizedFileURL.filePath)
    }

    @Test func `standardising a path again does not change its URL`() {
        let url = URL(fileURLWithPath: "/home/user/.local/share/keyfob", isDirectory: true)
        #expect(url.standardizedPath == url)
    }
}
