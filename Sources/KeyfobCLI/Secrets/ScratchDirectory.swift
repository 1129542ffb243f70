import CLinux
import Foundation
import Glibc
import Keyfob
import KeyfobPrimitives

/// A private directory in memory, for a secret that another program must read as a file; wiped at the end.
///
/// Whoever uses it holds a lock on it, and so does every program that has inherited the lock: a directory whose lock is
/// free was left by processes that were killed, and the next use wipes it.
struct ScratchDirectory: ~Copyable {
    /// The directory's path.
    let path: String
    /// The descriptor of the lock; the directory is in use for as long as any process has it open.
    let lock: Int32

    private static let prefix = "keyfob-edit-"

    /// Makes a directory below the first of `candidates` that is kept in memory.
    ///
    /// - Throws: `KeychainError.refused` where none is: a secret must not reach a disk.
    init(candidates: [String] = ScratchDirectory.candidates) throws {
        guard let parent = candidates.first(where: { unsafe MemoryFileSystem.holds($0) && access($0, W_OK) == 0 }) else {
            throw KeychainError(
                .refused, "there is no directory in memory for the editor's file; a secret must not reach a disk.",
                hint:
                    "Make /dev/shm or $XDG_RUNTIME_DIR a tmpfs, or do without an editor: keyfob set NAME --replace"
            )
        }
        while true {
            let path = try TemporaryDirectory.make(in: parent, prefix: Self.prefix)
            // Whoever sweeps may have found the directory before it had its lock: then there is another.
            guard let lock = Self.lock(path) else { continue }
            self.path = path
            self.lock = lock
            return
        }
    }

    deinit {
        // Editors leave copies beside the file. What cannot be removed is in memory and ours alone.
        if !Self.wipe(path) { StandardError.write("keyfob: \(path) could not be removed.\n") }
        close(lock)
    }

    /// Wipes the directories that processes of this user have left because they were killed, and counts them.
    ///
    /// Those that an editor still has, and what others put in such a place, are left alone. What cannot be wiped is
    /// met again the next time.
    @discardableResult
    static func sweep(candidates: [String] = ScratchDirectory.candidates) -> Int {
        var count = 0
        for parent in candidates where MemoryFileSystem.holds(parent) {
            // A directory that cannot be listed has nothing of ours to be found.
            let names = (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? []
            for name in names where name.hasPrefix(prefix) {
                let path = parent + "/" + name
                guard let lock = lock(path) else { continue }
                if wipe(path) { count += 1 }
                close(lock)
            }
        }
        return count
    }

    /// The descriptor of a directory, which it keeps locked; `nil` where somebody else has the lock, or the directory
    /// is gone, another user's, or open to others.
    private static func lock(_ path: String) -> Int32? {
        let descriptor = unsafe keyfob_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0)
        guard descriptor >= 0 else { return nil }
        var status = stat()
        // The number of links is 0 where it was removed between the two calls.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, unsafe fstat(descriptor, &status) == 0, status.st_nlink > 0,
            status.st_uid == geteuid(), status.st_mode & 0o077 == 0
        else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    /// Overwrites the files of a directory and removes it; false where something is left.
    private static func wipe(_ path: String) -> Bool {
        // What cannot be overwritten is removed with the rest.
        for name in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] {
            _ = try? PrivateFile.remove(URL(fileURLWithPath: path + "/" + name))
        }
        do { try FileManager.default.removeItem(atPath: path) } catch { return false }
        return true
    }

    /// Where to look: the user's runtime directory, then the machine's.
    static var candidates: [String] {
        [Environment.nonEmpty("XDG_RUNTIME_DIR"), "/dev/shm"].compactMap { $0 }
    }

    /// Writes a secret to a file of mode 0600 in the directory and returns its path.
    func write(_ secret: SecretBytes, to name: String) throws -> String {
        let file = path + "/" + name
        try PrivateFile.write(secret, to: URL(fileURLWithPath: file))
        return file
    }
}
