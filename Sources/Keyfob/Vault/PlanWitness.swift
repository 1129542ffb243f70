import CLinux
import Foundation
import KeyfobPrimitives

/// A file beside the vault, there for as long as a plan is under way: it tells the plan from one out of a backup.
///
/// A copy of the vault that was taken in the middle of a change holds the plan of it. To carry that out when the copy
/// is put back would destroy what has been imported again since, or whose import came to its end. But the time at which
/// a file was last changed (`st_ctime`) is the kernel's: no program that puts files back can set it. So a plan whose
/// witness is missing, or is of another time than the plan says, was not left here by a kill.
///
/// Made, asked and removed with the vault's lock held.
struct PlanWitness {
    private let path: String

    /// The witness of the plan with that identity; one that is there or not.
    init(of plan: Data, in vault: String) { path = vault + Self.infix + plan.hexadecimal }

    /// Makes it, and has it on the disk before it returns. Blocks for the sync.
    ///
    /// - Returns: When the kernel says that it was changed, in seconds since 1970: a fraction does not outlast a
    ///   restart on every file system.
    /// - Throws: `refused`, `diskFull` or `fileUnavailable`.
    func make() throws(KeychainError) -> Int {
        guard let file = OpenFile(path: path, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW) else {
            throw .file("write", path, errno)
        }
        do throws(KeychainError) {
            try file.synchronize()
            let url = URL(fileURLWithPath: path, isDirectory: false)
            try PrivateFile.synchronizeDirectory(url.deletingLastPathComponent())
            return try file.status().st_ctim.tv_sec
        } catch {
            remove()
            throw error
        }
    }

    /// Whether it is the file that `make` made then.
    func isOriginal(of time: Int) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_ctim.tv_sec == time
    }

    /// Removes it, once the plan is out of the vault. One that a kill leaves goes with `removeAll`.
    func remove() { unsafe unlink(path) }

    /// Removes what kills have left of a vault's witnesses.
    ///
    /// - Parameter plans: The identities of those plans that are under way.
    /// - Throws: `fileUnavailable` where the directory cannot be read.
    static func removeAll(in vault: String, besides plans: Set<Data> = []) throws(KeychainError) {
        let file = URL(fileURLWithPath: vault, isDirectory: false)
        let kept = Set(plans.map { file.lastPathComponent + infix + $0.hexadecimal })
        for name in try OpenDirectory.names(in: file.deletingLastPathComponent())
        where name.hasPrefix(file.lastPathComponent + infix) && !kept.contains(name) {
            unsafe unlink(vault + name.dropFirst(file.lastPathComponent.count))
        }
    }

    private static let infix = ".plan-"
}
