import CLinux
import Foundation
import KeyfobPrimitives
import Synchronization

/// Says which files of a directory were touched, by whatever process of this machine, since it was asked last.
///
/// By inotify(7): a question costs one read(2), however many files there are. The kernel tells a change before the
/// call that made it returns. All watches of a process share one instance, of which a user has few.
final class DirectoryWatch: TokenWatch {
    /// What happened in the directory.
    enum Changes: Equatable {
        /// The names of the files that were made, written, renamed or removed; of others there are none.
        case names(Set<String>)
        /// More than the kernel could keep, or the directory is gone, or this is a child of the process that watched.
        case unknown
    }

    private struct Instance {
        var descriptor: Int32 = -1
        var process: Int32 = 0
        /// Counts instances: a watch of an earlier one knows nothing.
        var number = 0
        var subscriptions = 0
        /// What each subscription has not been told yet, by watch and subscription: two of them may share a watch.
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
    /// When the directory was last found under its name by `isUntouched()`.
    private let found = Atomic(0)

    /// What tells a directory from another one that has its name later.
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

    /// Watches a directory from now on; `nil` where the kernel could not tell, or has no watch left.
    init?(_ path: String) {
        // What other machines do to a file system is not told.
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

    /// What happened since the last call, or since the watch began. After `.unknown` another watch is needed.
    func changes() -> Changes { isThere ? changesTold() : .unknown }

    /// Whether the directory is the one of its name. The kernel tells that one was removed only when nobody has it open
    /// any more, and not at all that one above it was renamed.
    private var isThere: Bool { FileNumber(path) == file }

    /// What the kernel tells.
    private func changesTold() -> Changes {
        Self.shared.withLock { shared in
            guard shared.number == instance, shared.process == getpid() else { return .unknown }
            Self.read(&shared)
            guard let changes = shared.pending[watch]?[subscription] else { return .unknown }
            if case .names(let names) = changes, !names.isEmpty { shared.pending[watch]?[subscription] = .names([]) }
            return changes
        }
    }

    /// Also where a directory above was renamed a moment ago, a tick of the kernel's clock at the most: a server asks
    /// before each signature, and to look at the directory's name costs more than all else of the question. What is
    /// done to the files in it, or to itself, is told at once.
    func isUntouched() -> Bool {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        let now = time.tv_sec * 1_000_000_000 + time.tv_nsec
        if found.load(ordering: .relaxed) != now {
            guard isThere else { return false }
            found.store(now, ordering: .relaxed)
        }
        return changesTold() == .names([])
    }

    /// ext2 to ext4, XFS, Btrfs, tmpfs, F2FS, overlayfs, ZFS, by the numbers of linux/magic.h.
    private static let localFileSystems: Set<Int> = [
        0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0xF2F5_2010, 0x794C_7630, 0x2FC1_2FC1,
    ]

    /// Makes the process' instance where it has none, or the one of its parent.
    private static func open(_ shared: inout Instance) -> Bool {
        if shared.descriptor >= 0, shared.process == getpid() { return true }
        if shared.descriptor >= 0 { close(shared.descriptor) }
        let number = shared.number + 1
        shared = Instance(
            descriptor: inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC)), process: getpid(), number: number)
        return shared.descriptor >= 0
    }

    private static let headerLength = 16
    /// On the stack, for mostly there is nothing to tell; at least one change with the longest name.
    private static let bufferLength = 1024

    /// Distributes what the kernel has to tell.
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
