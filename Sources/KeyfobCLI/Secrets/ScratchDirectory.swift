import CLinux
import Foundation
import Glibc
import Keyfob
import KeyfobPrimitives

/// A private directory in memory, for a secret that another program must read as a file; wiped at the end.
struct ScratchDirectory: ~Copyable {
    /// The directory's path.
    let path: String

    /// Makes a directory below the first of `candidates` that is kept in memory.
    ///
    /// - Throws: `KeychainError.refused` where none is: a secret must not reach a disk.
    init(candidates: [String] = ScratchDirectory.candidates) throws {
        guard let parent = candidates.first(where: { unsafe Self.isMemory($0) && access($0, W_OK) == 0 }) else {
            throw KeychainError(
                .refused, "there is no directory in memory for the editor's file; a secret must not reach a disk.",
                hint:
                    "Make /dev/shm or $XDG_RUNTIME_DIR a tmpfs, or do without an editor: keyfob set NAME --replace"
            )
        }
        path = try TemporaryDirectory.make(in: parent)
    }

    deinit {
        // Editors leave copies beside the file. What cannot be removed is in memory and ours alone.
        do {
            for name in try FileManager.default.contentsOfDirectory(atPath: path) {
                try PrivateFile.remove(URL(fileURLWithPath: path + "/" + name))
            }
            try FileManager.default.removeItem(atPath: path)
        } catch {
            StandardError.write("keyfob: \(path) could not be removed.\n")
        }
    }

    /// Where to look: the user's runtime directory, then the machine's.
    static var candidates: [String] {
        [Environment.nonEmpty("XDG_RUNTIME_DIR"), "/dev/shm"].compactMap { $0 }
    }

    /// Whether a directory is kept in memory (tmpfs or ramfs).
    static func isMemory(_ path: String) -> Bool {
        // TMPFS_MAGIC and RAMFS_MAGIC of linux/magic.h.
        unsafe [0x0102_1994, 0x8584_58F6].contains(keyfob_filesystem_type(path))
    }

    /// Writes a secret to a file of mode 0600 in the directory and returns its path.
    func write(_ secret: SecretBytes, to name: String) throws -> String {
        let file = path + "/" + name
        try PrivateFile.write(secret, to: URL(fileURLWithPath: file))
        return file
    }
}
