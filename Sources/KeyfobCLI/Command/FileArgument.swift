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

    /// What messages call it: the last part of its path.
    var name: String { path == "-" ? "standard input" : path.split(separator: "/").last.map(String.init) ?? path }

    /// The whole content. Public or private, it is limited to 64 MiB.
    ///
    /// - Throws: `KeychainError`; `fileUnavailable` with the system's reason, `dataTooLarge`.
    func read() throws -> Data {
        if path == "-" { return try StandardInput.readSecret().copyData() }
        try Self.requireInherited(path)
        do {
            let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            defer { closeIgnoringFailure(handle) }
            var status = stat()
            if unsafe fstat(handle.fileDescriptor, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
                throw Self.unreadable(path, "it is a directory")
            }
            let data = try handle.read(upToCount: Self.limit + 1) ?? Data()
            guard data.count <= Self.limit else {
                throw KeychainError(.dataTooLarge, "\(name) is larger than \(Phrases.size(Self.limit)).")
            }
            return data
        } catch let error as KeychainError {
            throw error
        } catch {
            throw Self.unreadable(path, Self.reason(error), cause: error)
        }
    }

    /// Refuses `/dev/fd/N` where the caller has not opened it: it may be one of our own, such as the vault's.
    ///
    /// - Throws: `KeychainError` with code `fileUnavailable`.
    static func requireInherited(_ path: String) throws(KeychainError) {
        guard let number = InheritedDescriptors.number(at: path), !InheritedDescriptors.contains(number) else { return }
        throw unreadable(path, reason(EBADF))
    }

    /// The error for a file that cannot be read, with the same words wherever one is named.
    static func unreadable(_ path: String, _ reason: String, cause: (any Error)? = nil) -> KeychainError {
        KeychainError(
            .fileUnavailable, "cannot read \(path): \(reason).", hint: remedy(path), details: ["file": path],
            cause: cause)
    }

    /// What to do about a file that cannot be read.
    static func remedy(_ path: String) -> String {
        if let number = InheritedDescriptors.number(at: path) { return "Let the shell open it: \(number)< FILE" }
        return "Check the path, and who may read it: ls -ld \(ShellWord.quoted(path))"
    }

    /// What an error number of a file that cannot be read means.
    static func reason(_ number: Int32) -> String {
        switch number {
        case ENOENT: "there is no such file"
        case EACCES: "permission denied"
        case EISDIR: "it is a directory"
        default: unsafe String(cString: strerror(number))
        }
    }

    private static let limit = 64 << 20

    // Reading is over; a failure to close loses nothing.
    private func closeIgnoringFailure(_ handle: FileHandle) { do { try handle.close() } catch {} }

    private static func reason(_ error: any Error) -> String {
        switch (error as NSError).code {
        case CocoaError.fileReadNoSuchFile.rawValue: reason(ENOENT)
        case CocoaError.fileReadNoPermission.rawValue: reason(EACCES)
        default: "it cannot be opened"
        }
    }
}
