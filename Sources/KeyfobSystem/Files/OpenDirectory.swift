package import Foundation
import Glibc

/// A directory that is being read, straight by the system's calls: Foundation's enumeration costs some 50 µs a file,
/// which a check before every search cannot pay.
@safe package struct OpenDirectory: ~Copyable {
    private let stream: OpaquePointer
    private let path: String

    /// Opens the directory; `nil` with `errno` where that fails.
    package init?(path: String) {
        guard let stream = unsafe opendir(path) else { return nil }
        unsafe self.stream = stream
        self.path = path
    }

    deinit { unsafe closedir(stream) }

    /// The names in a directory, in no order; none where it is missing.
    package static func names(in url: URL) throws(KeychainError) -> [String] {
        guard let directory = OpenDirectory(path: url.filePath) else {
            if errno == ENOENT { return [] }
            throw .file("read", url.filePath, errno)
        }
        var names: [String] = []
        try unsafe directory.forEachName { names.append(unsafe String(decoding: $0, as: UTF8.self)) }
        return names
    }

    /// The descriptor, for calls that are relative to the directory.
    package var descriptor: Int32 { unsafe dirfd(stream) }

    /// Calls `body` with each name that is left, in no order, `.` and `..` among them. Behind the name there is a zero.
    ///
    /// - Throws: `fileUnavailable` where the directory cannot be read to its end: what is missing then is not gone.
    package func forEachName(_ body: (UnsafeBufferPointer<UInt8>) -> Void) throws(KeychainError) {
        while true {
            // The end, and an error, are told apart by this alone.
            errno = 0
            guard let found = unsafe readdir(stream) else {
                let reason = errno
                guard reason == 0 else { throw .file("read", path, reason) }
                return
            }
            unsafe withUnsafePointer(to: &found.pointee.d_name) { tuple in
                let start = unsafe UnsafeRawPointer(tuple).assumingMemoryBound(to: UInt8.self)
                let count = unsafe strlen(UnsafeRawPointer(tuple).assumingMemoryBound(to: CChar.self))
                unsafe body(UnsafeBufferPointer(start: start, count: count))
            }
        }
    }
}
