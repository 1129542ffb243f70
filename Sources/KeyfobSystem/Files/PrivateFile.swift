import CLinux
package import Foundation
package import KeyfobPrimitives

/// Files and directories that only their owner can read.
///
/// A write creates a temporary file in the same directory, syncs it, renames it and syncs the directory. Readers see
/// the
/// old content or the new one, also after a kill; a finished write survives a power cut.
package enum PrivateFile {
    /// Replaces the file at `url` with `bytes`, mode 0600. Blocks for the syncs.
    ///
    /// - Throws: `fileUnavailable`, `refused` or `diskFull`.
    package static func write(_ bytes: SecretBytes, to url: URL) throws(KeychainError) {
        try OpenFile.replace(url.filePath, with: bytes, mode: 0o600)
    }

    /// Reads the file at `url`.
    ///
    /// - Returns: The content; `nil` if there is no file.
    /// - Throws: `unsafeFile` unless it is a regular file of this user or root that others cannot read; `fileDamaged`
    ///   if
    ///   it is longer than `limit`.
    package static func read(_ url: URL, limit: Int) throws(KeychainError) -> SecretBytes? {
        guard let file = OpenFile(path: url.filePath, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK) else {
            if errno == ENOENT { return nil }
            if errno == ELOOP { throw refusal(url.filePath, "is a symbolic link") }
            throw .file("read", url.filePath, errno)
        }
        try requirePrivate(try file.status(), path: url.filePath)
        let bytes = try file.read(limit: limit + 1)
        guard bytes.count <= limit else {
            throw KeychainError(
                .fileDamaged, "\(url.filePath) is longer than such a file can be.", details: ["path": url.filePath])
        }
        return bytes
    }

    /// Removes the file at `url` and overwrites its content.
    ///
    /// - Returns: Whether there was a file.
    /// - Throws: `fileUnavailable` or `refused` if it cannot be removed; its content is then unchanged.
    @discardableResult
    package static func remove(_ url: URL) throws(KeychainError) -> Bool {
        let file = OpenFile(path: url.filePath, flags: O_WRONLY | O_NOFOLLOW | O_NONBLOCK)
        // Removed first: a file that cannot be removed must not lose its content.
        guard unsafe unlink(url.filePath) == 0 else {
            guard errno == ENOENT else { throw .file("remove", url.filePath, errno) }
            return false
        }
        guard let file else { return true }
        let status = try file.status()
        // Reaches the bytes on tmpfs; best effort on other file systems.
        if status.st_mode & S_IFMT == S_IFREG, status.st_nlink == 0, status.st_size > 0 {
            try file.write(SecretBytes(repeatElement(0, count: Int(min(status.st_size, 1 << 20)))))
        }
        return true
    }

    /// Removes temporary files that killed writes of the file at `url` have left. No process may be writing it.
    ///
    /// - Throws: `fileUnavailable` or `refused`.
    package static func removeUnfinished(_ url: URL) throws(KeychainError) {
        for file in try unfinished(url) { try remove(file) }
    }

    /// Returns the temporary files that killed writes of the file at `url` have left.
    ///
    /// - Throws: `fileUnavailable` or `refused`.
    package static func unfinished(_ url: URL) throws(KeychainError) -> [URL] {
        let directory = url.deletingLastPathComponent()
        return try OpenDirectory.names(in: directory)
            .filter { OpenFile.isUnfinished($0, of: url.lastPathComponent) }
            .map { directory.appendingPathComponent($0, isDirectory: false) }
    }

    /// Creates the directory at `url` and missing parents with mode 0700, so that they survive a power cut.
    ///
    /// A directory of this user that others can read is narrowed.
    ///
    /// - Throws: `unsafeFile` if it is a symbolic link, belongs to another user, or is writable by others.
    package static func createDirectory(_ url: URL) throws(KeychainError) {
        try makeParents(of: url)
        try makeOne(url)
        guard let directory = OpenFile(path: url.filePath, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW) else {
            if errno == ELOOP || errno == ENOTDIR {
                var status = stat()
                let isLink = unsafe lstat(url.filePath, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
                throw refusal(
                    url.filePath, isLink ? "is a symbolic link, and none is followed here" : "is not a directory",
                    ofDirectory: true)
            }
            throw .file("open", url.filePath, errno)
        }
        let status = try directory.status()
        guard status.st_uid == geteuid() else {
            throw refusal(url.filePath, "belongs to another user", ofDirectory: true)
        }
        guard status.st_mode & 0o022 == 0 else {
            throw refusal(url.filePath, "can be written by other users", status.st_mode)
        }
        if status.st_mode & 0o777 != 0o700, fchmod(directory.descriptor, 0o700) != 0 {
            throw .file("protect", url.filePath, errno)
        }
    }

    /// Refuses a directory whose files users other than this one and root can replace. A missing directory is accepted.
    ///
    /// For directories that `createDirectory` made: the sticky bit and groups with one member make no difference, since
    /// no umask made them so. Links are followed. Parents are not checked: a user who can write to them can only put
    /// another directory of ours here, and group-writable home directories are common (container images, umask 002).
    ///
    /// - Throws: `unsafeFile`; `fileUnavailable`.
    package static func requireOwnDirectory(_ url: URL) throws(KeychainError) {
        let path = url.filePath
        var status = stat()
        guard unsafe stat(path, &status) == 0 else {
            if errno == ENOENT || errno == ENOTDIR { return }
            throw .file("read", path, errno)
        }
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw refusal(path, "belongs to another user", ofDirectory: true)
        }
        guard status.st_mode & 0o022 == 0 else { throw refusal(path, "can be written by other users", status.st_mode) }
    }

    /// Syncs the directory, so that creations and renames in it survive a power cut.
    ///
    /// - Throws: `fileUnavailable`.
    package static func synchronizeDirectory(_ url: URL) throws(KeychainError) {
        try OpenFile.synchronizeDirectory(url.filePath)
    }

    /// Refuses a file that is not regular, belongs to neither this user nor root, or is readable by others.
    ///
    /// - Parameter alternative: The setting that accepts the file, if there is one.
    package static func requirePrivate(
        _ status: stat, path: String, alternative: Remedy.Setting? = nil
    ) throws(KeychainError) {
        guard status.st_mode & S_IFMT == S_IFREG else { throw refusal(path, "is not a regular file") }
        guard status.st_uid == geteuid() || status.st_uid == 0 else { throw refusal(path, "belongs to another user") }
        guard status.st_mode & 0o077 == 0 else {
            let others =
                switch (status.st_mode & 0o044 != 0, status.st_mode & 0o022 != 0) {
                case (true, true): "can be read and written by other users"
                case (_, true): "can be written by other users"
                default: "can be read by other users"
                }
            throw refusal(path, others, status.st_mode, alternative: alternative)
        }
    }

    /// Refuses a file that users other than its owner can write, or replace because they can write its directory.
    ///
    /// In a sticky directory, such as /tmp, only the owner of a file can replace it. Links are followed. A missing file
    /// is accepted.
    ///
    /// - Throws: `unsafeFile`; `fileUnavailable`.
    package static func requireUnwritableByOthers(_ path: String) throws(KeychainError) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else {
            if errno == ENOENT { return }
            throw .file("read", path, errno)
        }
        guard status.st_uid == geteuid() || status.st_uid == 0 || geteuid() == 0 else {
            throw refusal(path, "belongs to another user")
        }
        guard status.st_mode & 0o022 == 0 else { throw refusal(path, "can be written by other users", status.st_mode) }
        let directory = try resolvedDirectory(of: path)
        guard unsafe stat(directory, &status) == 0 else { throw .file("read", directory, errno) }
        guard status.st_uid == geteuid() || status.st_uid == 0 || geteuid() == 0 else {
            throw refusal(directory, "belongs to another user", ofDirectory: true)
        }
        guard status.st_mode & 0o022 == 0 || status.st_mode & 0o1000 != 0 else {
            throw refusal(directory, "can be written by other users", status.st_mode)
        }
    }

    /// The directory of a file, with links resolved.
    private static func resolvedDirectory(of path: String) throws(KeychainError) -> String {
        guard let resolved = unsafe realpath(path, nil) else { throw .file("read", path, errno) }
        defer { unsafe free(resolved) }
        return OpenFile.directory(of: unsafe String(cString: resolved))
    }

    private static func refusal(
        _ path: String, _ what: String, _ mode: mode_t? = nil, ofDirectory: Bool = false,
        alternative: Remedy.Setting? = nil
    ) -> KeychainError {
        guard let mode else {
            let own = ofDirectory ? "directory of your own, mode 0700" : "file of your own, mode 0600"
            return KeychainError(.unsafeFile, "\(path) \(what).", hint: "Use a \(own).", details: ["path": path])
        }
        let octal = String(mode & 0o777, radix: 8)
        let isDirectory = mode & S_IFMT == S_IFDIR
        return KeychainError(
            .unsafeFile, "\(path) \(what) (mode 0\(octal)).",
            // Quoted for the shell, so that a pasted remedy changes this file only.
            remedies: [Remedy((isDirectory ? "chmod 700 " : "chmod 600 ") + ShellWord.quoted(path))]
                + (alternative.map { [Remedy("Or accept it", .change($0))] } ?? []),
            details: ["path": path, "mode": "0" + octal])
    }

    private static func makeParents(of url: URL) throws(KeychainError) {
        let parent = url.deletingLastPathComponent()
        var status = stat()
        guard parent.filePath != "/", unsafe stat(parent.filePath, &status) != 0 else { return }
        try makeParents(of: parent)
        try makeOne(parent)
    }

    /// Creates a directory whose parent exists. An existing directory is not changed.
    private static func makeOne(_ url: URL) throws(KeychainError) {
        guard unsafe mkdir(url.filePath, 0o700) == 0 else {
            guard errno == EEXIST else { throw .file("create", url.filePath, errno) }
            return
        }
        // A file survives only if the name of its directory does.
        try synchronizeDirectory(url.deletingLastPathComponent())
    }
}
