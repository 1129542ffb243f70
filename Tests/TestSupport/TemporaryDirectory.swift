public import Foundation

/// A temporary directory, removed with its content when the last reference is released.
public final class TemporaryDirectory: Sendable {
    /// The absolute path, without a trailing slash.
    public let path: String

    /// Creates a directory of mode 0700 below the system's temporary directory.
    ///
    /// - Throws: The file manager's error if it cannot be created.
    public init(in parent: String = NSTemporaryDirectory()) throws {
        path = parent + (parent.hasSuffix("/") ? "" : "/") + "keyfob-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    deinit {
        // A failure cannot be handled here, and the next boot empties the directory anyway.
        do { try FileManager.default.removeItem(atPath: path) } catch {}
    }

    /// Returns the path of `name` inside the directory. Nothing is created.
    public func file(_ name: String) -> String {
        path + "/" + name
    }

    /// Returns the URL of `name` inside the directory. Nothing is created.
    public func url(_ name: String) -> URL {
        URL(fileURLWithPath: file(name))
    }

    /// Writes `bytes` to a new file of mode 0600 called `name` and returns its path.
    ///
    /// - Throws: The error of the write.
    @discardableResult
    public func write(_ bytes: some Sequence<UInt8>, to name: String) throws -> String {
        try Data(bytes).write(to: url(name))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file(name))
        return file(name)
    }

    /// Writes a shell script to a new file of mode 0700 called `name` and returns its path.
    ///
    /// - Throws: `RunError` if it cannot be written.
    @discardableResult
    public func writeProgram(_ script: String, to name: String) throws -> String {
        // Another process writes the file. Otherwise a child that another test starts at the same time could inherit
        // our descriptor, and a file that is open for writing cannot be executed (ETXTBSY).
        let write = "printf '#!/bin/sh\n' > \"$1\" && cat >> \"$1\" && chmod 700 \"$1\""
        let result = try run("/bin/sh", ["-c", write, "sh", file(name)], stdin: Array(script.utf8))
        guard result.status == 0 else { throw RunError.notStarted(executable: name, reason: result.stderr) }
        return file(name)
    }

    /// Reads the content of the file called `name`.
    ///
    /// - Throws: The error of the read.
    public func read(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: url(name)))
    }
}
