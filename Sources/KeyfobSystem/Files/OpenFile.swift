package import CLinux
import Foundation
package import KeyfobPrimitives

/// An open file descriptor that is closed when it goes out of scope.
package struct OpenFile: ~Copyable {
    /// The number the kernel knows it by.
    package let descriptor: Int32

    /// Where it was opened, for messages.
    package let path: String

    /// The name that it was made under, where that is one of its own; `nil` for any other file.
    package let uniqueName: String?

    /// Opens `path`, always with `O_CLOEXEC`, or returns `nil` with `errno` set.
    ///
    /// - Parameter name: The path in messages, where it is to be another.
    package init?(path: String, flags: Int32, mode: UInt32 = 0o600, shownAs name: String? = nil) {
        let descriptor = unsafe keyfob_open(path, flags | O_CLOEXEC, mode)
        guard descriptor >= 0 else { return nil }
        self.descriptor = descriptor
        self.path = name ?? path
        uniqueName = nil
    }

    /// Makes a file under a name of its own, for its user alone, or returns `nil` with `errno` set.
    ///
    /// - Parameters:
    ///   - prefix: What the name begins with, with its directory. A random number follows.
    ///   - suffix: What it ends with.
    ///   - name: The path in messages.
    package init?(uniqueWithPrefix prefix: String, suffix: String = "", shownAs name: String) {
        let unique = prefix + String(UInt64.random(in: 0...UInt64.max), radix: 36) + suffix
        // Of two that drew the same number the second fails, as one that met a stranger's file or link does.
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

    /// What fstat(2) says.
    package func status() throws(KeychainError) -> stat {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw .file("read", path, errno) }
        return status
    }

    /// Reads up to `limit` bytes, to the end of the file at most. Blocks as read(2) does.
    ///
    /// - Parameters:
    ///   - deadline: Until when what is no file on a disk may keep its bytes back.
    ///   - untilNewline: Whether nothing more is waited for once a newline is there.
    /// - Throws: `timedOut` where the deadline passed before the end; `fileUnavailable` and the like.
    package func read(
        limit: Int, by deadline: Deadline = .never, untilNewline: Bool = false
    ) throws(KeychainError) -> SecretBytes {
        let status = try status()
        // What a file says of its size is where to begin, not when to end; a pipe says nothing.
        // A sparse file may say the largest number there is.
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

    /// Reads on behind what there is already until `capacity` bytes are there, or the file or the line is over.
    ///
    /// - Parameter deadline: Until when to wait for each of them; `nil` where there is nothing to wait for.
    private func read(
        after bytes: SecretBytes, capacity: Int, by deadline: Deadline?, untilNewline: Bool
    ) throws(KeychainError) -> (SecretBytes, count: Int, isOver: Bool) {
        var count = bytes.count
        var isOver = false
        // A FIFO that was opened when its writers were gone never tells poll(2) so; reading what is left of it does.
        // Before the first byte it cannot: nobody may have come yet.
        let blocks = fcntl(descriptor, F_GETFL) & O_NONBLOCK == 0
        // Without a deadline read(2) waits as well, and stops a job in the background that reads from its terminal.
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
        // A signal ends a wait early, too.
        while !waitForInput(descriptor, deadline) {
            guard deadline.hasPassed else { continue }
            throw KeychainError(
                .timedOut, "\(path) did not give all it has in time.",
                hint: "Whoever writes to it has to end or close it. More time: --timeout 60s", details: ["path": path])
        }
    }

    /// Writes all of `bytes`. Blocks as write(2) does.
    ///
    /// - Parameter deadline: Until when to wait for whoever reads a pipe that was opened with `O_NONBLOCK`.
    /// - Throws: `timedOut` where the deadline passed before all was written; `fileUnavailable` and the like.
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
        // A signal ends a wait early, too.
        while !waitForRoom(descriptor, deadline) {
            guard deadline.hasPassed else { continue }
            throw KeychainError(
                .timedOut, "nobody has read all that was to be written to \(path) in time.",
                hint: "Whoever reads it has to go on. More time: --timeout 60s", details: ["path": path])
        }
    }

    /// What the name of a file ends with that `replace` is writing: the name to be, a number, and this.
    package static let unfinishedSuffix = ".new"

    /// Replaces the file at `path` in one step: who reads it sees the old content or the new, whatever ends us when.
    /// Once this has returned it is the new, also after a power cut. Blocks for the syncs.
    ///
    /// - Parameter mode: The new file's, whatever the old one's was.
    /// - Throws: `fileUnavailable`, `refused` or `diskFull`; the old file is then whole, or where only its directory
    ///   cannot be synced, the new one.
    package static func replace(_ path: String, with bytes: SecretBytes, mode: UInt32) throws(KeychainError) {
        guard let file = OpenFile(uniqueWithPrefix: path + ".", suffix: unfinishedSuffix, shownAs: path),
            let name = file.uniqueName
        else { throw .file("write", path, errno) }
        do throws(KeychainError) {
            try file.write(bytes)
            // The umask can only have taken bits away; it may have taken the owner's.
            guard fchmod(file.descriptor, mode) == 0 else { throw .file("write", path, errno) }
            try file.synchronize()
            guard unsafe rename(name, path) == 0 else { throw .file("write", path, errno) }
        } catch {
            unsafe unlink(name)
            throw error
        }
        try synchronizeDirectory(directory(of: path))
    }

    /// The directory that the file at `path` lies in, as far as the path tells.
    package static func directory(of path: String) -> String {
        guard let end = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return end > path.startIndex ? String(path[..<end]) : "/"
    }

    /// Makes what was created, renamed or removed in the directory at `path` survive a power cut.
    ///
    /// - Throws: `fileUnavailable` where it is missing, or the disk fails.
    package static func synchronizeDirectory(_ path: String) throws(KeychainError) {
        guard let directory = OpenFile(path: path, flags: O_RDONLY | O_DIRECTORY) else {
            // One that may be written to and searched, but not read, nobody can sync: what was done in it is done.
            if errno == EACCES { return }
            throw .file("open", path, errno)
        }
        try directory.synchronize()
    }

    /// Waits until the kernel says that the content is on the disk.
    package func synchronize() throws(KeychainError) {
        while fsync(descriptor) != 0 {
            switch errno {
            case EINTR: continue
            // A descriptor that cannot be synchronised (a pipe, some network file systems) has nothing that a power cut
            // could take and a sync could keep.
            case EINVAL, EROFS: return
            default: throw .file("write", path, errno)
            }
        }
    }
}

