import CLinux
import Foundation

/// SQLite's write-ahead log beside a vault, as far as it tells which file it belongs to.
///
/// A header of 32 bytes, then one frame behind the other: 24 bytes, among them the page's number, and the page. Frames
/// whose salts are not those of the header are left of an earlier log.
struct VaultLog {
    /// Where it lies, or would.
    let path: String

    /// Whether there is nothing in it. Costs one stat(2).
    var isEmpty: Bool {
        var status = stat()
        return unsafe stat(path, &status) != 0 || status.st_size == 0
    }

    /// Whether it may be the log of a file, from which it then differs by what was committed last. One without a link,
    /// which only other programs leave, may be any file's.
    ///
    /// Reads up to the link that fits, which mostly is the first one, in the first transaction of the log.
    ///
    /// - Parameter link: Gives the link that the file has now, without regard to the log, by the size of its pages.
    func mayBelong(toFileWith link: (_ pageSize: Int) throws -> LogLink?) throws -> Bool {
        // What cannot be opened is SQLite's to tell of.
        guard let file = OpenFile(path: path, flags: O_RDONLY) else { return true }
        // What begins otherwise SQLite does not read, either.
        guard let header = Self.read(Self.headerSize, at: 0, of: file),
            let magic = UInt32(bigEndianBytes: header[0..<4]), magic & ~1 == 0x377F_0682,
            let size = UInt32(bigEndianBytes: header[8..<12]), (512...65536).contains(size)
        else { return true }
        let pageSize = Int(size)
        // After the header: the link is then that of a state which the file has, or had, while this log was in use.
        let number = try link(pageSize)?.current ?? 0
        var isLinked = false
        var offset = Self.headerSize
        while let frame = Self.read(Self.frameHeaderSize, at: offset, of: file), frame[8..<16] == header[16..<24] {
            if frame[0..<4].elementsEqual(UInt32(LogLink.pageNumber).bigEndianBytes),
                let page = Self.read(pageSize, at: offset + Self.frameHeaderSize, of: file),
                let found = LogLink(page: page)
            {
                guard found.previous != number, found.current != number else { return true }
                isLinked = true
            }
            offset += Self.frameHeaderSize + pageSize
        }
        return !isLinked
    }

    private static let headerSize = 32
    private static let frameHeaderSize = 24

    /// `nil` where the file ends before.
    private static func read(_ count: Int, at offset: Int, of file: borrowing OpenFile) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        return unsafe pread(file.descriptor, &bytes, count, offset) == count ? bytes : nil
    }
}
