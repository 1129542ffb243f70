import Foundation
import Glibc
import Keyfob

/// Where bytes for a path go: a file is replaced in one step, which must happen neither to a symbolic link nor to what
/// is no file. As root `-o /dev/stdout` would put a file in its place.
enum FileTarget {
    /// A file, there or not, behind all links.
    case file(String)
    /// A device, pipe or socket, which is written to as it is.
    case stream(String)
    /// A descriptor of this process, such as that of `/dev/stdout`; whose it is, its number does not say.
    case descriptor(Int32)

    /// Follows the links of `path`.
    ///
    /// - Throws: `KeychainError`: `fileUnavailable` for links that lead to themselves, `refused` for a link of another
    ///   user, who decides where it leads, `invalidArgument` for an empty path.
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
                    .refused, "\(Visible.text(target)) is a link of another user.", hint: "Name the file itself.",
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
            // Links in /proc lead to what has no path; what leads to a descriptor, such as /dev/stdout, is that.
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
