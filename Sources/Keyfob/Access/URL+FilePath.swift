package import Foundation

extension URL {
    /// The path of a file's URL, for system calls: what `path` is, without the sets of characters that Foundation makes
    /// for it first.
    package var filePath: String {
        let path = path(percentEncoded: false)
        return path.utf8.count > 1 && path.utf8.last == UInt8(ascii: "/") ? String(path.dropLast()) : path
    }
}
