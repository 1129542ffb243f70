import Foundation
import Glibc
import Keyfob
import KeyfobPrimitives

/// The link by which another program finds a helper: the helper's name in a directory of `PATH`.
struct HelperLink {
    /// The state of the path of a link.
    enum State: Equatable {
        case missing
        /// A link to a program called keyfob, at this path.
        case linked(String)
        /// A file of another program, or a link to one.
        case occupied
    }

    /// The directory of the links.
    struct Folder {
        let path: String

        /// - Parameter path: The value of `--bin`; without it, `~/.local/bin`.
        init(_ path: String?) {
            self.path = path ?? (Environment.nonEmpty("HOME") ?? NSHomeDirectory()) + "/.local/bin"
        }

        /// Whether shells find programs in it.
        var isInPath: Bool {
            (Environment.nonEmpty("PATH") ?? "").split(separator: ":").contains { String($0) == path }
        }
    }

    let path: String

    /// - Parameter name: The name under which the other program calls the helper.
    init(_ name: String, in folder: Folder) { path = folder.path + "/" + name }

    /// The path of this program.
    static var target: String {
        get throws {
            let link = "/proc/self/exe"
            guard let path = Self.link(at: link) else { throw KeychainError.file("read", link, errno) }
            return path
        }
    }

    var state: State {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return .missing }
        guard let target = Self.link(at: path) else { return .occupied }
        let isOwn = target.split(separator: "/").last == "keyfob" || target == (try? Self.target)
        return isOwn ? .linked(target) : .occupied
    }

    /// Refuses to replace a file of another program.
    ///
    /// - Throws: `KeychainError.refused`.
    func requireOwn() throws {
        guard state == .occupied else { return }
        throw KeychainError(
            .refused, "\(TerminalSafe.text(path)) exists and is not a link to keyfob; nothing was changed.",
            hint: "Remove it, or choose another directory: --bin DIR", details: ["path": path])
    }

    /// Makes the link, in place of one to an older keyfob.
    ///
    /// - Throws: `KeychainError.fileUnavailable` or `refused`.
    func make(to target: String) throws {
        // Links to programs are public.
        try FileManager.default.createDirectory(
            atPath: OpenFile.directory(of: path), withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o755])
        let temporary = path + "." + String(UInt64.random(in: 0...UInt64.max), radix: 36)
        guard unsafe symlink(target, temporary) == 0, unsafe rename(temporary, path) == 0 else {
            let number = errno
            unsafe unlink(temporary)
            throw KeychainError.file("write", path, number)
        }
    }

    /// Removes the link.
    ///
    /// - Throws: `KeychainError.fileUnavailable` or `refused`.
    func remove() throws {
        guard unsafe unlink(path) == 0 || errno == ENOENT else { throw KeychainError.file("remove", path, errno) }
    }

    /// The target of a symbolic link; `nil` for anything else.
    private static func link(at path: String) -> String? {
        // It fails for what is not a link.
        try? FileManager.default.destinationOfSymbolicLink(atPath: path)
    }
}