extension KeychainError {
    /// A system call on a file failed with `number`.
    package static func file(_ verb: String, _ path: String, _ number: Int32) -> KeychainError {
        guard ![ENOSPC, EDQUOT].contains(number) else { return diskFull(at: path) }
        let reason = unsafe String(cString: strerror(number))
        return KeychainError(
            [EACCES, EPERM, ELOOP, EROFS].contains(number) ? .refused : .fileUnavailable,
            "cannot \(verb) \(path): \(reason).", hint: remedy(verb, path, number), details: ["path": path])
    }

    /// The first directory on the way to `path` that this process may not search; `nil` where it may search them all.
    private static func closedDirectory(above path: String) -> String? {
        guard path.hasPrefix("/") else { return nil }
        return path.indices.filter { path[$0] == "/" && $0 != path.startIndex }.map { String(path[..<$0]) }
            .first { unsafe access($0, X_OK) != 0 && errno == EACCES }
    }

    /// What to do where a system call has failed with `number`; `nil` where the reason says it.
    private static func remedy(_ verb: String, _ path: String, _ number: Int32) -> String? {
        // A program is looked for in several places.
        guard verb != "start" else { return nil }
        let folder = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[..<$0]) } ?? ""
        let places = [folder, path].filter { !$0.isEmpty }.map { ShellWord.quoted($0) }
        switch number {
        case EROFS:
            return "Check how its file system is mounted: findmnt -T \(places.first ?? ".")"
        case EACCES, EPERM:
            // Below a directory that cannot be searched, ls(1) shows nothing.
            let shown = closedDirectory(above: path).map { [ShellWord.quoted($0)] } ?? places
            return "Check who may do that: ls -ld \(shown.joined(separator: " "))"
        case EIO:
            return "The disk, or the way to it, fails: dmesg says more."
        case EMFILE, ENFILE:
            return "Too many files are open: ulimit -n"
        // A file that is written is made where there is none: what is missing is its directory.
        case ENOENT where verb == "write" && !folder.isEmpty:
            return "Make its directory first: mkdir -p \(ShellWord.quoted(folder))"
        default:
            return nil
        }
    }

    /// A file or directory takes no more: the disk is full, or the user's share of it.
    package static func diskFull(
        at path: String, details: [String: String] = [:], cause: (any Error)? = nil
    ) -> KeychainError {
        KeychainError(
            .diskFull, "the disk is full: \(path) cannot be written.",
            hint: "Nothing is lost. Make room on it (df -h), then run the same command again.",
            details: details.merging(["path": path]) { $1 }, cause: cause)
    }
}
