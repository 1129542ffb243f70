package import Foundation

extension URL {
    /// The path of a file's URL, for system calls: what `path` is, without the sets of characters that Foundation makes
    /// for it first.
    package var filePath: String {
        let path = path(percentEncoded: false)
        return path.utf8.count > 1 && path.utf8.last == UInt8(ascii: "/") ? String(path.dropLast()) : path
    }

    /// `standardizedFileURL`, which takes Foundation longer than opening a keychain's configuration, only for a path
    /// that is not so already.
    package var standardizedPath: URL {
        // How many dots there are since the last slash; `nil` after anything else.
        var dots: Int? = 0
        var isFirst = true
        for byte in filePath.utf8 {
            switch byte {
            case UInt8(ascii: "/"):
                // "//", "/./" or "/../".
                if !isFirst, let dots, dots <= 2 { return standardizedFileURL }
                dots = 0
            case UInt8(ascii: "."): dots = dots.map { $0 + 1 }
            default:
                if isFirst { return standardizedFileURL }
                dots = nil
            }
            isFirst = false
        }
        if let dots, dots <= 2 { return standardizedFileURL }
        return self
    }
}
