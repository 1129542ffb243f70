import CLinux
import Foundation

/// SQLite's write-ahead log beside a vault, as far as it tells which file it belongs to.
///
/// A header of 32 bytes, then one frame behind the other: 24 bytes, among them the page's number, and the page. Frames
/// whose salts are not those of the header are left of an earlier log, and so may be the page of a frame that a kill
/// has cut short: only a sum that runs through all frames tells.
struct VaultLog {
    /// Where it lies, or would.
    let path: String

    /// Whether there is nothing in it. Costs one stat(2).
    var isEmpty: Bool {
        var status = stat()
        return unsafe stat(path, &status) != 0 || status.st_size == 0
    }

    /// Whether it may be the log of a file, from which it then differs by what was committed last. One without a link,
    /// which other programs leave, and vaults that were just made, may be any file's.
    ///
    /// The link that fits is mostly the first one, as long as the file has nothing of the log, or the last one, when it
    /// has all of it; so few frames are read.
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
        func fits(_ link: LogLink) -> Bool { link.previous == number || link.current == number }
        let count = (Int(try file.status().st_size) - Self.headerSize) / (Self.frameHeaderSize + pageSize)
        var first = 0
        while first < count {
            guard let frame = Self.frame(first, pageSize, of: file), frame[8..<16] == header[16..<24] else {
                return true
            }
            if let link = Self.link(in: first, frame, pageSize, of: file) {
                if fits(link) { return true }
                break
            }
            first += 1
        }
        for index in stride(from: count - 1, to: first, by: -1) {
            if let frame = Self.frame(index, pageSize, of: file), frame[8..<16] == header[16..<24],
                let link = Self.link(in: index, frame, pageSize, of: file), fits(link)
            {
                return true
            }
        }
        return !Self.hasWholeLink(header, isBigEndian: magic & 1 == 1, pageSize, count, of: file)
    }

    /// Whether there is a link that SQLite reads: in one of the frames up to the first that is not whole.
    private static func hasWholeLink(
        _ header: [UInt8], isBigEndian: Bool, _ pageSize: Int, _ count: Int, of file: borrowing OpenFile
    ) -> Bool {
        var sum = Sum(isBigEndian: isBigEndian)
        sum.add(header[0..<24])
        guard sum.bytes.elementsEqual(header[24..<32]) else { return false }
        for index in 0..<count {
            guard let frame = Self.frame(index, pageSize, of: file), frame[8..<16] == header[16..<24],
                let page = Self.page(of: index, pageSize, in: file)
            else { return false }
            sum.add(frame[0..<8])
            sum.add(page[...])
            guard sum.bytes.elementsEqual(frame[16..<24]) else { return false }
            if frame[0..<4].elementsEqual(Self.linkPage), LogLink(page: page) != nil { return true }
        }
        return false
    }

    /// The sum of SQLite's log format: of pairs of words, each added to what the other has come to.
    private struct Sum {
        let isBigEndian: Bool
        private var first: UInt32 = 0
        private var second: UInt32 = 0

        init(isBigEndian: Bool) { self.isBigEndian = isBigEndian }

        /// As the log has it.
        var bytes: [UInt8] { first.bigEndianBytes + second.bigEndianBytes }

        /// - Parameter bytes: A multiple of eight.
        mutating func add(_ bytes: ArraySlice<UInt8>) {
            var offset = bytes.startIndex
            while offset + 8 <= bytes.endIndex {
                first &+= word(bytes, at: offset) &+ second
                second &+= word(bytes, at: offset + 4) &+ first
                offset += 8
            }
        }

        private func word(_ bytes: ArraySlice<UInt8>, at offset: Int) -> UInt32 {
            let word = (0..<4).reduce(UInt32(0)) { $0 << 8 | UInt32(bytes[offset + $1]) }
            return isBigEndian ? word : word.byteSwapped
        }
    }

    private static let headerSize = 32
    private static let frameHeaderSize = 24
    private static let linkPage = UInt32(LogLink.pageNumber).bigEndianBytes

    private static func frame(_ index: Int, _ pageSize: Int, of file: borrowing OpenFile) -> [UInt8]? {
        read(frameHeaderSize, at: headerSize + index * (frameHeaderSize + pageSize), of: file)
    }

    private static func page(of index: Int, _ pageSize: Int, in file: borrowing OpenFile) -> [UInt8]? {
        read(pageSize, at: headerSize + index * (frameHeaderSize + pageSize) + frameHeaderSize, of: file)
    }

    private static func link(
        in index: Int, _ frame: [UInt8], _ pageSize: Int, of file: borrowing OpenFile
    ) -> LogLink? {
        guard frame[0..<4].elementsEqual(linkPage) else { return nil }
        return page(of: index, pageSize, in: file).flatMap { LogLink(page: $0) }
    }

    /// `nil` where the file ends before.
    private static func read(_ count: Int, at offset: Int, of file: borrowing OpenFile) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        return unsafe pread(file.descriptor, &bytes, count, offset) == count ? bytes : nil
    }
}
