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
        do {
            let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            defer { closeIgnoringFailure(handle) }
            var status = stat()
            if unsafe fstat(handle.fileDescriptor, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
                throw KeychainError(
                    .fileUnavailable, "cannot read \(path): it is a directory.", details: ["file": path])
            }
            let data = try handle.read(upToCount: Self.limit + 1) ?? Data()
            guard data.count <= Self.limit else {
                throw KeychainError(.dataTooLarge, "\(name) is larger than \(Phrases.size(Self.limit)).")
            }
            return data
        } catch let error as KeychainError {
            throw error
        } catch {
            let reason =
                (error as NSError).code == CocoaError.fileReadNoSuchFile.rawValue
                ? "there is no such file" : Self.reason(error)
            throw KeychainError(
                .fileUnavailable, "cannot read \(path): \(reason).", details: ["file": path], cause: error)
        }
    }

    private static let limit = 64 << 20

    // Reading is over; a failure to close loses nothing.
    private func closeIgnoringFailure(_ handle: FileHandle) { do { try handle.close() } catch {} }

    private static func reason(_ error: any Error) -> String {
        switch (error as NSError).code {
        case CocoaError.fileReadNoPermission.rawValue: "permission denied"
        default: "it cannot be opened"
        }
    }
}
