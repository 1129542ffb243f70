import CLinux
import Foundation
import KeyfobPrimitives

/// The object files of one SoftHSM token at one moment.
///
/// For a list of the files. A writer proves that only its own files were added by comparing `snapshot(of:)` before and
/// after its change.
struct ObjectListing: Sendable, Hashable {
    /// The metadata of one object file.
    struct Entry: Sendable, Hashable {
        /// The size in bytes.
        let size: Int64
        /// The inode number.
        let inode: UInt64
        /// Whether no attribute was ever written. SoftHSM writes a counter of 8 bytes before the first attribute.
        var isEmpty: Bool { size <= 8 }
        /// The time of the last change of the content, in nanoseconds since 1970.
        let modified: Int64
        /// The time of the last change of content, name or mode, in nanoseconds since 1970. Programs cannot set it.
        let changed: Int64
    }

    /// The files by name, without `token.object`.
    let files: [String: Entry]

    /// Reads the directory. Blocks for one stat(2) for each file.
    ///
    /// - Throws: `KeychainError` with code `tokenAbsent` if the directory is missing; `fileUnavailable` if it cannot be
    ///   read completely.
    init(of token: SoftHSMToken) throws(KeychainError) {
        var files: [String: Entry] = [:]
        try unsafe Self.enumerate(token.directory.filePath) { name, entry in
            unsafe files[String(decoding: name, as: UTF8.self)] = entry
        }
        self.files = files
    }

    /// The state of the token, whose stamp changes whenever an object is added, removed or changed; `nil` if the
    /// directory is missing or cannot be read.
    ///
    /// Costs one stat(2) for each file: below 3 ms for 1,000 objects. Before Linux 6.13, two changes of one object
    /// within one tick of the kernel's clock (1 to 4 ms) that keep its size count as one. A stamp taken between them
    /// misses the second change.
    static func snapshot(of token: SoftHSMToken) -> TokenSnapshot? {
        var entries: [TokenSnapshot.Entry] = []
        entries.reserveCapacity(1024)
        do throws(KeychainError) {
            try unsafe enumerate(token.directory.filePath) { name, entry in
                entries.append(snapshotEntry(unsafe digest(name), entry))
            }
        } catch {
            return nil
        }
        return TokenSnapshot(entries)
    }

    /// The current state of some of the files. Ignores names that are not object files.
    static func states(
        of names: Set<String>, of token: SoftHSMToken
    ) -> [(identity: UInt64, entry: TokenSnapshot.Entry?)] {
        names.filter { $0.hasSuffix(".object") && $0 != "token.object" }.map { name in
            var name = name
            let identity = name.withUTF8 { unsafe digest($0) }
            var status = stat()
            let path = token.directory.filePath + "/" + name
            guard unsafe lstat(path, &status) == 0 else { return (identity, nil) }
            return (identity, snapshotEntry(identity, Entry(status)))
        }
    }

    private static func snapshotEntry(_ identity: UInt64, _ entry: Entry) -> TokenSnapshot.Entry {
        TokenSnapshot.Entry(
            identity: identity, version: (entry.size, Int64(bitPattern: entry.inode), entry.modified, entry.changed))
    }

    /// A 64-bit digest of a file's name (FNV-1a). SoftHSM's file names are random, so collisions within a token are not
    /// expected.
    private static func digest(_ name: UnsafeBufferPointer<UInt8>) -> UInt64 {
        var digest: UInt64 = 0xCBF2_9CE4_8422_2325
        for index in name.indices { digest = unsafe (digest ^ UInt64(name[index])) &* 0x100_0000_01B3 }
        return digest
    }

    private static let suffix = Array(".object".utf8)
    private static let tokenName = Array("token.object".utf8)

    /// Calls `body` for each object file.
    private static func enumerate(
        _ path: String, _ body: (UnsafeBufferPointer<UInt8>, Entry) -> Void
    ) throws(KeychainError) {
        try unsafe forEachName(path) { descriptor, name in
            guard let start = name.baseAddress else { return }
            var status = stat()
            let text = unsafe UnsafeRawPointer(start).assumingMemoryBound(to: CChar.self)
            // The file was removed after readdir(3).
            guard unsafe fstatat(descriptor, text, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return }
            unsafe body(name, Entry(status))
        }
    }

    /// Calls `body` with the directory's descriptor and the name of each object file.
    private static func forEachName(
        _ path: String, _ body: (Int32, UnsafeBufferPointer<UInt8>) -> Void
    ) throws(KeychainError) {
        guard let directory = OpenDirectory(path: path) else {
            throw KeychainError(
                .tokenAbsent, "the token's directory \(path) cannot be read.", details: ["path": path],
                cause: KeychainError.file("read", path, errno))
        }
        let descriptor = directory.descriptor
        try unsafe directory.forEachName { name in
            guard let start = name.baseAddress, name.count > suffix.count,
                unsafe memcmp(start + name.count - suffix.count, suffix, suffix.count) == 0,
                unsafe name.count != tokenName.count || memcmp(start, tokenName, name.count) != 0
            else { return }
            unsafe body(descriptor, name)
        }
    }
}

extension ObjectListing.Entry {
    fileprivate init(_ status: stat) {
        func nanoseconds(_ time: timespec) -> Int64 { Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec) }
        self.init(
            size: Int64(status.st_size), inode: UInt64(status.st_ino), modified: nanoseconds(status.st_mtim),
            changed: nanoseconds(status.st_ctim))
    }
}
