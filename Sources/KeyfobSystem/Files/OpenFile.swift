import CLinux
package import Foundation
package import KeyfobPrimitives

/// An open file descriptor that is closed when it goes out of scope.
package struct OpenFile: ~Copyable {
    /// The number the kernel knows it by.
    package let descriptor: Int32

    /// The path, for messages.
    package let path: String

    /// The unique name that the file was created under; `nil` for a file that was opened by its path.
    package let uniqueName: String?

    /// Opens `path`, always with `O_CLOEXEC`, or returns `nil` with `errno` set.
    ///
    /// - Parameter name: The path in messages, if it differs.
    package init?(path: String, flags: Int32, mode: UInt32 = 0o600, shownAs name: String? = nil) {
        let descriptor = unsafe keyfob_open(path, flags | O_CLOEXEC, mode)
        guard descriptor >= 0 else { return nil }
        self.descriptor = descriptor
        self.path = name ?? path
        uniqueName = nil
    }

    /// Creates a file of mode 0600 under a unique name, or returns `nil` with `errno` set.
    ///
    /// - Parameters:
    ///   - prefix: The directory and the beginning of the name. A random number follows.
    ///   - suffix: The end of the name.
    ///   - name: The path in messages.
    package init?(uniqueWithPrefix prefix: String, suffix: String = "", shownAs name: String) {
        let number = String(UInt64.random(in: 0...UInt64.max), radix: 36)
        let unique = prefix + String(repeating: "0", count: Self.uniqueDigits - number.count) + number + suffix
        // O_EXCL: an existing file or link of that name is an error.
        let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let descriptor = unsafe keyfob_open(unique, flags, 0o600)
        guard descriptor >= 0 else { return nil }
        self.descriptor = descriptor
        path = name
        uniqueName = unique
    }

    /// Takes over `descriptor`, which must be open.
    package init(adopting descriptor: Int32, path: String) {
        self.descriptor = descriptor
        self.path = path
        uniqueName = nil
    }

    deinit { close(descriptor) }

    /// The result of fstat(2).
    package func status() throws(KeychainError) -> stat {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw .file("read", path, errno) }
        return status
    }

    /// Reads up to `limit` bytes, to the end of the file at most. Blocks as read(2) does.
    ///
    /// - Parameters:
    ///   - deadline: Until when to wait for a pipe, socket or terminal.
    ///   - untilNewline: Whether to stop waiting once a newline was read.
    /// - Throws: `timedOut` if the deadline passed before the end; `fileUnavailable`, `refused`.
    package func read(
        limit: Int, by deadline: Deadline = .never, untilNewline: Bool = false
    ) throws(KeychainError) -> SecretBytes {
        let status = try status()
        // The size of a file is only where to begin: a pipe has none, and a sparse file may have the largest number.
        let isRegular = status.st_mode & S_IFMT == S_IFREG
        let length = isRegular ? max(0, Int(status.st_size)) : 4095
        var bytes = SecretBytes([])
        var capacity = min(limit - 1, length) + 1
        while true {
            let (filled, count, isOver) = try read(
                after: bytes, capacity: capacity, by: isRegular ? nil : deadline, untilNewline: untilNewline)
            if isOver || capacity == limit { return filled.prefix(count) }
            bytes = filled
            capacity = min(limit, capacity * 2)
        }
    }

    /// Continues reading until there are `capacity` bytes, or the file or the line ends.
    ///
    /// - Parameter deadline: Until when to wait for input; `nil` for a file that needs no waiting.
    private func read(
        after bytes: SecretBytes, capacity: Int, by deadline: Deadline?, untilNewline: Bool
    ) throws(KeychainError) -> (SecretBytes, count: Int, isOver: Bool) {
        var count = bytes.count
        var isOver = false
        // poll(2) does not report the end of a FIFO whose writers had gone when it was opened; read(2) does. Before the
        // first byte it cannot tell, since no writer may have come yet.
        let blocks = fcntl(descriptor, F_GETFL) & O_NONBLOCK == 0
        // Without a deadline read(2) waits as well; it also stops a background job that reads from its terminal.
        let asksFirst = blocks && deadline?.remaining != nil
        var mustWait = asksFirst || !blocks && count == 0
        let filled = try unsafe SecretBytes(count: capacity) { (buffer) throws(KeychainError) in
            unsafe bytes.withUnsafeBytes { unsafe UnsafeMutableRawBufferPointer(buffer).copyMemory(from: $0) }
            while !isOver, count < buffer.count, let base = buffer.baseAddress {
                if let deadline, mustWait { try awaitInput(by: deadline) }
                let received = unsafe Foundation.read(descriptor, base + count, buffer.count - count)
                if received == 0 {
                    isOver = true
                } else if received > 0 {
                    isOver = unsafe untilNewline && memchr(base + count, 0x0A, received) != nil
                    count += received
                    mustWait = asksFirst
                } else if errno == EAGAIN, deadline != nil {
                    mustWait = true
                } else if errno != EINTR {
                    throw .file("read", path, errno)
                }
            }
        }
        return (filled, count, isOver)
    }

    private func awaitInput(by deadline: Deadline) throws(KeychainError) {
        // A signal also ends a wait.
        while !waitForInput(descriptor, deadline) {
            guard deadline.hasPassed else { continue }
            throw KeychainError(
                .timedOut, "\(path) did not give all it has in time.",
                remedies: [
                    "The program that writes to it has to end or close it.", Remedy("More time", .change(.timeout)),
                ],
                details: ["path": path])
        }
    }

    /// Writes all of `bytes`. Blocks as write(2) does.
    ///
    /// - Parameter deadline: Until when to wait for the reader of a pipe that was opened with `O_NONBLOCK`.
    /// - Throws: `timedOut` if the deadline passed before all was written; `fileUnavailable`, `diskFull`.
    package func write(_ bytes: SecretBytes, by deadline: Deadline = .never) throws(KeychainError) {
        try unsafe bytes.withUnsafeBytes { (buffer) throws(KeychainError) in
            var written = 0
            while written < buffer.count, let base = buffer.baseAddress {
                let count = unsafe Foundation.write(descriptor, base + written, buffer.count - written)
                if count >= 0 {
                    written += count
                } else if errno == EAGAIN {
                    try awaitRoom(by: deadline)
                } else if errno != EINTR {
                    throw .file("write", path, errno)
                }
            }
        }
    }

    private func awaitRoom(by deadline: Deadline) throws(KeychainError) {
        // A signal also ends a wait.
        while !waitForRoom(descriptor, deadline) {
            guard deadline.hasPassed else { continue }
            throw KeychainError(
                .timedOut, "the reader of \(path) did not read everything in time.",
                remedies: ["The program that reads it has to go on.", Remedy("More time", .change(.timeout))],
                details: ["path": path])
        }
    }

    /// The end of the name of a file that `replace` is writing; before it come the final name and a number.
    package static let unfinishedSuffix = ".new"

    /// The number of digits and letters of a number in a unique name.
    private static let uniqueDigits = 13

    /// Whether `replace` gives a file this name while it writes the file `finished`.
    static func isUnfinished(_ name: String, of finished: String) -> Bool {
        guard name.hasPrefix(finished + "."), name.hasSuffix(unfinishedSuffix) else { return false }
        let number = name.utf8.dropFirst(finished.utf8.count + 1).dropLast(unfinishedSuffix.utf8.count)
        return number.count == uniqueDigits
            && number.allSatisfy { "0123456789abcdefghijklmnopqrstuvwxyz".utf8.contains($0) }
    }

    /// Replaces the file at `path` atomically.
    ///
    /// Readers see the old content or the new one, also after a kill. After the call has returned the new content
    /// survives a power cut. Blocks for the syncs.
    ///
    /// - Parameters:
    ///   - mode: The mode of the new file.
    ///   - owner: The user that gets the file; `nil` for the user of this process.
    ///   - group: The group that gets the file; `nil` for the usual one.
    /// - Throws: `fileUnavailable`, `refused` or `diskFull`. The old file is then whole; if only the directory cannot
    ///   be synced, the new one is.
    package static func replace(
        _ path: String, with bytes: SecretBytes, mode: UInt32, owner: UInt32? = nil, group: UInt32? = nil
    ) throws(KeychainError) {
        guard let file = OpenFile(uniqueWithPrefix: path + ".", suffix: unfinishedSuffix, shownAs: path),
            let name = file.uniqueName
        else { throw .file("write", path, errno) }
        do throws(KeychainError) {
            try file.write(bytes)
            if owner != nil || group != nil {
                // The largest number leaves an id as it is; chown(2).
                guard fchown(file.descriptor, owner ?? .max, group ?? .max) == 0 else {
                    throw .file("change the owner of", path, errno)
                }
            }
            // The umask may have removed bits, even the owner's.
            guard fchmod(file.descriptor, mode) == 0 else { throw .file("write", path, errno) }
            try file.synchronize()
            guard unsafe rename(name, path) == 0 else { throw .file("write", path, errno) }
        } catch {
            unsafe unlink(name)
            throw error
        }
        try synchronizeDirectory(directory(of: path))
    }

    /// The directory part of `path`.
    package static func directory(of path: String) -> String {
        guard let end = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return end > path.startIndex ? String(path[..<end]) : "/"
    }

    /// Syncs the directory at `path`, so that creations, renames and removals in it survive a power cut.
    ///
    /// - Throws: `fileUnavailable` if the directory is missing or the disk fails.
    package static func synchronizeDirectory(_ path: String) throws(KeychainError) {
        guard let directory = OpenFile(path: path, flags: O_RDONLY | O_DIRECTORY) else {
            // A directory that cannot be read cannot be synced.
            if errno == EACCES { return }
            throw .file("open", path, errno)
        }
        try directory.synchronize()
    }

    /// Waits until the content is on the disk; fsync(2).
    package func synchronize() throws(KeychainError) {
        while fsync(descriptor) != 0 {
            switch errno {
            case EINTR: continue
            // A pipe and some network file systems have nothing to sync.
            case EINVAL, EROFS: return
            default: throw .file("write", path, errno)
            }
        }
    }
}

