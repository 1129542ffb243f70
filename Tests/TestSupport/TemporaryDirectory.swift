public import Foundation

/// A directory of its own, removed with all that is in it when the last reference goes.
public final class TemporaryDirectory: Sendable {
    /// The absolute path, without a trailing slash.
    public let path: String

    /// Makes a new directory of mode 0700 below `parent`: the system's temporary directory unless another is named.
    ///
    /// - Throws: the file manager's error when it cannot be made.
    public init(in parent: String = NSTemporaryDirectory()) throws {
        path = parent + (parent.hasSuffix("/") ? "" : "/") + "keyfob-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    deinit {
        // Nothing could be done about a failure here, and the next boot empties the directory anyway.
        do { try FileManager.default.removeItem(atPath: path) } catch {}
    }

    /// The path of `name` inside the directory. Nothing is created.
    public func file(_ name: String) -> String {
        path + "/" + name
    }

    /// The URL of `name` inside the directory. Nothing is created.
    public func url(_ name: String) -> URL {
        URL(fileURLWithPath: file(name))
    }

    /// Writes `bytes` to a new file of mode 0600 called `name` and returns its path.
    ///
    /// - Throws: the error of the write.
    @discardableResult
    public func write(_ bytes: some Sequence<UInt8>, to name: String) throws -> String {
        try Data(bytes).write(to: url(name))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file(name))
        return file(name)
    }

    /// Writes a program for the shell to a new file of mode 0700 called `name` and returns its path.
    ///
    /// - Throws: `RunError` where it cannot be written.
    @discardableResult
    public func writeProgram(_ script: String, to name: String) throws -> String {
        // By another process: a child that another test starts meanwhile would inherit our descriptor for a moment, and
        // no file that is open for writing can be started (ETXTBSY).
        let write = "printf '#!/bin/sh\n' > \"$1\" && cat >> \"$1\" && chmod 700 \"$1\""
        let result = try run("/bin/sh", ["-c", write, "sh", file(name)], stdin: Array(script.utf8))
        guard result.status == 0 else { throw RunError.notStarted(executable: name, reason: result.stderr) }
        return file(name)
    }

    /// The content of the file called `name`.
    ///
    /// - Throws: the error of the read.
    public func read(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: url(name)))
    }
}
