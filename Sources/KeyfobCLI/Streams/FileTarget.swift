import Foundation
import Glibc
import Keyfob

/// The target of a path, with symbolic links resolved.
///
/// Files are replaced atomically, which must not happen to symbolic links and special files. As root, `-o /dev/stdout`
/// would replace the device entry by a file.
enum FileTarget {
    /// A regular file or a path that does not exist.
    case file(String)
    /// A device, pipe or socket, which is opened and written.
    case stream(String)
    /// A descriptor of this process, such as that of `/dev/stdout`. The number does not tell whether the caller opened
    /// it.
    case descriptor(Int32)

    /// Resolves the links of `path`.
    ///
    /// - Throws: `KeychainError.fileUnavailable` for too many levels of links; `refused` for a link of another user,
    ///   who controls its target; `invalidArgument` for an empty path.
    init(_ path: String) throws(KeychainError) {
        guard !path.isEmpty else {
            throw KeychainError(.invalidArgument, UsageError.emptyName.message, hint: UsageError.emptyName.hint)
        }
        var target = path
        for _ in 0..<40 {
            if let descriptor = InheritedDescriptors.number(at: target) {
                self = .descriptor(descriptor)
                return
            }
            var (status, followed) = (stat(), stat())
            guard unsafe lstat(target, &status) == 0 else {
                self = .file(target)
                return
            }
            guard status.st_mode & S_IFMT == S_IFLNK else {
                self = status.st_mode & S_IFMT == S_IFREG ? .file(target) : .stream(target)
                return
            }
            guard status.st_uid == 0 || status.st_uid == geteuid() else {
                throw KeychainError(
                    .refused, "\(TerminalSafe.text(target)) is a symbolic link of another user.",
                    hint: "Name the file itself.",
                    details: ["file": path])
            }
            var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
            let count = unsafe buffer.withUnsafeMutableBytes { buffer in
                unsafe readlink(target, buffer.bindMemory(to: CChar.self).baseAddress!, buffer.count)  // Not empty.
            }
            guard count > 0 else { throw .file("follow", target, errno) }
            let link = String(decoding: buffer.prefix(count), as: UTF8.self)
            let folder = target.utf8.lastIndex(of: UInt8(ascii: "/")).map { target[...$0] } ?? ""
            let next = link.hasPrefix("/") ? link : folder + link
            // Links in /proc can lead to objects without a path. Links to descriptors, such as /dev/stdout, are handled
            // in the next iteration.
            if InheritedDescriptors.number(at: next) == nil, unsafe stat(target, &followed) == 0,
                ![S_IFREG, S_IFDIR].contains(followed.st_mode & S_IFMT)
            {
                self = .stream(target)
                return
            }
            target = next
        }
        throw .file("follow", path, ELOOP)
    }
}
