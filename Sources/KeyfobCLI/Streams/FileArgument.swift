import ArgumentParser
import Foundation
import Glibc
import Keyfob
import KeyfobPrimitives

/// A file on the command line; `-` is standard input or output.
struct FileArgument: ExpressibleByArgument {
    let path: String

    init?(argument: String) {
        guard !argument.isEmpty else { return nil }
        path = argument
    }

    static var defaultCompletionKind: CompletionKind { .file() }

    /// The name for messages: the last component of the path.
    var name: String { path == "-" ? "standard input" : path.split(separator: "/").last.map(String.init) ?? path }

    /// Returns the whole content, at most 64 MiB; standard input at most 32 MiB.
    ///
    /// Blocks until the writer of a pipe has closed it.
    ///
    /// - Parameter timeout: The value of `--timeout`, if given; limits the wait for input that is not typed by a
    ///   person.
    /// - Throws: `KeychainError.fileUnavailable` with the system's reason; `dataTooLarge`, `timedOut`.
    func read(waiting timeout: TimeSpan?) throws -> Data {
        if path == "-" { return try StandardInput.readSecret(waiting: timeout).copyData() }
        let bytes = try Self.open(path).readAll(upTo: Self.limit, waiting: timeout)
        guard bytes.count <= Self.limit else {
            throw KeychainError(.dataTooLarge, "\(name) is larger than \(Plural.size(Self.limit)).")
        }
        return bytes.copyData()
    }

    /// Opens a file for reading. Opening a FIFO does not wait for a writer; reading does.
    ///
    /// - Parameter detail: The name of the path in the error's details.
    /// - Throws: `KeychainError.fileUnavailable`.
    static func open(_ path: String, detail: String = "file") throws(KeychainError) -> OpenFile {
        try requireInherited(path)
        let flags = O_RDONLY | O_NOCTTY | O_NONBLOCK
        guard let file = OpenFile(path: path, flags: flags, shownAs: TerminalSafe.text(path)) else {
            throw unreadable(path, reason(errno), detail: detail)
        }
        var status = stat()
        if unsafe fstat(file.descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
            throw unreadable(path, reason(EISDIR), detail: detail)
        }
        return file
    }

    /// Refuses `/dev/fd/N` for a descriptor that the caller did not open, because it may be one of ours, such as the
    /// vault's.
    ///
    /// - Throws: `KeychainError.fileUnavailable`.
    static func requireInherited(_ path: String) throws(KeychainError) {
        guard let number = InheritedDescriptors.number(at: path), !InheritedDescriptors.contains(number) else { return }
        throw unreadable(path, reason(EBADF))
    }

    /// The error for a file that cannot be read, with the same wording everywhere.
    static func unreadable(_ path: String, _ reason: String, detail: String = "file") -> KeychainError {
        KeychainError(
            .fileUnavailable, "cannot read \(TerminalSafe.text(path)): \(reason).", hint: remedy(path),
            details: [detail: path])
    }

    /// The hint for a file that cannot be read.
    static func remedy(_ path: String) -> String {
        if let number = InheritedDescriptors.number(at: path) { return "Let the shell open it: \(number)< FILE" }
        return "Check the path and its permissions: ls -ld \(ShellWord.quoted(path))"
    }

    /// The description of an error number of a file operation.
    static func reason(_ number: Int32) -> String {
        switch number {
        case ENOENT: "there is no such file"
        case EACCES: "permission denied"
        case EISDIR: "it is a directory"
        default: unsafe String(cString: strerror(number))
        }
    }

    private static let limit = 64 << 20
}
