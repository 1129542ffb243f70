import CLinux
import Foundation
import KeyfobPrimitives
import Synchronization

/// Reports which files of a directory any process of this machine has touched since the last question.
///
/// Uses inotify(7): a question costs one read(2), regardless of the number of files. The kernel queues the event before
/// the call that made the change returns. All watches of a process share one instance, because the number of instances
/// per user is small.
package final class DirectoryWatch: Sendable {
    /// The changes in the directory.
    package enum Changes: Equatable {
        /// The names of the files that were created, written, renamed or removed; empty if there are none.
        case names(Set<String>)
        /// Unknown: the queue has overflowed, the directory is gone, or this is a child of the process that watched.
        case unknown
    }

    private struct Instance {
        var descriptor: Int32 = -1
        var process: Int32 = 0
        /// The number of this instance. A watch of an earlier instance is invalid.
        var number = 0
        var subscriptions = 0
        /// The changes not yet reported to each subscription, by watch and subscription. Two subscriptions may share a
        /// watch.
        var pending: [Int32: [Int: Changes]] = [:]
    }

    private static let shared = Lock(Instance())
    private static let mask = UInt32(
        IN_CREATE | IN_DELETE | IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF
            | IN_MOVE_SELF | IN_ONLYDIR)

    private let instance: Int
    private let watch: Int32
    private let subscription: Int
    private let path: String
    private let file: FileNumber
    /// When `isUntouched()` last found the directory under its path.
    private let found = Atomic(0)

    /// Distinguishes a directory from a later one with the same path.
    private struct FileNumber: Equatable {
        let device: UInt
        let inode: UInt

        init?(_ path: String) {
            var status = stat()
            guard unsafe stat(path, &status) == 0 else { return nil }
            device = UInt(status.st_dev)
            inode = UInt(status.st_ino)
        }
    }

    /// Starts to watch a directory; `nil` if the file system does not support it, or no watch is available.
    package init?(_ path: String) {
        // inotify does not report changes to a network file system by other machines.
        guard unsafe Self.localFileSystems.contains(keyfob_filesystem_type(path)), let file = FileNumber(path) else {
            return nil
        }
        let made = Self.shared.withLock { shared -> (Int, Int32, Int)? in
            guard Self.open(&shared) else { return nil }
            let watch = unsafe inotify_add_watch(shared.descriptor, path, Self.mask)
            guard watch >= 0 else { return nil }
            shared.subscriptions += 1
            shared.pending[watch, default: [:]][shared.subscriptions] = .names([])
            return (shared.number, watch, shared.subscriptions)
        }
        guard let made else { return nil }
        (instance, watch, subscription) = made
        self.path = path
        self.file = file
    }

    deinit {
        Self.shared.withLock { shared in
            guard shared.number == instance, shared.process == getpid() else { return }
            shared.pending[watch]?[subscription] = nil
            guard shared.pending[watch]?.isEmpty == true else { return }
            shared.pending[watch] = nil
            inotify_rm_watch(shared.descriptor, watch)
        }
    }

    /// The changes since the last call, or since the watch began. After `.unknown` a new watch is needed.
    package func changes() -> Changes { isThere ? changesTold() : .unknown }

    /// Whether the directory is still the one at its path.
    ///
    /// The kernel reports the removal of a directory only when no process has it open any more, and does not report at
    /// all that a directory above it was renamed.
    private var isThere: Bool { FileNumber(path) == file }

    /// The changes that inotify has reported.
    private func changesTold() -> Changes {
        Self.shared.withLock { shared in
            guard shared.number == instance, shared.process == getpid() else { return .unknown }
            Self.read(&shared)
            guard let changes = shared.pending[watch]?[subscription] else { return .unknown }
            if case .names(let names) = changes, !names.isEmpty { shared.pending[watch]?[subscription] = .names([]) }
            return changes
        }
    }

    /// Whether nothing in the directory was touched since the last question.
    ///
    /// Misses the renaming of a directory above for at most one tick of the kernel's clock: a server asks before each
    /// signature, and looking up the path costs more than the rest of the question. Changes to the files, or to the
    /// directory itself, are noticed at once.
    package func isUntouched() -> Bool {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        let now = time.tv_sec * 1_000_000_000 + time.tv_nsec
        if found.load(ordering: .relaxed) != now {
            guard isThere else { return false }
            found.store(now, ordering: .relaxed)
        }
        return changesTold() == .names([])
    }

    /// ext2 to ext4, XFS, Btrfs, tmpfs, F2FS, overlayfs, ZFS, as defined in linux/magic.h.
    private static let localFileSystems: Set<Int> = [
        0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0xF2F5_2010, 0x794C_7630, 0x2FC1_2FC1,
    ]

    /// Creates the process's inotify instance if it has none, or only the one inherited from its parent.
    private static func open(_ shared: inout Instance) -> Bool {
        if shared.descriptor >= 0, shared.process == getpid() { return true }
        if shared.descriptor >= 0 { close(shared.descriptor) }
        let number = shared.number + 1
        shared = Instance(
            descriptor: inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC)), process: getpid(), number: number)
        return shared.descriptor >= 0
    }

    private static let headerLength = 16
    /// On the stack, since usually there are no events. Large enough for at least one event with the longest name.
    private static let bufferLength = 1024

    /// Reads the pending events and distributes them to the subscriptions.
    private static func read(_ shared: inout Instance) {
        unsafe withUnsafeTemporaryAllocation(byteCount: bufferLength, alignment: 8) { buffer in
            while true {
                let count = unsafe Glibc.read(shared.descriptor, buffer.baseAddress, buffer.count)
                guard count > 0 else {
                    if count < 0, errno == EINTR { continue }
                    return
                }
                var offset = 0
                while offset + headerLength <= count {
                    let watch = unsafe buffer.load(fromByteOffset: offset, as: Int32.self)
                    let mask = unsafe buffer.load(fromByteOffset: offset + 4, as: UInt32.self)
                    let length = Int(unsafe buffer.load(fromByteOffset: offset + 12, as: UInt32.self))
                    let name = unsafe buffer[(offset + headerLength)..<min(offset + headerLength + length, count)]
                        .prefix { $0 != 0 }
                    unsafe take(watch, mask, String(decoding: name, as: UTF8.self), &shared)
                    offset += headerLength + length
                }
            }
        }
    }

    private static func take(_ watch: Int32, _ mask: UInt32, _ name: String, _ shared: inout Instance) {
        if mask & UInt32(IN_Q_OVERFLOW) != 0 {
            for watch in shared.pending.keys { forget(watch, &shared) }
        } else if mask & UInt32(IN_IGNORED | IN_UNMOUNT | IN_DELETE_SELF | IN_MOVE_SELF) != 0 {
            forget(watch, &shared)
        } else {
            for (subscription, changes) in shared.pending[watch] ?? [:] {
                guard case .names(let names) = changes, !names.contains(name) else { continue }
                shared.pending[watch]?[subscription] = .names(names.union([name]))
            }
        }
    }

    private static func forget(_ watch: Int32, _ shared: inout Instance) {
        for subscription in (shared.pending[watch] ?? [:]).keys { shared.pending[watch]?[subscription] = .unknown }
    }
}
