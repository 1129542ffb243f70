import Foundation
import Glibc
import KeyfobPrimitives
import KeyfobOpenSSL

/// A backup file: a tar archive (POSIX ustar) with the files of a keychain.
///
/// The last member, `SHA256SUMS`, lists the SHA-256 digests of all other members in the format of sha256sum(1). A
/// truncated archive is therefore always detected.
struct KeychainArchive {
    /// A file in the archive.
    struct Member {
        /// The path in the archive.
        let name: String
        /// The content, which may be a PIN.
        let content: SecretBytes
    }

    /// The files without the list of digests.
    let members: [Member]

    private static let sums = "SHA256SUMS"
    private static let block = 512
    /// The size of a member has eleven octal digits.
    private static let largestSize = 1 << 33

    /// Makes an archive of `members`.
    init(_ members: [Member]) { self.members = members }

    /// The content of a file; `nil` if the archive does not contain it.
    subscript(name: String) -> SecretBytes? { members.first { $0.name == name }?.content }

    // MARK: Writing

    /// Writes the archive to a new file of mode 0600, which survives a power cut.
    ///
    /// - Parameters:
    ///   - url: The file.
    ///   - isReplacing: Whether an existing file is replaced.
    /// - Throws: `KeychainError` with code `refused` if the file exists and is not to be replaced, or `dataTooLarge`;
    ///   `diskFull` or `fileUnavailable` if it cannot be written.
    func write(to url: URL, isReplacing: Bool) throws(KeychainError) {
        let path = url.filePath
        guard let file = OpenFile(uniqueWithPrefix: path + ".", suffix: OpenFile.unfinishedSuffix, shownAs: path),
            let unfinished = file.uniqueName
        else { throw .file("write", path, errno) }
        do throws(KeychainError) {
            for member in members + [Member(name: Self.sums, content: SecretBytes(utf8: digests))] {
                try file.write(SecretBytes(Self.header(member, path)))
                try file.write(member.content)
                try file.write(SecretBytes(repeatElement(0, count: Self.padding(member.content.count))))
            }
            // Two empty blocks end an archive.
            try file.write(SecretBytes(repeatElement(0, count: 2 * Self.block)))
            try file.synchronize()
            if isReplacing {
                guard unsafe rename(unfinished, path) == 0 else { throw .file("write", path, errno) }
            } else {
                // Unlike a rename, a link never replaces a file.
                guard unsafe link(unfinished, path) == 0 else {
                    throw errno == EEXIST ? Self.exists(path) : .file("write", path, errno)
                }
                unsafe unlink(unfinished)
            }
        } catch {
            unsafe unlink(unfinished)
            throw error
        }
        try PrivateFile.synchronizeDirectory(url.deletingLastPathComponent())
    }

    /// Returns the error for a file that exists already.
    static func exists(_ path: String) -> KeychainError {
        KeychainError(
            .refused, "\(path) exists already; nothing was written.",
            remedies: [Remedy("Give another file, or replace this one", .change(.overwriting))],
            details: ["path": path])
    }

    private var digests: String {
        members.map { "\(Self.digest($0.content))  \($0.name)\n" }.joined()
    }

    private static func digest(_ content: SecretBytes) -> String {
        Digest.sha256(content).hexadecimal
    }

    private static func padding(_ size: Int) -> Int { (block - size % block) % block }

    private static func header(_ member: Member, _ path: String) throws(KeychainError) -> [UInt8] {
        guard member.content.count < largestSize, member.name.utf8.count < 100 else {
            throw KeychainError(
                .dataTooLarge, "the keychain is too large for a backup: \(member.name).", details: ["path": path])
        }
        var header = [UInt8](repeating: 0, count: block)
        func put(_ text: String, at offset: Int) {
            header.replaceSubrange(offset..<offset + text.utf8.count, with: text.utf8)
        }
        put(member.name, at: 0)
        // Mode, owner and group.
        put("0000600\0" + "0000000\0" + "0000000\0", at: 100)
        put(octal(member.content.count, digits: 11) + "\0", at: 124)
        put(octal(Int(Date().timeIntervalSince1970), digits: 11) + "\0", at: 136)
        // A regular file.
        put("0", at: 156)
        put("ustar\0" + "00", at: 257)
        put(octal(checksum(header), digits: 6) + "\0 ", at: 148)
        return header
    }

    private static func octal(_ number: Int, digits: Int) -> String {
        let text = String(number, radix: 8)
        return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
    }

    /// Returns the sum of the bytes of a header, with blanks in place of the sum.
    private static func checksum(_ header: [UInt8]) -> Int {
        header.enumerated().reduce(0) { $0 + (148..<156 ~= $1.offset ? 32 : Int($1.element)) }
    }

    // MARK: Reading

    /// Reads a whole archive and checks it.
    ///
    /// - Throws: `KeychainError` with code `fileDamaged` if the file is not a complete backup, `fileUnavailable` if it
    ///   does not exist, or `unsafeFile` if other users can read it.
    init(reading url: URL) throws(KeychainError) {
        let path = url.filePath
        guard let bytes = try PrivateFile.read(url, limit: Self.largestSize) else {
            throw .file("read", path, ENOENT)
        }
        guard var members = Self.members(of: bytes), let sums = members.popLast(), sums.name == Self.sums,
            Set(members.map(\.name)).count == members.count
        else { throw Self.damaged(path) }
        self.init(members)
        guard sums.content == SecretBytes(utf8: digests) else { throw Self.damaged(path) }
    }

    private static func members(of bytes: SecretBytes) -> [Member]? {
        unsafe bytes.withUnsafeBytes { bytes in
            var members: [Member] = []
            var position = 0
            while position + block <= bytes.count {
                let header = unsafe Array(bytes[position..<position + block])
                position += block
                // The end of the archive.
                if header.allSatisfy({ $0 == 0 }) { return members }
                guard let name = text(header[0..<100]), let size = number(header[124..<136]),
                    number(header[148..<156]) == checksum(header), header[156] == UInt8(ascii: "0"),
                    size <= bytes.count - position
                else { return nil }
                members.append(
                    Member(name: name, content: unsafe SecretBytes(bytes[position..<position + size])))
                position += size + padding(size)
            }
            return nil
        }
    }

    private static func text(_ field: ArraySlice<UInt8>) -> String? {
        String(validating: field.prefix { $0 != 0 }, as: UTF8.self)
    }

    private static func number(_ field: ArraySlice<UInt8>) -> Int? {
        text(field.prefix { $0 != 0 && $0 != 32 }).flatMap { Int($0, radix: 8) }.flatMap { $0 >= 0 ? $0 : nil }
    }

    /// Returns the error for a file that is not a complete backup.
    static func damaged(_ path: String) -> KeychainError {
        KeychainError(
            .fileDamaged, "\(path) is not a backup of a keychain, or it is damaged; nothing was changed.",
            hint: "Use another copy of the backup.", details: ["path": path])
    }
}
