import CLinux
package import Foundation

/// A socket in the file system (unix(7)) at which this process listens, for processes of the same user and of root.
@safe package final class LocalListener: Sendable {
    /// The descriptor, which is non-blocking.
    package let descriptor: Int32
    /// The path; `nil` for a socket of the caller that has none.
    package let path: String?
    /// The file of the socket; `nil` for a socket of the caller.
    private let file: FileIdentity?

    private struct FileIdentity: Equatable {
        let device: UInt64
        let number: UInt64

        /// The file at a path, without following links; `nil` with `errno` if there is none.
        init?(_ path: String) {
            var status = stat()
            guard unsafe lstat(path, &status) == 0 else { return nil }
            device = UInt64(status.st_dev)
            number = UInt64(status.st_ino)
        }
    }

    /// The longest path of a socket in bytes.
    package static let longestPath = 107

    /// Listens at a path. The socket has mode 0600, and a missing directory is created with mode 0700.
    ///
    /// A socket that no process listens at, as one that was killed leaves, is replaced. The new socket gets its path
    /// when it already listens.
    ///
    /// - Throws: `KeychainError`; `refused` if another process listens there, or a file that is not a socket is there.
    ///   `unsafeFile` if other users can replace the socket. `invalidArgument` if the path is too long.
    package init(at path: String) throws(KeychainError) {
        let url = URL(fileURLWithPath: path)
        let place = url.filePath
        let directory = url.deletingLastPathComponent()
        let number = String(UInt64.random(in: 0..<2_176_782_336), radix: 36)
        let temporary = directory.appendingPathComponent("." + number, isDirectory: false).filePath
        guard max(place.utf8.count, temporary.utf8.count) <= Self.longestPath else {
            throw KeychainError(
                .invalidArgument,
                "the path \(place) is too long for a socket: the system allows \(Self.longestPath) bytes.",
                hint: "Choose a shorter one.", details: ["path": place])
        }
        try Self.makeDirectory(directory)
        try Self.requireFree(place)
        let descriptor = unsafe keyfob_listen_locally(temporary)
        guard descriptor >= 0 else { throw .file("listen at", place, errno) }
        do throws(KeychainError) {
            try PrivateFile.requireUnwritableByOthers(temporary)
            file = FileIdentity(temporary)
            guard unsafe rename(temporary, place) == 0 else { throw .file("listen at", place, errno) }
        } catch {
            unsafe unlink(temporary)
            Foundation.close(descriptor)
            throw error
        }
        self.descriptor = descriptor
        self.path = place
    }

    /// Takes over a socket that the caller of this process listens at, such as systemd.
    ///
    /// - Throws: `KeychainError.invalidArgument` if it is not a local stream socket that listens.
    package init(inherited descriptor: Int32) throws(KeychainError) {
        guard keyfob_is_local_listener(descriptor) != 0 else {
            throw KeychainError(
                .invalidArgument, "descriptor \(descriptor) is not a local stream socket that listens.",
                hint: "In a unit of systemd: ListenStream=%t/keyfob-ssh.socket")
        }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        var buffer = [UInt8](repeating: 0, count: Self.longestPath + 1)
        let result = unsafe buffer.withUnsafeMutableBytes { bytes in
            unsafe keyfob_local_path(
                descriptor, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
        }
        path = result == 0 ? String(decoding: buffer.prefix { $0 != 0 }, as: UTF8.self) : nil
        self.descriptor = descriptor
        file = nil
    }

    /// Accepts a connection of a process of this user or of root. All others are closed at once.
    ///
    /// - Returns: A non-blocking descriptor, which the caller closes; `nil` with `errno` if there is none.
    package func accept() -> Int32? {
        let connection = keyfob_accept(descriptor)
        guard connection >= 0 else { return nil }
        var user = uid_t.max
        guard unsafe keyfob_peer_user(connection, &user) == 0, user == geteuid() || user == 0 else {
            Foundation.close(connection)
            errno = EACCES
            return nil
        }
        return connection
    }

    /// Stops listening, and removes the file of the socket if this process made it. Call it once.
    ///
    /// The socket of a caller goes on listening: systemd starts the next process when a client connects.
    package func close() {
        if let file {
            // Removed first, so that a client finds no socket instead of one that does not accept.
            if let path, FileIdentity(path) == file { unsafe unlink(path) }
            // A child process that another thread has just forked has a copy of the descriptor until it calls exec(2).
            shutdown(descriptor, Int32(SHUT_RDWR))
        }
        Foundation.close(descriptor)
    }

    /// Removes sockets that no process listens at from a directory.
    ///
    /// - Parameter prefix: The beginning of their names.
    /// - Throws: `KeychainError` if the directory cannot be read.
    package static func removeStale(in directory: URL, prefix: String) throws(KeychainError) {
        for name in try OpenDirectory.names(in: directory) where name.hasPrefix(prefix) {
            let path = directory.appendingPathComponent(name, isDirectory: false).filePath
            // A socket has its name only while it listens, and then until its process ends.
            if isSocket(path), unsafe keyfob_accepts_locally(path) == 0 { unsafe unlink(path) }
        }
    }

    private static func isSocket(_ path: String) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
    }

    private static func makeDirectory(_ directory: URL) throws(KeychainError) {
        var status = stat()
        // An existing directory keeps its mode. Whether it is safe is checked with the socket in it.
        guard unsafe stat(directory.filePath, &status) != 0 else { return }
        try PrivateFile.createDirectory(directory)
    }

    private static func requireFree(_ path: String) throws(KeychainError) {
        guard FileIdentity(path) != nil else {
            guard errno == ENOENT else { throw .file("listen at", path, errno) }
            return
        }
        guard isSocket(path) else {
            throw KeychainError(
                .refused, "cannot listen at \(path): a file that is not a socket is there.",
                hint: "Choose another path, or remove the file.", details: ["path": path])
        }
        switch unsafe keyfob_accepts_locally(path) {
        case 0: return
        case 1:
            throw KeychainError(
                .refused, "cannot listen at \(path): another process listens there.",
                hint: "Use it, or end that process: fuser \(ShellWord.quoted(path))", details: ["path": path])
        default: throw .file("connect to", path, errno)
        }
    }
}