extension KeychainError {
    /// The error of a system call on a file that failed with the error number `number`.
    package static func file(_ verb: String, _ path: String, _ number: Int32) -> KeychainError {
        guard ![ENOSPC, EDQUOT].contains(number) else { return diskFull(at: path) }
        let reason = unsafe String(cString: strerror(number))
        return KeychainError(
            [EACCES, EPERM, ELOOP, EROFS].contains(number) ? .refused : .fileUnavailable,
            "cannot \(verb) \(path): \(reason).", hint: remedy(verb, path, number), details: ["path": path])
    }

    /// The first directory in `path` that this process may not search; `nil` if it may search all of them.
    private static func closedDirectory(above path: String) -> String? {
        guard path.hasPrefix("/") else { return nil }
        return path.indices.filter { path[$0] == "/" && $0 != path.startIndex }.map { String(path[..<$0]) }
            .first { unsafe access($0, X_OK) != 0 && errno == EACCES }
    }

    /// The remedy for a system call that failed with `number`; `nil` if the reason says it.
    private static func remedy(_ verb: String, _ path: String, _ number: Int32) -> String? {
        // A program is looked up in several directories.
        guard verb != "start" else { return nil }
        let folder = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[..<$0]) } ?? ""
        let places = [folder, path].filter { !$0.isEmpty }.map { ShellWord.quoted($0) }
        switch number {
        case EROFS:
            return "Check how its file system is mounted: findmnt -T \(places.first ?? ".")"
        case EACCES, EPERM:
            // ls(1) shows nothing below a directory that cannot be searched.
            let shown = closedDirectory(above: path).map { [ShellWord.quoted($0)] } ?? places
            return "Check who may do that: ls -ld \(shown.joined(separator: " "))"
        case EIO:
            return "The disk, or the way to it, fails: dmesg says more."
        case EMFILE, ENFILE:
            return "Too many files are open: ulimit -n"
        // Writing creates a missing file, so the directory is what is missing.
        case ENOENT where verb == "write" && !folder.isEmpty:
            return "Make its directory first: mkdir -p \(ShellWord.quoted(folder))"
        default:
            return nil
        }
    }

    /// The error of a full disk or an exhausted quota.
    package static func diskFull(
        at path: String, details: [String: String] = [:], cause: (any Error)? = nil
    ) -> KeychainError {
        KeychainError(
            .diskFull, "the disk is full: \(path) cannot be written.",
            hint: "Nothing is lost. Make room on it (df -h), then run the same command again.",
            details: details.merging(["path": path]) { $1 }, cause: cause)
    }
}
