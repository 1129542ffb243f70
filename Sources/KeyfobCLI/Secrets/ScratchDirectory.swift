import CLinux
import Foundation
import Glibc
import Keyfob
import KeyfobPrimitives

/// A private directory in memory for a secret that another program must read as a file. It is wiped at the end.
///
/// This process holds a lock on the directory, and the programs that it starts inherit the lock. A directory without a
/// lock belonged to processes that were killed; the next use wipes it.
struct ScratchDirectory: ~Copyable {
    /// The path of the directory.
    let path: String
    /// The descriptor of the lock. The directory is in use as long as a process has it open.
    let lock: Int32

    /// The command that needs the directory.
    enum Use: String, CaseIterable {
        case edit, run

        /// The beginning of the directory's name.
        var prefix: String { "keyfob-\(rawValue)-" }

        fileprivate var refusal: String {
            switch self {
            case .edit: "there is no directory in memory for the editor's file; a secret must not reach a disk."
            case .run: "there is no directory in memory for the files of --file; a secret must not reach a disk."
            }
        }

        fileprivate var alternative: String {
            switch self {
            case .edit: "or use no editor: " + Wording.selected.keyfob("set NAME --replace")
            case .run: "or give the program the secret in a variable: --env NAME=ITEM"
            }
        }
    }

    /// Creates a directory below the first of `candidates` that is in memory.
    ///
    /// - Throws: `KeychainError.refused` if there is none, because a secret must not reach a disk.
    init(for use: Use = .edit, candidates: [String] = ScratchDirectory.candidates) throws {
        guard let parent = candidates.first(where: { unsafe MemoryFileSystem.holds($0) && access($0, W_OK) == 0 })
        else {
            throw KeychainError(
                .refused, use.refusal, hint: "Make /dev/shm or $XDG_RUNTIME_DIR a tmpfs, \(use.alternative)")
        }
        while true {
            let path = try TemporaryDirectory.make(in: parent, prefix: use.prefix)
            // Another process may have swept the directory before it was locked; then a new one is created.
            guard let lock = Self.lock(path) else { continue }
            self.path = path
            self.lock = lock
            return
        }
    }

    deinit {
        // The whole directory is wiped, because programs leave copies next to the file. Files that remain are in memory
        // and readable only by this user.
        if !Self.wipe(path) { StandardError.write("keyfob: \(path) could not be removed.\n") }
        close(lock)
    }

    /// Wipes the directories left by killed processes of this user, and returns their number.
    ///
    /// Directories that a program still uses, and those that belong to others, are left alone. The next sweep retries
    /// those that could not be wiped.
    @discardableResult
    static func sweep(candidates: [String] = ScratchDirectory.candidates) -> Int {
        var count = 0
        for parent in candidates where MemoryFileSystem.holds(parent) {
            // A directory that cannot be listed contains none of our directories.
            let names = (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? []
            for name in names where Use.allCases.contains(where: { name.hasPrefix($0.prefix) }) {
                let path = parent + "/" + name
                guard let lock = lock(path) else { continue }
                if wipe(path) { count += 1 }
                close(lock)
            }
        }
        return count
    }

    /// Locks a directory and returns its descriptor.
    ///
    /// `nil` if another process holds the lock, or if the directory is gone, belongs to another user, or is open to
    /// others.
    private static func lock(_ path: String) -> Int32? {
        let descriptor = unsafe keyfob_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0)
        guard descriptor >= 0 else { return nil }
        var status = stat()
        // The number of links is 0 if the directory was removed between the two calls.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, unsafe fstat(descriptor, &status) == 0, status.st_nlink > 0,
            status.st_uid == geteuid(), status.st_mode & 0o077 == 0
        else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    /// Overwrites the files of a directory and removes it. Returns false if anything is left.
    private static func wipe(_ path: String) -> Bool {
        // Files that cannot be overwritten are removed with the directory.
        for name in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] {
            _ = try? PrivateFile.remove(URL(fileURLWithPath: path + "/" + name))
        }
        do { try FileManager.default.removeItem(atPath: path) } catch { return false }
        return true
    }

    /// The candidates: the user's runtime directory, then the machine's.
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
